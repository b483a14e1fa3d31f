// SPDX-License-Identifier: Apache-2.0

import CarrelHome
package import CarrelServer
package import CarrelStore
import CarrelThreads

/// A database that counts how often it is asked to write, to read, and what others changed.
package final class CountingDatabase: Database {
    /// The outcome of reading others' changes.
    package enum Looking {
        case works, fails
        /// It takes until it works, or fails.
        case isHeld
    }

    private let inner: any Database
    private let counts = Locked((writes: 0, reads: 0, looks: 0))
    private let looking = Locked(Looking.works)
    private let statements = Locked<[String]>([])
    private let interruption = Locked<(write: Int, action: @Sendable () async throws -> Void)?>(nil)

    package init(_ inner: any Database) {
        self.inner = inner
    }

    package var writes: Int { counts.withLock(\.writes) }
    package var reads: Int { counts.withLock(\.reads) }
    package var looks: Int { counts.withLock(\.looks) }

    /// The texts of the statements that were run since this was asked last, in their order.
    package func takeStatements() -> [String] {
        statements.withLock { statements in
            defer { statements = [] }
            return statements
        }
    }

    /// A transaction that notes its statements.
    private struct Noting: Transaction {
        let inner: any Transaction
        let statements: Locked<[String]>

        private func note(_ sql: SQL) { statements.withLock { $0.append(sql.description) } }

        func run(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Int {
            note(sql)
            return try inner.run(sql, values)
        }

        func rows(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> [Row] {
            note(sql)
            return try inner.rows(sql, values)
        }

        func row(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Row? {
            note(sql)
            return try inner.row(sql, values)
        }

        func each(_ sql: SQL, _ values: [SQLValue], _ body: (Row) throws -> Void) throws {
            note(sql)
            try inner.each(sql, values, body)
        }
    }

    package func look(_ looking: Looking) { self.looking.withLock { $0 = looking } }

    package var engine: DatabaseEngine { inner.engine }

    /// Lets something else happen before a write: the first from now on is 1.
    package func before(write number: Int, _ action: @escaping @Sendable () async throws -> Void) {
        let write = writes + number
        interruption.withLock { $0 = (write, action) }
    }

    package func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        let write = counts.withLock { counts in
            counts.writes += 1
            return counts.writes
        }
        let interruption = interruption.withLock { $0 }
        if let interruption, interruption.write == write { try await interruption.action() }
        return try await inner.write { [statements] in try body(Noting(inner: $0, statements: statements)) }
    }

    package func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        counts.withLock { $0.reads += 1 }
        return try await inner.read { [statements] in try body(Noting(inner: $0, statements: statements)) }
    }

    package func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        counts.withLock { $0.reads += 1 }
        return try await inner.readBriefly { [statements] in try body(Noting(inner: $0, statements: statements)) }
    }

    package func search<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        counts.withLock { $0.reads += 1 }
        return try await inner.search(body)
    }

    package func watch(_ watch: RowChangeObserver) async throws -> Bool { try await inner.watch(watch) }

    package func detectExternalChanges() async throws {
        counts.withLock { $0.looks += 1 }
        while case .isHeld = looking.withLock(\.self) { try await Task.sleep(for: .milliseconds(1)) }
        guard case .works = looking.withLock(\.self) else { throw ServerError(.home, "nobody can look") }
        try await inner.detectExternalChanges()
    }

    package func prepareCheck(_ sql: SQL) async throws { try await inner.prepareCheck(sql) }

    package func close() async { await inner.close() }
}

extension TestService {
    /// A service on the same state, and how often it asks the database.
    package func counted(
        _ settings: CarrelService.Settings = CarrelService.Settings()
    ) async throws -> (database: CountingDatabase, service: CarrelService) {
        let database = CountingDatabase(service.database)
        return (database, try await CarrelService.open(service.home, database: database, settings: settings, clock: clock))
    }
}
