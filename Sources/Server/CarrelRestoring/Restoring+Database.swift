// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
package import CarrelBytes
import CarrelFiles
package import CarrelHome
package import CarrelServer
package import CarrelStore
import CarrelWebAPI
import Glibc

// Completing a restored database: access that may have ended is ended, and data that devices depend on is carried over.
extension CarrelService {
    /// The database that a backup replaced.
    struct Replaced {
        /// Nil if there is none, or if it does not open.
        let database: (any Database)?
        let isThere: Bool
    }

    /// Finishes a restore by another tool, such as `pg_restore`: once for all nodes, while no server runs.
    ///
    /// - Parameters:
    ///   - home: the home of one node.
    ///   - database: the restored database.
    ///   - replaced: the replaced database, which is only read; nil if there is none.
    ///   - clock: the clock.
    /// - Returns: the numbers of ended and of carried-over items.
    /// - Throws: ``ServerError`` `installation` or `masterKey` for the database of another home, `conflict` while a server runs.
    package static func finishRestore(
        _ home: Home,
        _ database: any Database,
        replaced: (any Database)?,
        clock: any WallClock = SystemClock()
    ) async throws -> Restored {
        let lock = try FileLock(home.lockPath, taken: "a server runs on this home: stop it first")
        defer { withExtendedLifetime(lock) {} }
        try await requireSameHome(database, home)
        let now = clock.now
        if let node = try await database.read({ try NodeStore.recentNames(at: now, in: $0) }).first {
            let reason = "the node \(node) used this database within the last minute: stop all servers, and wait a minute"
            throw ServerError(.conflict, reason)
        }
        let before = Replaced(database: replaced, isThere: replaced != nil)
        let restored = try await finish(database, home, before, fileTime: now, kept: nil, at: now)
        AuditHead(path: home.auditHeadPath).forget()
        return restored
    }

    /// Carries over what devices depend on, then ends what may have ended. The second part is one transaction.
    static func finish(
        _ database: any Database,
        _ home: Home,
        _ replaced: Replaced,
        fileTime: Instant,
        kept: String?,
        at now: Instant
    ) async throws -> Restored {
        let time = try await database.read { try AuditStore.newest(in: $0) } ?? fileTime
        var carried: CarriedOver?
        var problem: String?
        do { carried = try await carryOver(from: replaced, to: database, home) } catch let error as NotCarried {
            problem = error.reason
        }
        let lost = try? await replaced.database?.read { try AuditStore.entries(after: time, in: $0) }
        let (source, reason) = (carried, problem ?? carried?.problem)
        let (ended, hasSecrets) = try await database.write { transaction in
            let ended = try end(backup: time, source, at: now, in: transaction)
            return (ended, try !SecretStore.secrets(in: transaction).isEmpty)
        }
        return Restored(
            backupTime: time,
            kept: kept,
            ended: ended,
            carriedOver: source?.counts,
            problem: replaced.isThere ? reason : nil,
            lost: lost,
            needsMasterKey: hasSecrets && !MasterKeyring.isMade(for: home)
        )
    }

    /// The outcome of carrying over from a replaced database.
    struct CarriedOver: Sendable {
        var counts: [String: Int] = [:]
        /// Communication keys that it does not have.
        var communicationKeys = 0
        /// Back-office keys that it knows as revoked.
        var serviceKeys: [String] = []
        var numbers = Authority.Numbers()
        /// Tables that are damaged, of which the rows before the damage are carried over.
        var damaged: [String] = []
        var problem: String? {
            damaged.isEmpty ? nil : "these tables are damaged and cannot be read to the end: \(damaged.joined(separator: ", "))"
        }
    }

    /// The reason why nothing was carried over.
    private struct NotCarried: Error {
        let reason: String
    }

    /// The names of ``Restored/carriedOver``.
    private static let carriedNames = [
        "players", "certificates", "revocations", "redemptions", "licenses", "keys", "authorities", "contentKeys",
        "communicationKeys",
        "devices",
    ]

    /// All tables that are carried over, in the order of their references.
    package static var carriedTables: [CarriedTable] { [MasterKeyStore.carried] + layers.flatMap { $0.carriedTables } }

    private static func carryOver(
        from replaced: Replaced,
        to database: any Database,
        _ home: Home
    ) async throws -> CarriedOver {
        guard let source = replaced.database else {
            throw NotCarried(reason: replaced.isThere ? "it cannot be opened" : "there is none")
        }
        try await requireRelated(source, database, home)
        var carried = CarriedOver()
        let keys = try? await source.read { try AccountStore.serviceKeys(in: $0) }
        let numbers = try? await source.read { try Authority.numbers(in: $0) }
        carried.serviceKeys = (keys ?? []).filter { $0.revokedAt != nil }.map(\.id)
        carried.numbers = numbers ?? Authority.Numbers()
        carried.damaged = (keys == nil ? ["service_keys"] : []) + (numbers == nil ? ["rights_numbers"] : [])
        carried.counts = Dictionary(carriedNames.map { ($0, 0) }) { first, _ in first }
        for table in carriedTables {
            let outcome = try await table.carry(from: source, to: database)
            for (name, count) in outcome.carried { carried.counts[name, default: 0] += count }
            if table.table == "communication_keys" { carried.communicationKeys += outcome.removed }
            if !outcome.isComplete { carried.damaged.append(table.table) }
        }
        return carried
    }

    /// Refuses to carry over from the database of another installation, or a database whose keys cannot be unwrapped here.
    private static func requireRelated(_ replaced: any Database, _ database: any Database, _ home: Home) async throws {
        let theirs: (id: String?, keys: MasterKeys)
        do {
            theirs = try await replaced.read { (try InstallationStore.id(in: $0), try MasterKeyStore.known(in: $0)) }
        } catch {
            throw NotCarried(reason: "it is damaged")
        }
        let own = try await database.read { (id: try InstallationStore.id(in: $0), keys: try MasterKeyStore.known(in: $0)) }
        let differs = theirs.keys.known.contains { key in
            own.keys.known.contains { $0.version == key.version && $0.fingerprint != key.fingerprint }
        }
        guard !differs, theirs.id == nil || own.id == nil || theirs.id == own.id else {
            throw NotCarried(reason: "it belongs to another installation")
        }
        guard MasterKeyring.isMade(for: home) else { return }
        do {
            try theirs.keys.require(try MasterKeyring(of: home))
        } catch {
            throw NotCarried(reason: "\(error)")
        }
    }

    /// Ends what may have ended since the backup, raises the numbers that devices compare, and records it.
    private static func end(
        backup time: Instant,
        _ carried: CarriedOver?,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Ended {
        var ended = Ended()
        let sessions = try SessionStore.deleteAll(at: now, in: transaction)
        ended.sessions = sessions.sessions
        ended.links = try sessions.links + StaffStore.deleteLinks(in: transaction)
        ended.appPasswords = try AppPasswordStore.deleteAll(in: transaction)
        // Back-office keys revoked after the backup stay revoked, as far as the replaced database has them.
        let active = Set(try AccountStore.serviceKeys(in: transaction).filter { $0.revokedAt == nil }.map(\.id))
        for key in carried?.serviceKeys ?? [] where active.contains(key) {
            _ = try AccountStore.revokeServiceKey(key, at: now, in: transaction)
            ended.serviceKeys += 1
        }
        ended.communicationKeys = carried?.communicationKeys ?? 0
        for signing in SecretStore.Signing.allCases {
            for (id, _) in try SecretStore.signing(signing, in: transaction) {
                try SecretStore.delete(SecretStore.name(signing, id), in: transaction)
            }
        }
        try Authority.raiseNumbers(above: carried?.numbers ?? Authority.Numbers(), at: now, in: transaction)
        let reason =
            "backup of \(time), ended: sessions \(ended.sessions), links \(ended.links), app passwords \(ended.appPasswords), "
            + "all tickets and credentials, all tokens and license messages"
        try AuditStore.append(AuditActor.operator.entry("database.restore", on: "", at: now, reason: reason), in: transaction)
        return ended
    }

    /// Refuses the backup of another home, as far as the home's media, master key and database tell.
    static func requireSameHome(_ backup: any Database, _ home: Home) async throws {
        let (id, keys, secrets) = try await backup.read {
            (try InstallationStore.id(in: $0), try MasterKeyStore.known(in: $0), try SecretStore.secrets(in: $0))
        }
        if let id, unsafe access(home.blobsPath, F_OK) == 0,
            let own = try DirectoryBlobStore(path: home.blobsPath).installation(), own != id
        {
            throw ServerError(
                .installation,
                "the backup belongs to the installation \(id), and the media in \(home.blobsPath) to \(own)"
            )
        }
        if MasterKeyring.isMade(for: home) {
            let keyring = try MasterKeyring(of: home)
            do {
                try keys.require(keyring)
                if keys.known.isEmpty { for (_, secret) in secrets { _ = try keyring.unwrap(secret) } }
            } catch {
                throw ServerError(.masterKey, "the master key of \(home.directory) does not match the backup: \(error)")
            }
        } else if home.hasDatabase {
            let old = ReadOnlySQLiteDatabase(path: home.databasePath)
            let (other, own) =
                (try? await old.read { (try InstallationStore.id(in: $0), try MasterKeyStore.known(in: $0)) })
                ?? (nil, MasterKeys([]))
            await old.close()
            let differs = keys.known.contains { key in
                own.known.contains { $0.version == key.version && $0.fingerprint != key.fingerprint }
            }
            guard !differs, id == nil || other == nil || id == other else {
                throw ServerError(.masterKey, "the backup belongs to a home other than that of \(home.databasePath)")
            }
        }
    }
}
