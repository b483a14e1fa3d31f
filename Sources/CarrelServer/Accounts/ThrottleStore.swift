import CarrelBytes
package import CarrelStore

/// The SQL of the counters that slow down guessing, and of the networks that accounts sign in from.
package enum ThrottleStore {
    static let byKey = SQL("SELECT failures, until_at, updated_at, seen FROM throttle WHERE key = $1")
    static let set = SQL(
        """
        INSERT INTO throttle (key, failures, until_at, updated_at, seen, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (key) DO UPDATE SET failures = excluded.failures, until_at = excluded.until_at,
            updated_at = excluded.updated_at, seen = excluded.seen, expires_at = excluded.expires_at
        """
    )
    static let remove = SQL("DELETE FROM throttle WHERE key = $1")
    static let removeExpired = SQL(
        """
        DELETE FROM throttle WHERE key IN (SELECT key FROM throttle WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
        """
    )
    static let count = SQL("SELECT count(*) FROM throttle")
    static let removeFirst = SQL("DELETE FROM throttle WHERE key IN (SELECT key FROM throttle ORDER BY expires_at LIMIT $1)")
    static let network = SQL("SELECT seen_at FROM sign_in_networks WHERE key = $1")
    static let setNetwork = SQL(
        """
        INSERT INTO sign_in_networks (key, seen_at) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at
        """
    )
    static let removeNetworks = SQL(
        """
        DELETE FROM sign_in_networks
        WHERE key IN (SELECT key FROM sign_in_networks WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2)
        """
    )

    package static let statements = [
        byKey, set, remove, removeExpired, count, removeFirst, network, setNetwork, removeNetworks,
    ]

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

    /// Keeps a counter for so long after its last attempt.
    static func set(_ counter: Counter, for key: [UInt8], memory: Duration, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .blob(key), .integer(counter.failures), .instant(counter.until), .instant(counter.updatedAt), .blob(counter.seen),
            .instant(max(counter.updatedAt + memory, counter.until)),
        ]
        _ = try transaction.run(set, values)
    }

    static func remove(_ key: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(remove, [.blob(key)])
    }

    /// When an account last signed in from a network.
    static func network(_ key: [UInt8], in transaction: any Transaction) throws -> Instant? {
        try transaction.row(network, [.blob(key)]).map { try $0.instant(0) }
    }

    static func setNetwork(_ key: [UInt8], at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(setNetwork, [.blob(key), .instant(now)])
    }

    // MARK: Forgetting

    /// How many counters were forgotten, of those that nothing asks for any more.
    static func removeExpired(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeExpired, [.instant(now), .integer(Int64(limit))])
    }

    static func count(in transaction: any Transaction) throws -> Int {
        try transaction.row(count, []).map { Int(try $0.integer(0)) } ?? 0
    }

    /// Forgets so many counters, those first that would have been forgotten next.
    static func removeFirst(_ count: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeFirst, [.integer(Int64(count))])
    }

    /// How many networks were forgotten, of those that nobody has signed in from since.
    static func removeNetworks(before: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeNetworks, [.instant(before), .integer(Int64(limit))])
    }
}
