// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
package import CarrelThreads

/// A database that cannot be reached while it is told so.
package final class FailingDatabase: Database {
    private let inner: any Database
    package let fails = Locked(false)

    package init(_ inner: any Database) {
        self.inner = inner
    }

    package var engine: DatabaseEngine { inner.engine }

    private func check() throws {
        if fails.withLock(\.self) { throw StoreError(.unavailable, "the database cannot be reached") }
    }

    package func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try check()
        return try await inner.write(body)
    }

    package func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try check()
        return try await inner.read(body)
    }

    package func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try check()
        return try await inner.readBriefly(body)
    }

    package func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    package func close() async { await inner.close() }
}
