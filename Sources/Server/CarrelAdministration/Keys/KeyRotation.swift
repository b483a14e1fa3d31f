// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
package import CarrelHome
package import CarrelStore
package import CarrelWebAPI

/// Changes the master key: adds one, and moves everything that is wrapped to it.
///
/// On SQLite one step does both. On PostgreSQL, which several homes share, a key is added first, copied to the other homes, and
/// used once all nodes have it. Interrupted at any point, each can be run again: a row is always under a key that the keyring
/// has. The key just before the new one is kept until the next rotation, because an order that is being placed meanwhile may
/// still be under it.
package struct KeyRotation: Sendable {
    let home: Home
    let database: any Database
    let clock: any WallClock
    private let columns: [WrappedKeys]

    /// Rows rewrapped in one transaction.
    private static let batch = 500

    package struct Outcome: Sendable, Equatable {
        /// The version of the new master key.
        package let version: Int64
        /// Content keys and secrets that were rewrapped.
        package let rewrapped: Int
    }

    /// - Parameters:
    ///   - home: the home whose keyring changes.
    ///   - database: the home's database.
    ///   - clock: the clock.
    ///   - columns: all columns of wrapped keys, in addition to the server's own secrets.
    package init(home: Home, database: any Database, clock: any WallClock, columns: [WrappedKeys] = []) {
        self.home = home
        self.database = database
        self.clock = clock
        self.columns = columns
    }

    private func lock() throws -> FileLock {
        try FileLock(home.masterKeyPath + ".lock", taken: "another rotation of the master key is running: wait until it ends")
    }

    private func known() async throws -> MasterKeys {
        try await database.read { try MasterKeyStore.known(in: $0) }
    }

    /// Adds a key to the home for the next rotation.
    ///
    /// - Parameter actor: the actor for the audit log.
    /// - Returns: its version.
    /// - Throws: ``ServerError`` `conflict` if one was added already, here or in another home; `masterKey`.
    package func add(by actor: AuditActor) async throws -> Int64 {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let keys = try await known()
        var keyring = try MasterKeyring(of: home)
        try keys.require(keyring)
        if let added = keys.added { throw Self.isAdded(added) }
        try keyring.addKey(after: keys.known.last?.version ?? 0, savingTo: home)
        let version = keyring.current
        guard let fingerprint = keyring.fingerprint(of: version) else { return version }
        do {
            let (now, key) = (clock.now, MasterKeys.Known(version: version, fingerprint: fingerprint, isActive: false))
            let entry = actor.entry("master-key.add", on: "", at: now, reason: String(version))
            try await database.write { transaction in
                if let added = try MasterKeyStore.known(in: transaction).added { throw Self.isAdded(added) }
                try MasterKeyStore.insert(key, at: now, in: transaction)
                try AuditStore.append(entry, in: transaction)
            }
        } catch {
            // A write of unknown outcome keeps the key: the next start decides.
            let isKept = (error as? StoreError)?.code == .unavailable
            if !isKept { try keyring.forget(version, savingTo: home) }
            throw error
        }
        return version
    }

    private static func isAdded(_ version: Int64) -> ServerError {
        ServerError(
            .conflict,
            "version \(version) of the master key was already added: copy it to the other homes with "
                + "'carrel keys add --from FILE', then 'carrel keys rotate'"
        )
    }

    /// Adds the keys that the home lacks from a copy of another home's keyring.
    ///
    /// - Parameter copy: the other home's keyring.
    /// - Returns: the added versions; none if the home had them all.
    /// - Throws: ``ServerError`` `masterKey` if a key of the copy is not the database's, or the home still lacks one.
    package func take(from copy: MasterKeyring) async throws -> [Int64] {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let keys = try await known()
        guard !keys.known.isEmpty else {
            throw ServerError(.conflict, "the database has no master key yet: first start the server of the home that has it")
        }
        for key in keys.known {
            guard let fingerprint = copy.fingerprint(of: key.version), fingerprint != key.fingerprint else { continue }
            throw ServerError(
                .masterKey,
                "version \(key.version) of the master key in \(copy.path) does not belong to this database"
            )
        }
        var keyring = try MasterKeyring.ofFile(of: home)
        let missing = keys.known.map(\.version).filter { !keyring.has($0) && copy.has($0) }
        if !missing.isEmpty { try keyring.take(missing, from: copy, savingTo: home) }
        try keys.require(keyring)
        return missing
    }

    /// Starts using a new key: rewraps every content key and secret under it, and deletes all keys but the last two.
    ///
    /// - Parameters:
    ///   - actor: the actor for the audit log, whose entry is written with the first rewrapped keys.
    ///   - node: the id of this node, which is not checked for the key.
    ///   - use: receives the new keyring as soon as it may be used, so that new orders use it.
    /// - Returns: the number of rewrapped keys.
    /// - Throws: ``ServerError`` `conflict` if no key was added or a node lacks it, `masterKey`, or the database's error; run
    ///   it again then.
    package func run(
        by actor: AuditActor,
        node: String? = nil,
        use: (MasterKeyring) -> Void
    ) async throws -> Outcome {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let (keys, now) = (try await known(), clock.now)
        var keyring = try MasterKeyring(of: home)
        try keys.require(keyring)
        guard let version = try await versionForUse(keys, &keyring) else {
            // The rotation before was interrupted.
            let current = keyring.wrapping(under: keys.current)
            return Outcome(version: current.current, rewrapped: try await rewrapColumns(under: current))
        }
        let current = keyring.wrapping(under: version)
        guard let fingerprint = current.fingerprint(of: version) else {
            throw ServerError(.masterKey, "version \(version) of the master key is missing in \(current.path)")
        }
        let entry = actor.entry("master-key.rotate", on: "", at: now, reason: String(version))
        let asksNodes = database.engine == .postgresql
        var count = try await database.write { transaction -> Int in
            if asksNodes { try NodeStore.requireAll(toHold: version, but: node, at: now, in: transaction) }
            let key = MasterKeys.Known(version: version, fingerprint: fingerprint, isActive: true)
            try MasterKeyStore.insert(key, at: now, in: transaction)
            try MasterKeyStore.activate(version, at: now, in: transaction)
            try MasterKeyStore.known(in: transaction).require(current)
            try AuditStore.append(entry, in: transaction)
            let old = try SecretStore.secrets(in: transaction).filter { $0.secret.masterVersion != version }
            for (name, secret) in old {
                try SecretStore.rewrap(name, try current.wrap(try current.unwrap(secret)), in: transaction)
            }
            return old.count
        }
        use(current)
        count += try await rewrapColumns(under: current)
        let kept = keys.current ?? version
        try await database.write { try MasterKeyStore.forget(before: kept, in: $0) }
        if keyring.isWritable(in: home) { try keyring.forgetKeys(before: kept, savingTo: home) }
        return Outcome(version: version, rewrapped: count)
    }

    /// The version that is to be taken into use; nil if there is none and a rotation is to be finished.
    private func versionForUse(_ keys: MasterKeys, _ keyring: inout MasterKeyring) async throws -> Int64? {
        if let added = keys.added { return added }
        guard database.engine == .postgresql else {
            try keyring.addKey(after: keys.known.last?.version ?? 0, savingTo: home)
            return keyring.current
        }
        let current = keys.current ?? 0
        let isFinished = try await database.read { transaction in
            try columns.allSatisfy { try $0.keys(notUnder: current, limit: 1, in: transaction).isEmpty }
        }
        guard isFinished else { return nil }
        throw ServerError(
            .conflict,
            "no key to rotate to: add one here with 'carrel keys add', and to the other homes with 'carrel keys add --from FILE'"
        )
    }

    private func rewrapColumns(under current: MasterKeyring) async throws -> Int {
        var count = 0
        for column in columns {
            var moved: Int
            repeat {
                moved = try await database.write { transaction -> Int in
                    let old = try column.keys(notUnder: current.current, limit: Self.batch, in: transaction)
                    for (id, key) in old { try column.rewrap(id, try current.wrap(try current.unwrap(key)), in: transaction) }
                    return old.count
                }
                count += moved
            } while moved == Self.batch
        }
        return count
    }
}
