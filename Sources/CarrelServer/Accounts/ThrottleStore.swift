import CarrelBytes
package import CarrelStore

/// The SQL of the counters that slow down guessing.
package enum ThrottleStore {
    static let byKey = SQL("SELECT failures, until_at, updated_at, seen FROM throttle WHERE key = $1")
    static let set = SQL(
        """
        INSERT INTO throttle (key, failures, until_at, updated_at, seen) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (key) DO UPDATE SET failures = excluded.failures, until_at = excluded.until_at,
            updated_at = excluded.updated_at, seen = excluded.seen
        """
    )
    static let remove = SQL("DELETE FROM throttle WHERE key = $1")
    static let removeOld = SQL("DELETE FROM throttle WHERE updated_at < $1 OR (updated_at < $2 AND failures > 0)")

    package static let statements = [byKey, set, remove, removeOld]

    struct Counter: Sendable, Equatable {
        var failures: Int64 = 0
        var until = Instant(milliseconds: 0)
        var updatedAt = Instant(milliseconds: 0)
        /// Fingerprints of 8 bytes of the last passwords tried.
        var seen: [UInt8] = []

        /// Passwords remembered for each counter.
        private static let limit = 8

        func remembers(_ password: [UInt8]) -> Bool {
            stride(from: 0, to: seen.count, by: 8).contains { Array(seen[$0..<$0 + 8]) == password }
        }

        mutating func remember(_ password: [UInt8]) {
            seen = Array((seen + password).suffix(8 * Self.limit))
        }
    }

    static func counter(_ key: [UInt8], in transaction: any Transaction) throws -> Counter? {
        try transaction.row(byKey, [.blob(key)]).map {
            Counter(
                failures: try $0.integer(0),
                until: try $0.instant(1),
                updatedAt: try $0.instant(2),
                seen: try $0.blob(3)
            )
        }
    }

    static func set(_ counter: Counter, for key: [UInt8], in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .blob(key), .integer(counter.failures), .instant(counter.until), .instant(counter.updatedAt), .blob(counter.seen),
        ]
        _ = try transaction.run(set, values)
    }

    static func remove(_ key: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(remove, [.blob(key)])
    }

    /// Forgets successes from before one instant, and failures from before another.
    static func removeOld(successes: Instant, failures: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(removeOld, [.instant(successes), .instant(failures)])
    }
}
