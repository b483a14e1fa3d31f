import CarrelStore
import CarrelThreads

/// A database that counts how often it is asked to write, and to read.
final class CountingDatabase: Database {
    private let inner: any Database
    private let counts = Locked((writes: 0, reads: 0))

    init(_ inner: any Database) {
        self.inner = inner
    }

    var writes: Int { counts.withLock(\.writes) }
    var reads: Int { counts.withLock(\.reads) }

    var engine: DatabaseEngine { inner.engine }

    func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        counts.withLock { $0.writes += 1 }
        return try await inner.write(body)
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        counts.withLock { $0.reads += 1 }
        return try await inner.read(body)
    }

    func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        counts.withLock { $0.reads += 1 }
        return try await inner.readBriefly(body)
    }

    func watch(_ watch: ChangeWatch) async throws -> Bool { try await inner.watch(watch) }

    func lookForOthers() async throws { try await inner.lookForOthers() }

    func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    func close() async { await inner.close() }
}
