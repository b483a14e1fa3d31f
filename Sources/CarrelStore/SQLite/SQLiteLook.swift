import CarrelThreads

/// A look into a database file that another part of a program, or another program, keeps: of any schema, and without leaving a trace.
///
/// Nothing is migrated, written or made: neither the file nor those beside it change. Each read opens the file anew.
public final class SQLiteLook: Database {
    private let path: String
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

    public func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await thread.run { [self] in
            let connection = try open()
            try connection.execute("BEGIN")
            let result = try body(connection)
            if let failure = connection.failure { throw failure }
            return result
        }
    }

    public func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await read(body)
    }

    public func prepareCheck(_ sql: SQL) async throws {
        try await thread.run { [self] in _ = try open().prepare(sql) }
    }

    public func close() async {
        isClosed.withLock { $0 = true }
    }

    private func open() throws(StoreError) -> SQLiteConnection {
        if isClosed.withLock({ $0 }) { throw StoreError(.closed, "the database is closed") }
        return try SQLiteConnection(path: path, mode: .look, patience: 2000)
    }
}
