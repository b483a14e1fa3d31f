// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// Read-only access to a database file of another program: with any schema, and without leaving a trace, except an empty log at
/// the moment when that program closes it.
///
/// Nothing is migrated or written. Each read opens the file again, without a lock if there is no write-ahead log; if others
/// changed the file in the meantime, the result is discarded and read again.
package final class ReadOnlySQLiteDatabase: Database {
    private let path: String
    private static let attempts = 60
    /// Microseconds from one to the next.
    private static let pause: UInt32 = 50_000
    private let isClosed = Locked(false)
    private let thread = BlockingThreadPool(name: "sqlite-look", count: 1)

    /// - Parameter path: the path of an existing file.
    package init(path: String) {
        self.path = path
    }

    package var engine: DatabaseEngine { .sqlite }

    /// Throws `store.readOnly`.
    @discardableResult
    package func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        throw StoreError(.readOnly, "the database is only looked at")
    }

    /// Runs the body until the file did not change beneath it.
    ///
    /// - Throws: `store.busy` if others change it each time, or a change is left half done.
    package func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await thread.run { [self] in
            for attempt in 1...Self.attempts {
                if attempt > 1 { usleep(Self.pause) }
                let before = FileState(path)
                guard before.isSettled else { continue }
                let connection: SQLiteConnection
                do throws(StoreError) {
                    connection = try begin(before)
                } catch {
                    // the log may be gone by now
                    if before == FileState(path) { throw error }
                    continue
                }
                let outcome = Result { () throws -> T in
                    let result = try body(connection)
                    if let failure = connection.failure { throw failure }
                    return result
                }
                // with a log there is a snapshot; without a log, the file may be partly changed by now
                if before.hasLog || before == FileState(path) { return try outcome.get() }
            }
            throw StoreError(.busy, "the database is being changed by others, or a change of it was left half done")
        }
    }

    package func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await read(body)
    }

    package func prepareCheck(_ sql: SQL) async throws {
        try await thread.run { [self] in _ = try open(FileState(path)).prepare(sql) }
    }

    package func close() async {
        isClosed.withLock { $0 = true }
    }

    private func open(_ state: FileState) throws(StoreError) -> SQLiteConnection {
        if isClosed.withLock({ $0 }) { throw StoreError(.closed, "the database is closed") }
        return try SQLiteConnection(path: path, mode: .look(hasLog: state.hasLog), patience: 2000)
    }

    private func begin(_ state: FileState) throws(StoreError) -> SQLiteConnection {
        let connection = try open(state)
        try connection.execute("BEGIN")
        // only reading takes the snapshot
        try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
        return connection
    }

    /// The stamp by which a change of a database is detected.
    private struct FileState: Equatable {
        private let file: [Int]
        private let log: [Int]
        /// Whether a change that was begun is written down to be taken back: some leave an empty or a blank file there.
        private let hasJournal: Bool

        /// The resolution of file times in milliseconds: two changes within one step are indistinguishable. Most file systems
        /// store nanoseconds; those that do not count in steps of two seconds.
        private static let (step, coarseStep) = (20, 2000)

        init(_ path: String) {
            file = Self.figures(path)
            log = Self.figures(path + "-wal")
            hasJournal = Self.hasJournal(path + "-journal")
        }

        /// Whether there is a write-ahead log with something in it.
        var hasLog: Bool { log.first ?? 0 > 0 }

        /// Whether no change is in progress, and a change from now on would be detected.
        var isSettled: Bool {
            guard !hasJournal else { return false }
            guard !hasLog, !file.isEmpty else { return true }
            var now = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &now)
            let age = (now.tv_sec - file[2]) * 1000 + (now.tv_nsec - file[3]) / 1_000_000
            // the clock of a server of files may be a little ahead
            return !(-Self.coarseStep..<(file[3] == 0 ? Self.coarseStep : Self.step)).contains(age)
        }

        /// Whether a file begins as journals do that count (SQLite, "Database File Format" §3), or cannot be looked at.
        private static func hasJournal(_ path: String) -> Bool {
            let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return errno != ENOENT }
            defer { Glibc.close(descriptor) }
            var head = [UInt8](repeating: 0, count: 8)
            let count = unsafe head.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, 8) }
            return count < 0 || head == [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        }

        /// Size, identity and times of a file; none if there is none.
        private static func figures(_ path: String) -> [Int] {
            var state = stat()
            guard unsafe stat(path, &state) == 0 else { return [] }
            let (modification, statusChange) = (state.st_mtim, state.st_ctim)
            return [
                Int(state.st_size), Int(bitPattern: UInt(state.st_ino)), modification.tv_sec, modification.tv_nsec,
                statusChange.tv_sec,
                statusChange.tv_nsec,
            ]
        }
    }
}
