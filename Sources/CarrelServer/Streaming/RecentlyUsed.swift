/// A dictionary that holds what was used last, up to a total cost.
struct RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var value: Value
        var cost: Int
        var used: UInt64
    }

    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0
    private var cost = 0
    private let limit: Int

    /// - Parameter limit: the greatest total cost.
    init(limit: Int) {
        self.limit = limit
    }

    subscript(key: Key) -> Value? {
        mutating get {
            guard let index = entries.index(forKey: key) else { return nil }
            clock += 1
            entries.values[index].used = clock
            return entries.values[index].value
        }
    }

    mutating func insert(_ value: Value, for key: Key, cost: Int) {
        remove(key)
        clock += 1
        entries[key] = Entry(value: value, cost: cost, used: clock)
        self.cost += cost
        if self.cost > limit { evict() }
    }

    mutating func remove(_ key: Key) {
        if let old = entries.removeValue(forKey: key) { cost -= old.cost }
    }

    mutating func removeAll() {
        entries = [:]
        cost = 0
    }

    /// Drops the least recently used until a quarter of the room is free, so that the sort is paid for by many inserts.
    private mutating func evict() {
        for (key, _) in entries.sorted(by: { $0.value.used < $1.value.used }) {
            guard cost > limit / 4 * 3, entries.count > 1 else { return }
            remove(key)
        }
    }
}
