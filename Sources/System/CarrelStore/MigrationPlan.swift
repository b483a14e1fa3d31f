// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Decides which migrations a database still needs, the same way for both engines.
package struct MigrationPlan: Sendable {
    package static let createTable = SQL(
        """
        CREATE TABLE IF NOT EXISTS schema_version (
            version BIGINT PRIMARY KEY,
            name TEXT NOT NULL,
            checksum TEXT NOT NULL,
            applied BIGINT NOT NULL
        )
        """
    )
    package static let select = SQL("SELECT version, checksum FROM schema_version ORDER BY version")
    package static let insert = SQL("INSERT INTO schema_version (version, name, checksum, applied) VALUES ($1, $2, $3, $4)")

    private let migrations: [Migration]
    private let engine: DatabaseEngine

    /// - Parameters:
    ///   - migrations: in order, counting from 1 without a gap.
    ///   - engine: the engine they are applied to.
    /// - Throws: `store.migration` if they do not.
    package init(_ migrations: [Migration], for engine: DatabaseEngine) throws(StoreError) {
        for (index, migration) in migrations.enumerated() where migration.version != index + 1 {
            throw StoreError(.migration, "migration \(index + 1) is missing or out of order")
        }
        self.migrations = migrations
        self.engine = engine
    }

    /// The migrations that are still to be applied, given the rows of ``select``.
    package func pending(applied: [Row]) throws(StoreError) -> ArraySlice<Migration> {
        if let newest = applied.last, try newest.integer(0) > Int64(migrations.count) {
            let version = try newest.integer(0)
            throw StoreError(
                .newer,
                "the database has schema version \(version), this program knows \(migrations.count): use a newer program"
            )
        }
        for (index, row) in applied.enumerated() {
            let migration = migrations[index]
            guard try row.integer(0) == Int64(migration.version), try row.text(1) == migration.checksum(for: engine) else {
                throw StoreError(.migration, "migration \(migration.version) of the database is not the one this program knows")
            }
        }
        return migrations[applied.count...]
    }

    /// Applies one migration inside a transaction that the caller has begun.
    ///
    /// - Parameters:
    ///   - migration: the next migration.
    ///   - transaction: the transaction.
    ///   - now: the time to record with it.
    /// - Throws: the engine's error for a statement.
    package func apply(_ migration: Migration, in transaction: some Transaction, now: Instant) throws(StoreError) {
        for statement in migration.statements(for: engine) { try transaction.run(statement, []) }
        let values: [SQLValue] = [
            .integer(Int64(migration.version)), .text(migration.name), .text(migration.checksum(for: engine)),
            .instant(now),
        ]
        try transaction.run(Self.insert, values)
    }
}
