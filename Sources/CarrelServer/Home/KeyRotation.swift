package import CarrelBytes
import CarrelCrypto
package import CarrelStore

/// Moves everything that is wrapped from the old master keys to a new one.
///
/// Interrupted at any point, it can be run again: a row is always under a key that the keyring has. The key just before the
/// new one is kept until the next rotation, because an order that is being placed meanwhile may still be under it.
package struct KeyRotation {
    /// Rows rewrapped in one transaction.
    private static let batch = 500

    package struct Outcome: Sendable, Equatable {
        /// The version of the new master key.
        package let version: Int64
        /// Content keys and secrets that were rewrapped.
        package let rewrapped: Int
    }

    /// Adds a master key to the home, rewraps every content key and secret under it, and forgets the keys before the
    /// last two.
    ///
    /// - Parameters:
    ///   - home: where the keyring is.
    ///   - database: what is wrapped.
    ///   - actor: who asked for it; the entry of the audit log is written with the first of what is rewrapped.
    ///   - now: the time.
    ///   - use: given the new keyring as soon as it is on disk, so that new orders use it.
    /// - Returns: how much was rewrapped.
    /// - Throws: ``ServerError`` `masterKey`, or what the database throws; run it again then.
    package static func run(
        home: Home,
        database: any Database,
        by actor: Actor,
        at now: Instant,
        use: (MasterKeyring) -> Void
    ) async throws -> Outcome {
        let lock = try FileLock(
            home.masterKeyPath + ".lock",
            taken: "another rotation of the master key is at work: wait for its end"
        )
        defer { withExtendedLifetime(lock) {} }
        var keyring = try MasterKeyring(of: home)
        try keyring.addKey(savingTo: home)
        use(keyring)
        let current = keyring
        let entry = actor.entry("master-key.rotate", on: "", at: now, reason: String(current.current))
        var count = try await database.write { transaction -> Int in
            try AuditStore.append(entry, in: transaction)
            let old = try SecretStore.secrets(in: transaction).filter { $0.secret.masterVersion != current.current }
            for (name, secret) in old {
                try SecretStore.rewrap(name, try current.wrap(try current.unwrap(secret)), in: transaction)
            }
            return old.count
        }
        while true {
            let moved = try await database.write { transaction -> Int in
                let old = try OrderStore.keys(notUnder: current.current, limit: batch, in: transaction)
                for (id, key) in old {
                    try OrderStore.rewrap(id, key: try current.wrap(try current.unwrap(key)), in: transaction)
                }
                return old.count
            }
            count += moved
            if moved < batch { break }
        }
        try keyring.forgetKeys(before: keyring.current - 1, savingTo: home)
        return Outcome(version: keyring.current, rewrapped: count)
    }
}
