// SPDX-License-Identifier: Apache-2.0

import CSQLite
package import CarrelBytes
import CarrelThreads
import Glibc

/// A database in one SQLite file, opened for reading and durable writing.
///
/// Write-ahead log with `synchronous = FULL`; one thread commits for all writers together. Several processes may have the
/// same file open.
package final class SQLiteDatabase: Database {
    private let path: String
    let writer: SQLiteWriter
    private let readers: SQLiteReaders
    let threads: BlockingThreadPool
    private let searches: BlockingThreadPool

    /// Opens the file, or creates it with mode 0600, and brings its schema up to date.
    ///
    /// - Parameters:
    ///   - path: the file; two more appear next to it, with the suffixes `-wal` and `-shm`.
    ///   - migrations: the whole schema, step by step.
    ///   - readers: threads that serve ``read(_:)``.
    ///   - patience: the time limit for another process's writes, in milliseconds.
    ///   - clock: the clock for the time recorded with each applied migration.
    /// - Throws: `store.newer` for a database of a newer program, `store.migration` for another history, `store.corrupt`
    ///   for a file that is not a database.
    package init(
        path: String,
        migrations: [Migration],
        readers: Int = 2,
        patience: Int = 10_000,
        clock: any WallClock = SystemClock()
    ) throws(StoreError) {
        let plan = try MigrationPlan(migrations, for: .sqlite)
        try Self.createFile(path)
        let connection = try SQLiteConnection(path: path, mode: .write, patience: patience)
        try connection.migrate(plan, clock: clock)
        self.path = path
        writer = SQLiteWriter(connection)
        self.readers = SQLiteReaders(path: path, patience: patience)
        threads = BlockingThreadPool(name: "sqlite-read", count: readers, limit: 16384)
        searches = BlockingThreadPool(name: "sqlite-search", count: 1, limit: SearchQueue.limit)
    }

    package var engine: DatabaseEngine { .sqlite }

    /// The work of the writer so far.
    package var counters: SQLiteCounters { writer.counters }

    /// Calls of ``write(_:)`` that wait for their group.
    package var waitingWrites: Int { writer.waiting }

    @discardableResult
    package func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        unsafe try await withUnsafeThrowingContinuation { continuation in
            writer.add(unsafe WriteCall(continuation, body))
        }
    }

    package func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await StoreError.refusing("too many reads wait") {
            try await threads.run { [readers] in try readers.read(body) }
        }
    }

    package func search<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await StoreError.refusing("too many searches wait") {
            try await searches.runUnlessCancelled { [readers] in try readers.read(body) }
        }
    }

    package func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try readers.read(body)
    }

    package func watch(_ watch: RowChangeObserver) async throws -> Bool {
        try await writer.watch(watch)
        return true
    }

    package func detectExternalChanges() async throws {
        try await writer.detectExternalChanges()
    }

    package func expunge() async throws -> Bool {
        try await writer.betweenGroups { [path] connection in
            let isOverwritten = try connection.overwriteFormerlyDeleted(at: path)
            return connection.truncateLog() && isOverwritten
        }
    }

    package func probe() async throws {
        _ = try await read { try $0.row(MigrationPlan.select) }
        if let trouble = writer.trouble { throw trouble }
    }

    package func prepareCheck(_ sql: SQL) async throws {
        try await threads.run { [readers] in
            try readers.withConnection { connection throws(StoreError) in _ = try connection.prepare(sql) }
        }
    }

    package func close() async {
        try? await searches.run {}
        try? await threads.run {}
        readers.close()
        await writer.close()
    }

    /// Creates an empty file that only this user can read, unless it exists. SQLite gives its log the same mode.
    static func createFile(_ path: String) throws(StoreError) {
        let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            Glibc.close(descriptor)
        } else if errno != EEXIST {
            throw StoreError(errno: errno, "the database file cannot be made")
        }
    }
}
