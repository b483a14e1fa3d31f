// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

extension SQLiteConnection {
    /// The time for which ``truncateLog()`` waits for readers, in milliseconds: writes are blocked meanwhile.
    private static let truncatePatience = 250

    /// Copies the whole log into the database and cuts its file to nothing. Pages that are free or were deleted from are
    /// overwritten there (`secure_delete`).
    ///
    /// - Returns: false if a reader or another process needs the log still.
    func truncateLog() -> Bool {
        wait(atMost: Self.truncatePatience)
        defer { wait(atMost: patience) }
        return unsafe withHandle { handle in
            unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        } == SQLITE_OK
    }

    /// Notes that everything that is deleted in the database is overwritten, from its first row on.
    static let markOverwritten: StaticString = "PRAGMA user_version = 1"
    private static let overwritten = SQL("PRAGMA user_version")

    /// Databases up to this size are written again while the server runs: nothing else is written meanwhile.
    private static let largestRewritten: Int64 = 512 << 20

    /// Rewrites a database, once, if an earlier version did not overwrite deleted rows: otherwise they stay in its free pages.
    ///
    /// It uses a separate connection: a change of `temp_store` drops the triggers by which the writer's connection notes changes.
    /// A large database, or one without free space of three times its size, is left to the operator (docs/privacy.md).
    ///
    /// - Parameter path: the database's file.
    /// - Returns: false if it could not be done: try again later.
    /// - Throws: SQLite's error, unless the database is in use.
    func overwriteFormerlyDeleted(at path: String) throws -> Bool {
        guard try row(Self.overwritten, [])?.integer(0) == 0 else { return true }
        var (file, fileSystem) = (stat(), statvfs())
        guard unsafe stat(path, &file) == 0, unsafe statvfs(path, &fileSystem) == 0 else { return false }
        let free = Int64(clamping: fileSystem.f_bavail) * Int64(clamping: fileSystem.f_frsize)
        guard file.st_size <= Self.largestRewritten, free / 3 >= file.st_size else { return true }
        let other = try SQLiteConnection(path: path, mode: .write, patience: Self.truncatePatience)
        // The copy is as large as the database: not in memory.
        try other.execute("PRAGMA temp_store = FILE")
        do throws(StoreError) {
            try other.execute("VACUUM")
            try other.execute(Self.markOverwritten)
            return true
        } catch {
            guard error.code == .busy else { throw error }
            return false
        }
    }

    /// Pages of the log that make a checkpoint due: 8 MiB.
    static let checkpointPages = 2048
    /// Pages of the log from which on a checkpoint waits a little for readers: 32 MiB.
    private static let patientPages = 8192

    /// Copies the log into the database when it has grown enough, so that it is used again from its start.
    ///
    /// Called by the writer after its responses, so that only the next group waits for it. A reader that holds an old snapshot
    /// keeps the log growing; then the next attempt comes after as many pages again.
    func checkpointIfDue() {
        let pages = pagesInLog
        if pages < checkpointAt - Self.checkpointPages { checkpointAt = Self.checkpointPages }
        guard pages >= checkpointAt else { return }
        checkpointAt = pages + Self.checkpointPages
        let isPatient = pages >= Self.patientPages
        if isPatient { wait(atMost: 50) }
        // A failure loses nothing: the log stays the truth, and the next attempt tries again.
        _ = unsafe withHandle { handle in
            unsafe sqlite3_wal_checkpoint_v2(
                handle,
                nil,
                isPatient ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
                nil,
                nil
            )
        }
        if isPatient { wait(atMost: patience) }
    }
}
