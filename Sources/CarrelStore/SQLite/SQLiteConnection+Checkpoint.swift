import CSQLite

extension SQLiteConnection {
    /// How long ``truncateLog()`` waits for readers, in milliseconds: nothing is written meanwhile.
    private static let truncatePatience = 250

    /// Copies the whole log into the database and cuts its file to nothing. Pages that are free or were deleted from are overwritten
    /// there (`secure_delete`).
    ///
    /// - Returns: false where a reader or another process needs the log still.
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

    /// Writes a database again, once, whose deleted rows an earlier version did not overwrite: they stay in its free pages otherwise.
    ///
    /// - Returns: false where another process uses the database: try again later. Where there is no room, the next start tries again.
    func overwriteFormerlyDeleted() throws -> Bool {
        guard try row(Self.overwritten, [])?.integer(0) == 0 else { return true }
        // The copy is as large as the database: not in memory.
        try execute("PRAGMA temp_store = FILE")
        defer { try? execute("PRAGMA temp_store = MEMORY") }
        do throws(StoreError) {
            try execute("VACUUM")
            try execute(Self.markOverwritten)
            return true
        } catch {
            return error.code != .busy
        }
    }

    /// Pages of the log that make a checkpoint due: 8 MiB.
    static let checkpointPages = 2048
    /// Pages of the log from which on a checkpoint waits a little for readers: 32 MiB.
    private static let patientPages = 8192

    /// Copies the log into the database when it has grown enough, so that it is used again from its start.
    ///
    /// Run by the writer after it has answered, so nobody waits for it but the next group. A reader that holds an old snapshot
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
