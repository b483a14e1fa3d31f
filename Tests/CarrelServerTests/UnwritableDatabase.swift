import CarrelStore
import CarrelThreads

/// A database that refuses writes, while it is told to.
final class UnwritableDatabase: Database {
    private let inner: any Database
    private let failure: StoreError
    let isUnwritable = Locked(false)

    init(_ inner: any Database, _ failure: StoreError) {
        self.inner = inner
        self.failure = failure
    }

    var engine: DatabaseEngine { inner.engine }

    func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        if isUnwritable.withLock({ $0 }) { throw failure }
        return try await inner.write(body)
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await inner.read(body)
    }

    func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await inner.readBriefly(body)
    }

    func probe() async throws {
        try await inner.probe()
        if isUnwritable.withLock({ $0 }) { throw failure }
    }

    func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    func close() async { await inner.close() }
}
