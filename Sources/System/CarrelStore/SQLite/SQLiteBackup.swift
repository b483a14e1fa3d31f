// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CarrelThreads
import Glibc

/// A copy in progress from the writer's connection into another file.
///
/// Because its source is the connection that writes, concurrent writes go into the copy too, and the log stays short. A write by
/// another process starts the copy again.
@safe
final class SQLiteBackup: @unchecked Sendable {  // made and used by the writer's thread, one call at a time
    private var backup: OpaquePointer?
    private var target: OpaquePointer?
    private var restarts = 0
    private let restartLimit = 8
    private var previousRemaining = Int32.max

    /// - Parameters:
    ///   - source: the writer's.
    ///   - path: an existing empty file.
    /// - Throws: when SQLite cannot open it.
    init(of source: SQLiteConnection, to path: String) throws(StoreError) {
        let status = unsafe sqlite3_open_v2(path, &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nil)
        guard status == SQLITE_OK else { throw takeError(status) }
        // The file is worth nothing before it is whole: then it is synced once and renamed.
        unsafe sqlite3_exec(target, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nil, nil, nil)
        unsafe backup = source.withHandle { handle in unsafe sqlite3_backup_init(target, "main", handle, "main") }
        if unsafe backup == nil { throw takeError(SQLITE_ERROR) }
    }

    deinit {
        close()
    }

    /// Copies some more pages; true if the copy is whole.
    func step(pages: Int32) throws(StoreError) -> Bool {
        // Other processes that write all the time would start the copy again forever: then the rest goes in one piece.
        let status = unsafe sqlite3_backup_step(backup, restarts < restartLimit ? pages : -1)
        let remaining = unsafe sqlite3_backup_remaining(backup)
        if remaining > previousRemaining { restarts += 1 }
        previousRemaining = remaining
        switch status {
        case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: return false
        case SQLITE_DONE:
            let status = unsafe sqlite3_backup_finish(backup)
            unsafe backup = nil
            guard status == SQLITE_OK else { throw takeError(status) }
            close()
            return true
        default: throw takeError(status)
        }
    }

    private func takeError(_ status: Int32) -> StoreError {
        if unsafe backup != nil { unsafe sqlite3_backup_finish(backup) }
        unsafe backup = nil
        guard let target = unsafe target else { return StoreError(.unavailable, "the backup file cannot be opened") }
        let error = unsafe StoreError(
            sqlite: sqlite3_errcode(target) == SQLITE_OK ? status : sqlite3_extended_errcode(target),
            of: target
        )
        close()
        return error
    }

    private func close() {
        if unsafe backup != nil { unsafe sqlite3_backup_finish(backup) }
        unsafe sqlite3_close_v2(target)
        unsafe backup = nil
        unsafe target = nil
    }
}

extension SQLiteDatabase {
    /// Copies the whole database, in its state at the end of the call, into one file, while it is read and written.
    ///
    /// The copy is checked completely before it replaces a file of the same name.
    ///
    /// - Parameter path: the path of the copy; `path.partial` must not be in use.
    /// - Throws: `store.full`, or `store.corrupt` if the copy is damaged. The copy is then removed.
    package func backup(to path: String) async throws {
        let partial = path + ".partial"
        do {
            try await copy(to: partial)
            try await threads.run { try Self.seal(partial, as: path) }
        } catch {
            for suffix in ["", "-journal", "-wal", "-shm"] { _ = unsafe unlink(partial + suffix) }
            throw error
        }
    }

    private func copy(to path: String) async throws {
        let backup = try await writer.betweenGroups { connection in
            _ = unsafe unlink(path)
            try Self.createFile(path)
            return try SQLiteBackup(of: connection, to: path)
        }
        // About 1 MiB at a time, so that writers wait for milliseconds.
        while try await !writer.betweenGroups({ _ in try backup.step(pages: 256) }) {}
    }

    /// Makes the copy a single file, checks it, and renames it.
    private static func seal(_ partial: String, as path: String) throws(StoreError) {
        do {
            let connection = try SQLiteConnection(path: partial, mode: .read, patience: 10_000)
            try connection.execute("PRAGMA query_only = OFF")
            try connection.execute("PRAGMA journal_mode = DELETE")
        }
        let check = try checkNow(partial)
        if let problem = check.problems.first { throw StoreError(.corrupt, "the copy is damaged: \(problem)") }
        try syncFile(partial)
        try rename(partial, to: path, orSay: "the backup cannot be given its name")
    }
}
