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

    @usableFromInline var places: [Key: Int] = [:]
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
    public var count: Int { places.count }

    /// The value of a key, which counts as used by that.
    @inlinable
    public subscript(key: Key) -> Value? {
        mutating get {
            guard let place = places[key] else { return nil }
            use(place)
            return nodes[place].entry?.value
        }
    }

    /// Inserts or replaces a value, and evicts the least recently used entries while the total cost is beyond the limit.
    @inlinable
    public mutating func insert(_ value: Value, for key: Key, cost: Int) {
        self.cost += cost
        if let place = places[key] {
            self.cost -= nodes[place].cost
            nodes[place].entry = (key, value)
            nodes[place].cost = cost
            use(place)
        } else {
            let node = Node(key, value, cost: cost)
            var place = free
            if place >= 0 {
                free = nodes[place].older
                nodes[place] = node
            } else {
                place = nodes.count
                nodes.append(node)
            }
            places[key] = place
            append(place)
        }
        while self.cost > limit, places.count > 1, let last = nodes[oldest].entry { remove(last.key) }
    }

    @inlinable
    public mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        unlink(place)
        cost -= nodes[place].cost
        nodes[place].entry = nil
        nodes[place].older = free
        free = place
    }

    @inlinable
    public mutating func removeAll() {
        self = LRUCache(limit: limit)
    }

    @inlinable
    mutating func use(_ place: Int) {
        guard place != newest else { return }
        unlink(place)
        append(place)
    }

    @inlinable
    mutating func unlink(_ place: Int) {
        let (older, newer) = (nodes[place].older, nodes[place].newer)
        if older >= 0 { nodes[older].newer = newer } else { oldest = newer }
        if newer >= 0 { nodes[newer].older = older } else { newest = older }
    }

    @inlinable
    mutating func append(_ place: Int) {
        nodes[place].older = newest
        nodes[place].newer = -1
        if newest >= 0 { nodes[newest].newer = place } else { oldest = place }
        newest = place
    }
}
