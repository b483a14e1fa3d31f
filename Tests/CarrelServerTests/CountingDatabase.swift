import CarrelStore
import CarrelThreads

/// A database that counts how often it is asked to write and to read.
final class CountingDatabase: Database {
    private let inner: any Database
    private let count = Locked(0)
    private let readCount = Locked(0)

    init(_ inner: any Database) {
        self.inner = inner
    }

    var writes: Int { count.withLock { $0 } }
    var reads: Int { readCount.withLock { $0 } }

    var engine: DatabaseEngine { inner.engine }

    func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        count.withLock { $0 += 1 }
        return try await inner.write(body)
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        readCount.withLock { $0 += 1 }
        return try await inner.read(body)
    }

    func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        readCount.withLock { $0 += 1 }
        return try await inner.readBriefly(body)
    }

    func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    func close() async { await inner.close() }
}
