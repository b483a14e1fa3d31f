// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

/// One connection to a SQLite file, with its prepared statements.
@safe
final class SQLiteConnection: Transaction, @unchecked Sendable {  // one holder at a time, its only user
    private let handle: OpaquePointer
    private var statements: [UInt: SQLiteStatement] = [:]
    private var uses: UInt64 = 0
    private let statementLimit = 256
    /// The time limit for others' locks in milliseconds.
    let patience: Int
    /// The error that doomed the transaction.
    private(set) var failure: StoreError?
    /// Pages in the write-ahead log after the last commit; SQLite's hook writes it.
    private let logPages: UnsafeMutablePointer<Int32>
    /// The owners of rows changed since the last read; written by triggers.
    let notedChanges = NotedChanges()
    /// When the log is next copied into the database, in pages.
    var checkpointAt = SQLiteConnection.checkpointPages

    private static let quiet: Bool = csqlite_memory_statistics(0) == SQLITE_OK

    enum Mode {
        case write
        case read
        /// Leaves the file and its companion files unchanged. Without a write-ahead log the file is read as if no process could
        /// change it: the caller has to check whether one did.
        case look(hasLog: Bool)
    }

    /// - Parameters:
    ///   - path: an existing file; it may be empty.
    ///   - mode: whether statements may write, or anything may change at all.
    ///   - patience: the time limit for locks of other connections or processes, in milliseconds.
    /// - Throws: `store.corrupt` for a file that is not a database.
    init(path: String, mode: Mode, patience: Int) throws(StoreError) {
        _ = Self.quiet
        var database: OpaquePointer?
        var (name, access) = (path, SQLITE_OPEN_READWRITE)
        if case .look(let hasLog) = mode {
            (name, access) = (Self.readOnlyURI(path, hasLog), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        }
        let status = unsafe sqlite3_open_v2(name, &database, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard let database = unsafe database else { throw StoreError(.unavailable, "no memory for a database connection") }
        guard status == SQLITE_OK else {
            let error = unsafe StoreError(sqlite: status, of: database)
            unsafe sqlite3_close_v2(database)
            throw error
        }
        unsafe handle = database
        unsafe logPages = .allocate(capacity: 1)
        unsafe logPages.initialize(to: 0)
        unsafe sqlite3_wal_hook(handle, noteLogPages, logPages)
        self.patience = patience
        wait(atMost: patience)
        unsafe csqlite_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe csqlite_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        unsafe csqlite_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0)
        unsafe csqlite_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
        unsafe csqlite_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1)
        var isWriter = false
        if case .write = mode { isWriter = true }
        if isWriter { try useLog() }
        for pragma in isWriter ? Self.writerSettings : Self.readerSettings { try execute(pragma) }
    }

    deinit {
        statements.removeAll()
        unsafe sqlite3_close_v2(handle)
        unsafe logPages.deallocate()
    }

    private static let writerSettings: [StaticString] = [
        "PRAGMA synchronous = FULL",
        "PRAGMA journal_size_limit = 67108864",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA secure_delete = ON",
        "PRAGMA cell_size_check = ON",
        "PRAGMA cache_size = -16384",
    ]
    private static let readerSettings: [StaticString] = [
        "PRAGMA query_only = ON",
        "PRAGMA temp_store = MEMORY",
        // Not mapped: a disk that cannot be read is then an error of one request, not the end of the process.
        "PRAGMA mmap_size = 0",
        "PRAGMA cache_size = -4096",
    ]

    /// The URI of a file (SQLite, "URI filenames"): with a write-ahead log, its existing index is used and never created; without
    /// a log, SQLite would create both, unless the file is declared immutable.
    private static func readOnlyURI(_ path: String, _ hasLog: Bool) -> String {
        // all but letters, digits and these would mean something else
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-".utf8)
        let escaped = path.utf8.map { byte in
            plain.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        let root = path.hasPrefix("/") ? "file://" : "file:"
        return root + escaped.joined() + (hasLog ? "?readonly_shm=1" : "?immutable=1")
    }

    /// Turns the write-ahead log on. SQLite does not wait for another connection that does the same to a new file, so this does.
    private func useLog() throws(StoreError) {
        var tries: Int32 = 0
        while true {
            do throws(StoreError) {
                return try execute("PRAGMA journal_mode = WAL")
            } catch {
                forgetFailure()
                guard error.code == .busy, unsafe waitForLock(UnsafeMutableRawPointer(bitPattern: patience), tries) == 1 else {
                    throw error
                }
                tries += 1
            }
        }
    }

    /// Runs a statement without parameters or results, uncached.
    func execute(_ text: StaticString) throws(StoreError) {
        let status = unsafe sqlite3_exec(
            handle,
            UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self),
            nil,
            nil,
            nil
        )
        guard status == SQLITE_OK else { throw error(status) }
    }

    /// SQLite's handle, for the calls that copy or checkpoint a whole database.
    func withHandle<Result, Failure: Error>(_ body: (OpaquePointer) throws(Failure) -> Result) throws(Failure) -> Result {
        unsafe try body(handle)
    }

    func error(_ status: Int32) -> StoreError {
        unsafe StoreError(sqlite: status, of: handle)
    }

    /// Whether a transaction is open. SQLite closes it by itself after some errors.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Rows that were changed since it was opened.
    var totalChanges: Int64 { unsafe sqlite3_total_changes64(handle) }

    /// Pages in the write-ahead log after the last commit.
    var pagesInLog: Int { unsafe Int(logPages.pointee) }

    /// Waits `patience` milliseconds for another's lock from now on.
    func wait(atMost patience: Int) {
        unsafe sqlite3_busy_handler(handle, waitForLock, UnsafeMutableRawPointer(bitPattern: max(1, patience)))
    }

    /// Makes the connection ready for the next transaction or savepoint.
    func forgetFailure() {
        failure = nil
    }

    // MARK: Statements

    @discardableResult
    func run(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Int {
        let statement = try begin(sql, values)
        defer { statement.clear() }
        let before = unsafe sqlite3_total_changes64(handle)
        while try step(statement) {}
        // sqlite3_changes64 returns an earlier statement's number if this one changed nothing.
        return unsafe sqlite3_total_changes64(handle) == before ? 0 : Int(sqlite3_changes64(handle))
    }

    func rows(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> [Row] {
        let statement = try begin(sql, values)
        defer { statement.clear() }
        var rows: [Row] = []
        while try step(statement) { rows.append(statement.row()) }
        return rows
    }

    func row(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Row? {
        let statement = try begin(sql, values)
        defer { statement.clear() }
        guard try step(statement) else { return nil }
        let row = statement.row()
        if !statement.isReadOnly { while try step(statement) {} }
        return row
    }

    func each(_ sql: SQL, _ values: [SQLValue], _ body: (Row) throws -> Void) throws {
        let statement = try begin(sql, values)
        defer { statement.clear() }
        while try step(statement) { try body(statement.row()) }
    }

    private func begin(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> SQLiteStatement {
        if let failure { throw failure }
        do throws(StoreError) {
            let statement = try cachedStatement(sql)
            do throws(StoreError) {
                let status = try statement.bind(values)
                guard status == SQLITE_OK else { throw error(status) }
            } catch {
                statement.clear()
                throw error
            }
            statement.isRunning = true
            return statement
        } catch {
            failure = error
            throw error
        }
    }

    private func step(_ statement: SQLiteStatement) throws(StoreError) -> Bool {
        switch statement.step() {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let status:
            let error = error(status)
            failure = error
            throw error
        }
    }

    private func cachedStatement(_ sql: SQL) throws(StoreError) -> SQLiteStatement {
        uses += 1
        let identity = sql.identity(for: .sqlite)
        if let statement = statements[identity], !statement.isRunning {
            statement.lastUse = uses
            return statement
        }
        let isInside = statements[identity] != nil
        let statement = try prepare(sql)
        if isInside { return statement }
        if statements.count >= statementLimit { dropOldest() }
        statement.lastUse = uses
        statements[identity] = statement
        return statement
    }

    private func dropOldest() {
        let idle = statements.filter { !$0.value.isRunning }
        if let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) { statements[oldest.key] = nil }
    }

    /// Prepares a statement without keeping it.
    func prepare(_ sql: SQL) throws(StoreError) -> SQLiteStatement {
        var text = sql.text(for: .sqlite)
        var statement: OpaquePointer?
        var isSingle = true
        let status = text.withUTF8 { utf8 in
            var tail: UnsafePointer<CChar>?
            let start = unsafe UnsafeRawPointer(utf8.baseAddress)?.assumingMemoryBound(to: CChar.self)
            let status = unsafe sqlite3_prepare_v3(
                handle,
                start,
                Int32(utf8.count),
                UInt32(SQLITE_PREPARE_PERSISTENT),
                &statement,
                &tail
            )
            if let start = unsafe start, let tail = unsafe tail {
                let remainder = unsafe utf8[(tail - start)...]
                isSingle = unsafe remainder.allSatisfy {
                    $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: ";")
                }
            }
            return status
        }
        guard status == SQLITE_OK else { throw error(status) }
        guard let handle = unsafe statement, isSingle else {
            unsafe sqlite3_finalize(statement)
            throw StoreError(.statement, "the text is not exactly one statement")
        }
        return try unsafe SQLiteStatement(adopting: handle)
    }
}

/// SQLite's busy handler: short, uneven waits, so that a writer that works without pause still lets others in.
private func waitForLock(_ patience: UnsafeMutableRawPointer?, _ tries: Int32) -> Int32 {
    let limit = Int(bitPattern: patience)
    if tries < 10 {
        usleep(50)
        return 1
    }
    guard Int(tries) - 10 < limit else { return 0 }
    usleep(UInt32.random(in: 500...1500))
    return 1
}

/// SQLite's hook after a commit in WAL mode. Taking it over also stops the automatic checkpoint.
private func noteLogPages(
    _ pages: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ name: UnsafePointer<CChar>?,
    _ count: Int32
) -> Int32 {
    unsafe pages?.assumingMemoryBound(to: Int32.self).pointee = count
    return SQLITE_OK
}
