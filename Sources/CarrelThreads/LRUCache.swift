/// A dictionary that holds what was used last, up to a total cost.
public struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var value: Value
        @usableFromInline var cost: Int
        @usableFromInline var used: UInt64

        @inlinable
        init(value: Value, cost: Int, used: UInt64) {
            self.value = value
            self.cost = cost
            self.used = used
        }
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    @usableFromInline var clock: UInt64 = 0
    @usableFromInline var cost = 0
    @usableFromInline let limit: Int

    /// - Parameter limit: the greatest total cost.
    @inlinable
    public init(limit: Int) {
        self.limit = limit
    }

    /// The value of a key, which counts as used by that.
    @inlinable
    public subscript(key: Key) -> Value? {
        mutating get {
            guard let index = entries.index(forKey: key) else { return nil }
            clock += 1
            entries.values[index].used = clock
            return entries.values[index].value
        }
    }

    /// Inserts or replaces a value, and evicts others where the total cost is beyond the limit.
    @inlinable
    public mutating func insert(_ value: Value, for key: Key, cost: Int) {
        remove(key)
        clock += 1
        entries[key] = Entry(value: value, cost: cost, used: clock)
        self.cost += cost
        if self.cost > limit { evict() }
    }

    @inlinable
    public mutating func remove(_ key: Key) {
        if let old = entries.removeValue(forKey: key) { cost -= old.cost }
    }

    @inlinable
    public mutating func removeAll() {
        entries = [:]
        cost = 0
    }

    /// Drops the least recently used until a quarter of the room is free, so that the sort is paid for by many inserts.
    @usableFromInline
    mutating func evict() {
        for (key, _) in entries.sorted(by: { $0.value.used < $1.value.used }) {
            guard cost > limit / 4 * 3, entries.count > 1 else { return }
            remove(key)
        }
    }
}
