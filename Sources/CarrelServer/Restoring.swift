import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelFiles
package import CarrelHome
import CarrelStore
import Glibc

// How a backup takes the place of a home's database, without bringing back what ended since.
extension CarrelService {
    /// The result of a restore: what ended with it, and what the replaced database recorded after the backup.
    package struct Restored: Sendable {
        /// The number of sessions that ended.
        package let sessions: Int
        /// The number of links to sign in, to set up or to reset a password that ended.
        package let links: Int
        /// The time of the last entry in the backup's audit log; without one, the time of its file.
        package let backupTime: Instant
        /// The path of the replaced database; nil where there was none.
        package let kept: String?
        /// The number of app passwords that ended.
        package let appPasswords: Int
        /// Audit entries of the replaced database after the backup, without issued credentials; nil without a database that opens.
        package let lost: [Audit.Entry]?
    }

    /// Replaces a home's database, which is kept beside it, with a backup. No process may have the database open.
    ///
    /// All sessions and links of the backup end, and the secrets that sign tickets and credentials are deleted: some of them may have
    /// ended after the backup. The next start makes new secrets. All of this happens in a copy, before the home
    /// changes.
    ///
    /// - Parameters:
    ///   - home: the home; its master key may be missing.
    ///   - path: a file that a backup wrote.
    ///   - clock: the clock.
    /// - Returns: what ended, and what the backup lacks.
    /// - Throws: ``ServerError`` `notFound` or `invalid` for a file that is not an intact backup, `installation` or `masterKey` for the backup
    ///   of another home, `conflict` while a server runs, `home` if a file cannot be written. The home is then unchanged.
    @discardableResult
    package static func restore(
        _ home: Home,
        from path: String,
        clock: any WallClock = SystemClock()
    ) async throws -> Restored {
        let fileTime = try await requireBackup(path)
        try home.make()
        let lock = try FileLock(home.lockPath, taken: "a server runs on this home: stop it first")
        defer { withExtendedLifetime(lock) {} }
        let fresh = home.databasePath + ".restoring"
        let isReplacing = unsafe access(home.databasePath, F_OK) == 0
        let kept = isReplacing ? try freePlace(home) : nil
        // Back-office keys revoked after the backup stay revoked, as far as the replaced database has them.
        let revoked = await keysRevoked(in: home)
        let (time, ended) = try await prepare(fresh, from: path, fileTime: fileTime, for: home, revoking: revoked, at: clock.now)
        var lost: [Audit.Entry]?
        do {
            if let kept {
                // Opening and closing empties the write-ahead log into the file that is put aside.
                if let old = try? openDatabase(home) {
                    lost = try? await old.read { try AuditStore.entries(after: time, in: $0) }
                    await old.close()
                }
                try putAside(home, as: kept)
            }
            // The head is of the replaced log: a crash in between leaves none, which the next seal makes.
            AuditHead(path: home.auditHeadPath).forget()
            guard unsafe rename(fresh, home.databasePath) == 0 else {
                throw ServerError(.home, "cannot write \(home.databasePath): \(systemReason())")
            }
        } catch {
            if let kept { bringBack(kept, home) }
            removeDatabase(fresh)
            throw error
        }
        // The restore has happened, whatever becomes of this.
        try? syncFolder(of: home.databasePath)
        return Restored(
            sessions: ended.sessions,
            links: ended.links,
            backupTime: time,
            kept: kept,
            appPasswords: ended.appPasswords,
            lost: lost
        )
    }

    /// The back-office keys that the home's database knows as revoked; none where it does not open.
    private static func keysRevoked(in home: Home) async -> [String] {
        guard home.hasDatabase else { return [] }
        let database = ReadOnlySQLiteDatabase(path: home.databasePath)
        let keys = try? await database.read { try AccountStore.serviceKeys(in: $0) }
        await database.close()
        return (keys ?? []).filter { $0.revokedAt != nil }.map(\.id)
    }

    /// Refuses a file that is not a sound backup, and returns the time it was written.
    private static func requireBackup(_ path: String) async throws -> Instant {
        var status = stat()
        guard unsafe access(path, R_OK) == 0, unsafe stat(path, &status) == 0 else {
            throw ServerError(.notFound, "\(path) cannot be read: \(systemReason())")
        }
        var log = stat()
        if unsafe stat(path + "-wal", &log) == 0, log.st_size > 0 {
            throw ServerError(
                .invalid,
                "\(path) has a write-ahead log next to it, which contains its last changes: first open and close it with its own version of "
                    + "Carrel or with sqlite3"
            )
        }
        let check = try await SQLiteDatabase.check(path)
        guard check.isSound else {
            throw ServerError(.invalid, "\(path) is damaged: \(check.problems.first ?? "the integrity check failed")")
        }
        guard let version = check.schemaVersion, version > 0 else {
            throw ServerError(.invalid, "\(path) is not a backup of Carrel")
        }
        guard version <= Schema.migrations.count else {
            throw ServerError(.invalid, "\(path) was written by a newer version of Carrel")
        }
        return Instant(milliseconds: Int64(status.st_mtim.tv_sec) * 1000)
    }

    /// Makes the database that will take the place of the home's, durable and closed; nothing is left of it where that fails.
    private static func prepare(
        _ fresh: String,
        from path: String,
        fileTime: Instant,
        for home: Home,
        revoking keys: [String],
        at now: Instant
    ) async throws -> (time: Instant, ended: Ended) {
        removeDatabase(fresh)
        do {
            try copy(path, to: fresh)
            let database = try SQLiteDatabase(path: fresh, migrations: Schema.migrations)
            let found: (time: Instant, ended: Ended)
            do {
                try await requireSameHome(database, home)
                found = try await database.write { transaction in
                    let time = try AuditStore.newest(in: transaction) ?? fileTime
                    return (time, try end(backup: time, revoking: keys, at: now, in: transaction))
                }
            } catch {
                await database.close()
                throw error
            }
            await database.close()
            try syncFile(fresh)
            return found
        } catch {
            removeDatabase(fresh)
            throw error
        }
    }

    /// Refuses the backup of another home, as far as the home's media, master key and database tell.
    private static func requireSameHome(_ backup: SQLiteDatabase, _ home: Home) async throws {
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

    private typealias Ended = (sessions: Int, links: Int, appPasswords: Int)

    /// Ends what may have ended since the backup, and records it.
    private static func end(
        backup time: Instant,
        revoking keys: [String],
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Ended {
        let ended = try SessionStore.deleteAll(at: now, in: transaction)
        let appPasswords = try AppPasswordStore.deleteAll(in: transaction)
        for key in keys { _ = try AccountStore.revokeServiceKey(key, at: now, in: transaction) }
        let links = try ended.links + StaffStore.deleteLinks(in: transaction)
        for signing in SecretStore.Signing.allCases {
            for (id, _) in try SecretStore.signing(signing, in: transaction) {
                try SecretStore.delete(SecretStore.name(signing, id), in: transaction)
            }
        }
        let reason =
            "backup of \(time), ended: sessions \(ended.sessions), links \(links), app passwords \(appPasswords), all tickets and credentials"
        try AuditStore.append(AuditActor.operator.entry("database.restore", on: "", at: now, reason: reason), in: transaction)
        return (ended.sessions, links, appPasswords)
    }

    /// A name for the replaced database that none of its files has.
    private static func freePlace(_ home: Home) throws(ServerError) -> String {
        let place = home.replacedDatabasePaths.first { path in
            ["", "-wal", "-shm"].allSatisfy { unsafe access(path + $0, F_OK) != 0 }
        }
        guard let place else {
            throw ServerError(
                .home,
                "\(home.replacedDatabasePaths.count) databases of earlier restores are kept in \(home.directory): delete those that you "
                    + "do not need"
            )
        }
        return place
    }

    /// Links the home's database under a second name, which remains when the backup takes the first. If the file system has hard
    /// links, the home never lacks a database.
    private static func putAside(_ home: Home, as path: String) throws {
        guard unsafe link(home.databasePath, path) == 0 || rename(home.databasePath, path) == 0 else {
            throw ServerError(.home, "cannot keep \(home.databasePath) as \(path): \(systemReason())")
        }
        // Where opening failed they are left, and hold what was committed last. The backup must never meet them.
        for suffix in ["-wal", "-shm"] { unsafe rename(home.databasePath + suffix, path + suffix) }
        try syncFolder(of: path)
    }

    /// Undoes what ``putAside(_:as:)`` did, however far it came.
    private static func bringBack(_ kept: String, _ home: Home) {
        for suffix in ["-wal", "-shm"] { unsafe rename(kept + suffix, home.databasePath + suffix) }
        if unsafe link(kept, home.databasePath) == 0 || errno == EEXIST {
            unsafe unlink(kept)
        } else {
            unsafe rename(kept, home.databasePath)
        }
    }

    private static func removeDatabase(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unsafe unlink(path + suffix) }
    }

    private static func copy(_ source: String, to target: String) throws {
        let input = unsafe Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw ServerError(.notFound, "\(source) cannot be read: \(systemReason())") }
        defer { close(input) }
        let output = unsafe Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw ServerError(.home, "cannot write \(target): \(systemReason())") }
        defer { close(output) }
        while true {
            let count = sendfile(output, input, nil, 1 << 26)
            if count == 0 { break }
            guard count > 0 else {
                let failure = systemReason()
                unsafe unlink(target)
                throw ServerError(.home, "cannot write \(target): \(failure)")
            }
        }
        guard fsync(output) == 0 else { throw ServerError(.home, "cannot write \(target): \(systemReason())") }
    }
}
