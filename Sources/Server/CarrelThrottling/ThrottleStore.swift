// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelMetrics
package import CarrelStore

/// The SQL of the counters that slow down guessing, and of the networks that accounts sign in from.
package enum ThrottleStore {
    static let byKey = SQL("SELECT failures, until_at, updated_at, seen FROM throttle WHERE key = $1")
    static let set = SQL(
        """
        INSERT INTO throttle (key, failures, until_at, updated_at, seen, expires_at, kind, account_hash, network_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (key) DO UPDATE SET failures = excluded.failures, until_at = excluded.until_at,
            updated_at = excluded.updated_at, seen = excluded.seen, expires_at = excluded.expires_at, kind = excluded.kind,
            account_hash = excluded.account_hash, network_hash = excluded.network_hash
        """
    )
    static let remove = SQL("DELETE FROM throttle WHERE key = $1")
    static let removeExpired = SQL(
        """
        DELETE FROM throttle WHERE key IN (SELECT key FROM throttle WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
        """
    )
    static let removeOfAccount = SQL("DELETE FROM throttle WHERE account_hash = $1")
    static let removeOfNetwork = SQL("DELETE FROM throttle WHERE network_hash = $1")
    static let removeAll = SQL("DELETE FROM throttle")
    static let counts = SQL("SELECT kind, count(*) FROM throttle GROUP BY kind")
    static let removeFirst = SQL(
        "DELETE FROM throttle WHERE key IN (SELECT key FROM throttle WHERE kind = $1 ORDER BY expires_at LIMIT $2)"
    )
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
        byKey, set, remove, removeExpired, removeOfAccount, removeOfNetwork, removeAll, counts, removeFirst, network, setNetwork,
        removeNetworks,
    ]

    /// The kinds of counters. A flood of one kind evicts no counter of another.
    enum Kind: String, Sendable {
        case account, network, device
        case accountAndNetwork = "account-network"
    }

    /// The keyed hash that identifies a counter, and the hashes of its account and network.
    struct Key: Sendable, Hashable {
        let bytes: [UInt8]
        let kind: Kind
        let account: [UInt8]?
        let network: [UInt8]?

        init(_ bytes: [UInt8], _ kind: Kind, account: [UInt8]? = nil, network: [UInt8]? = nil) {
            (self.bytes, self.kind, self.account, self.network) = (bytes, kind, account, network)
        }
    }

    struct Counter: Sendable, Equatable {
        var failures: Int64 = 0
        var until = Instant(milliseconds: 0)
        var updatedAt = Instant(milliseconds: 0)
        /// Fingerprints of 8 bytes of the last passwords tried.
        var seen: [UInt8] = []

        /// Number of cached passwords per counter.
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

    /// Stores a counter for this long after its last attempt.
    static func set(_ counter: Counter, for key: Key, memory: Duration, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .blob(key.bytes), .integer(counter.failures), .instant(counter.until), .instant(counter.updatedAt),
            .blob(counter.seen), .instant(max(counter.updatedAt + memory, counter.until)), .text(key.kind.rawValue),
            SQLValue(key.account), SQLValue(key.network),
        ]
        _ = try transaction.run(set, values)
    }

    static func remove(_ key: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(remove, [.blob(key)])
    }

    static func remove(ofAccount account: [UInt8], in transaction: any Transaction) throws -> Int {
        try transaction.run(removeOfAccount, [.blob(account)])
    }

    static func remove(ofNetwork network: [UInt8], in transaction: any Transaction) throws -> Int {
        try transaction.run(removeOfNetwork, [.blob(network)])
    }

    static func removeAll(in transaction: any Transaction) throws -> Int {
        try transaction.run(removeAll, [])
    }

    /// The time of an account's last sign-in from a network.
    static func network(_ key: [UInt8], in transaction: any Transaction) throws -> Instant? {
        try transaction.row(network, [.blob(key)]).map { try $0.instant(0) }
    }

    static func setNetwork(_ key: [UInt8], at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(setNetwork, [.blob(key), .instant(now)])
    }

    // MARK: Forgetting

    /// Deletes unused counters; returns how many.
    package static func removeExpired(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeExpired, [.instant(now), .integer(Int64(limit))])
    }

    /// The number of counters of each kind.
    package static func counts(in transaction: any Transaction) throws -> [String: Int] {
        try transaction.rows(counts, []).reduce(into: [:]) { $0[try $1.text(0)] = Int(try $1.integer(1)) }
    }

    /// Evicts this many counters of a kind, those that expire next first.
    package static func removeFirst(_ count: Int, of kind: String, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeFirst, [.text(kind), .integer(Int64(count))])
    }

    /// Deletes networks without a sign-in since then; returns how many.
    package static func removeNetworks(before: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeNetworks, [.instant(before), .integer(Int64(limit))])
    }
}
