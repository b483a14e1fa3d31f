// SPDX-License-Identifier: Apache-2.0

/// A dictionary of the last used entries, up to a total cost.
///
/// Each call takes constant time, evictions included, so that a flood of new keys does not stall other callers under a lock.
public struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A place in the list from the least to the most recently used.
    @usableFromInline
    struct Node: Sendable {
        /// Nil in a free place.
        @usableFromInline var entry: (key: Key, value: Value)?
        @usableFromInline var cost: Int
        /// The next less recently used, or the next free place; -1 at the end.
        @usableFromInline var older: Int
        /// -1 for the most recently used.
        @usableFromInline var newer: Int

        @inlinable
        init(_ key: Key, _ value: Value, cost: Int) {
            entry = (key, value)
            self.cost = cost
            older = -1
            newer = -1
        }
    }

    @usableFromInline var indices: [Key: Int] = [:]
    @usableFromInline var nodes: [Node] = []
    @usableFromInline var oldest = -1
    @usableFromInline var newest = -1
    /// The first free place; -1 if there is none.
    @usableFromInline var free = -1
    @usableFromInline var cost = 0
    @usableFromInline let limit: Int

    /// - Parameter limit: the greatest total cost.
    @inlinable
    public init(limit: Int) {
        self.limit = limit
    }

    /// The number of entries.
    @inlinable
    public var count: Int { indices.count }

    /// The value of a key, which counts as used by that.
    @inlinable
    public subscript(key: Key) -> Value? {
        mutating get {
            guard let index = indices[key] else { return nil }
            use(index)
            return nodes[index].entry?.value
        }
    }

    /// Inserts or replaces a value, and evicts the least recently used entries while the total cost is beyond the limit.
    @inlinable
    public mutating func insert(_ value: Value, for key: Key, cost: Int) {
        self.cost += cost
        if let index = indices[key] {
            self.cost -= nodes[index].cost
            nodes[index].entry = (key, value)
            nodes[index].cost = cost
            use(index)
        } else {
            let node = Node(key, value, cost: cost)
            var index = free
            if index >= 0 {
                free = nodes[index].older
                nodes[index] = node
            } else {
                index = nodes.count
                nodes.append(node)
            }
            indices[key] = index
            append(index)
        }
        while self.cost > limit, indices.count > 1, let last = nodes[oldest].entry { remove(last.key) }
    }

    @inlinable
    public mutating func remove(_ key: Key) {
        guard let index = indices.removeValue(forKey: key) else { return }
        unlink(index)
        cost -= nodes[index].cost
        nodes[index].entry = nil
        nodes[index].older = free
        free = index
    }

    @inlinable
    public mutating func removeAll() {
        self = LRUCache(limit: limit)
    }

    @inlinable
    mutating func use(_ index: Int) {
        guard index != newest else { return }
        unlink(index)
        append(index)
    }

    @inlinable
    mutating func unlink(_ index: Int) {
        let (older, newer) = (nodes[index].older, nodes[index].newer)
        if older >= 0 { nodes[older].newer = newer } else { oldest = newer }
        if newer >= 0 { nodes[newer].older = older } else { newest = older }
    }

    @inlinable
    mutating func append(_ index: Int) {
        nodes[index].older = newest
        nodes[index].newer = -1
        if newest >= 0 { nodes[newest].newer = index } else { oldest = index }
        newest = index
    }
}
