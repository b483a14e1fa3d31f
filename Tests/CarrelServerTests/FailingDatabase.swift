import CarrelStore
import CarrelThreads

/// A database that cannot be reached while it is told so.
final class FailingDatabase: Database {
    private let inner: any Database
    let fails = Locked(false)

    init(_ inner: any Database) {
        self.inner = inner
    }

    var engine: DatabaseEngine { inner.engine }

    private func check() throws {
        if fails.withLock(\.self) { throw StoreError(.unavailable, "the database cannot be reached") }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try check()
        return try await inner.write(body)
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try check()
        return try await inner.read(body)
    }

    func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try check()
        return try await inner.readBriefly(body)
    }

    func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    func close() async { await inner.close() }
}
