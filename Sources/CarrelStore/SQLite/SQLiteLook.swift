import CarrelThreads
import Glibc

/// A look into a database file that another part of a program, or another program, keeps: of any schema, and without leaving a trace.
///
/// Nothing is migrated, written or made: neither the file nor those beside it change. Each read opens the file anew, without a lock where
/// there is no write-ahead log; where others changed the file in the meantime, what was read counts for nothing and is read again.
public final class SQLiteLook: Database {
    private let path: String
    private static let attempts = 20
    /// Microseconds from one to the next.
    private static let pause: UInt32 = 50_000
    private let isClosed = Locked(false)
    private let thread = BlockingThreads(name: "sqlite-look", count: 1)

    /// - Parameter path: of an existing file.
    public init(path: String) {
        self.path = path
    }

    public var engine: DatabaseEngine { .sqlite }

    /// Throws `store.readOnly`.
    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        throw StoreError(.readOnly, "the database is only looked at")
    }

    /// Runs the body until nobody has changed the file beneath it.
    ///
    /// - Throws: `store.busy` where others change it each time.
    public func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await thread.run { [self] in
            for attempt in 1...Self.attempts {
                let before = FileState(path)
                do {
                    let result = try once(body, before)
                    if before.hasLog || before == FileState(path) { return result }
                } catch {
                    // the log may be gone, or the file be half another one
                    if before == FileState(path) || attempt == Self.attempts { throw error }
                }
                if attempt < Self.attempts { usleep(Self.pause) }
            }
            throw StoreError(.busy, "the database is being changed by others, each time that it is looked at")
        }
    }

    private func once<T>(_ body: (any Transaction) throws -> T, _ state: FileState) throws -> T {
        let connection = try open(state)
        try connection.execute("BEGIN")
        let result = try body(connection)
        if let failure = connection.failure { throw failure }
        return result
    }

    public func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await read(body)
    }

    public func prepareCheck(_ sql: SQL) async throws {
        try await thread.run { [self] in _ = try open(FileState(path)).prepare(sql) }
    }

    public func close() async {
        isClosed.withLock { $0 = true }
    }

    private func open(_ state: FileState) throws(StoreError) -> SQLiteConnection {
        if isClosed.withLock({ $0 }) { throw StoreError(.closed, "the database is closed") }
        return try SQLiteConnection(path: path, mode: .look(hasLog: state.hasLog), patience: 2000)
    }

    /// What tells whether somebody changed a database since.
    private struct FileState: Equatable {
        private let file: [Int]
        private let log: [Int]
        /// Whether there is a write-ahead log with something in it.
        var hasLog: Bool { log.first ?? 0 > 0 }

        init(_ path: String) {
            file = Self.figures(path)
            log = Self.figures(path + "-wal")
        }

        /// Size, identity and times of a file; none where there is none.
        private static func figures(_ path: String) -> [Int] {
            var state = stat()
            guard unsafe stat(path, &state) == 0 else { return [] }
            let (changed, moved) = (state.st_mtim, state.st_ctim)
            return [
                Int(state.st_size), Int(bitPattern: UInt(state.st_ino)), changed.tv_sec, changed.tv_nsec, moved.tv_sec,
                moved.tv_nsec,
            ]
        }
    }
}
