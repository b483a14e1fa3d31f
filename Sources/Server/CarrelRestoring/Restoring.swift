// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelFiles
package import CarrelHome
package import CarrelServer
import CarrelStore
import Glibc

// How a backup takes the place of a home's database, without bringing back what ended since.
extension CarrelService {
    /// The result of a restore: the ended and the carried-over items, and the replaced database's records from after the backup.
    package struct Restored: Sendable {
        /// The time of the last entry in the backup's audit log; without entries, the time of its file.
        package let backupTime: Instant
        /// The path of the replaced database; nil if there was none.
        package let kept: String?
        /// The numbers of sessions, links and keys that ended.
        package let ended: Ended
        /// The number of rows that the replaced database had later than the backup, by name; nil if it was not read.
        package let carriedOver: [String: Int]?
        /// The reason why nothing was carried over; nil otherwise.
        package let problem: String?
        /// Audit entries of the replaced database after the backup, without issued credentials; nil without a database that opens.
        package let lost: [AuditEntry]?
        /// Whether the database has secrets that nothing unwraps, because the home has no master key.
        package let needsMasterKey: Bool
    }

    /// The sessions, links and keys that a restore ended, because they may have ended after the backup. All tickets, credentials
    /// of editions, tokens and license messages of the service's own end with their secrets.
    package struct Ended: Sendable {
        /// Sessions that ended.
        package var sessions = 0
        /// Links to sign in, to set up or to reset a password that ended.
        package var links = 0
        /// App passwords that ended.
        package var appPasswords = 0
        /// Back-office keys that the replaced database knows as revoked.
        package var serviceKeys = 0
        /// Communication keys that the replaced database does not have.
        package var communicationKeys = 0
    }

    /// Replaces a home's database, which is kept next to it, with a backup. No process may have the database open.
    ///
    /// All sessions and links of the backup end, and the secrets that sign tickets, credentials and tokens are deleted: some of
    /// them may have ended after the backup. The next start makes new secrets. Data that devices depend on is carried over from
    /// the replaced database if it can be read. All of this is done in a copy, before the home changes.
    ///
    /// - Parameters:
    ///   - home: the home; its master key may be missing.
    ///   - path: a file that a backup wrote.
    ///   - clock: the clock.
    /// - Returns: the number of ended sessions and links, and what the backup lacks.
    /// - Throws: ``ServerError`` `notFound` or `invalid` for a file that is not an intact backup, `installation` or `masterKey`
    ///   for the backup of another home, `conflict` while a server runs, `home` if a file cannot be written. The home is then
    ///   unchanged.
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
        let kept = isReplacing ? try home.freePlace() : nil
        let database = try await open(copyOf: path, as: fresh, for: home)
        let result: Restored
        do {
            // Opening and closing empties the write-ahead log into the file that is put aside.
            let replaced = isReplacing ? try? openDatabase(home) : nil
            do {
                result = try await finish(
                    database,
                    home,
                    Replaced(database: replaced, isThere: isReplacing),
                    fileTime: fileTime,
                    kept: kept,
                    at: clock.now
                )
            } catch {
                await replaced?.close()
                throw error
            }
            await replaced?.close()
            await database.close()
            try syncFile(fresh)
        } catch {
            await database.close()
            Home.removeDatabase(fresh)
            throw error
        }
        do {
            if let kept { try home.putDatabaseAside(as: kept) }
            // The head is of the replaced log: a crash in between leaves none, which the next seal makes.
            AuditHead(path: home.auditHeadPath).forget()
            do throws(FileError) { try DurableFile.rename(fresh, to: home.databasePath, folderSync: .attempted) } catch {
                throw ServerError(.home, "cannot write \(home.databasePath): \(error.reason)")
            }
        } catch {
            if let kept { home.bringDatabaseBack(from: kept) }
            Home.removeDatabase(fresh)
            throw error
        }
        return result
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

    /// Opens a copy of a backup that will replace the home's database; removes the copy on failure.
    private static func open(copyOf path: String, as fresh: String, for home: Home) async throws -> SQLiteDatabase {
        Home.removeDatabase(fresh)
        do {
            try Home.copyDatabase(path, to: fresh)
            let database = try SQLiteDatabase(path: fresh, migrations: Schema.migrations)
            do {
                try await requireSameHome(database, home)
                return database
            } catch {
                await database.close()
                throw error
            }
        } catch {
            Home.removeDatabase(fresh)
            throw error
        }
    }
}
