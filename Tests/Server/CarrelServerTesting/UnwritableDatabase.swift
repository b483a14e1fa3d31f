// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
package import CarrelThreads

/// A database that refuses writes, while it is told to.
package final class UnwritableDatabase: Database {
    private let inner: any Database
    private let failure: StoreError
    package let isUnwritable = Locked(false)

    package init(_ inner: any Database, _ failure: StoreError) {
        self.inner = inner
        self.failure = failure
    }

    package var engine: DatabaseEngine { inner.engine }

    package func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        if isUnwritable.withLock({ $0 }) { throw failure }
        return try await inner.write(body)
    }

    package func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await inner.read(body)
    }

    package func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await inner.readBriefly(body)
    }

    package func probe() async throws {
        try await inner.probe()
        if isUnwritable.withLock({ $0 }) { throw failure }
    }

    package func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    package func close() async { await inner.close() }
}
