// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelStore

/// Counts used rights in an SQLite database.
public final class DatabaseUserRightsStore: UserRightsStore {
    private let database: any Database

    /// Granted requests that are known at most, of each right of each publication.
    static let requestLimit = 1000

    /// Counts in the database of an app.
    ///
    /// - Parameter database: has the tables of `migration(version:)` and `contentMigration(version:)`; its opener closes it.
    /// - Throws: `rights.migration`, with the step that is missing; `rights.unavailable`.
    package convenience init(_ database: any Database) async throws(UserRightsError) {
        self.init(migrated: database)
        let any: [SQLValue] = [.text(""), .text("")]
        try await require(Statement.use, any, "migration(version:)")
        try await require(Statement.request, any + [.text("")], "contentMigration(version:)")
    }

    /// - Parameter database: known to have the tables.
    package init(migrated database: any Database) {
        self.database = database
    }

    /// Throws if a statement does not match the tables, because a migration is missing.
    private func require(_ statement: SQL, _ values: [SQLValue], _ migration: String) async throws(UserRightsError) {
        try await step { [database] in
            do {
                _ = try await database.read { try $0.row(statement, values) }
            } catch let error as StoreError where error.code == .statement {
                throw UserRightsError(
                    .migration,
                    "the database lacks a table or a column for used rights: "
                        + "add DatabaseUserRightsStore.\(migration) to its migrations"
                )
            }
        }
    }

    /// Opens or creates a separate file.
    ///
    /// - Parameter path: the path of an SQLite database; several processes may have it open.
    /// - Throws: `rights.unavailable`.
    public convenience init(path: String) throws(UserRightsError) {
        do throws(StoreError) {
            self.init(
                migrated: try SQLiteDatabase(
                    path: path,
                    migrations: [Self.migration(version: 1), Self.contentMigration(version: 2)]
                )
            )
        } catch {
            throw UserRightsError(.unavailable, error.message)
        }
    }

    /// The tables, as a migration.
    ///
    /// - Parameter version: the number of the migration in the database's schema.
    /// - Returns: the migration.
    package static func migration(version: Int) -> Migration {
        Migration(
            version: version,
            name: "used rights of publications",
            statements: [Statement.usesTable, Statement.requestsTable]
        )
    }

    /// The column for the digest of a request's content, as a migration after `migration(version:)`.
    ///
    /// - Parameter version: the number of the migration in the database's schema.
    /// - Returns: the migration.
    package static func contentMigration(version: Int) -> Migration {
        Migration(version: version, name: "content of requests for rights", statements: [Statement.addContent])
    }

    /// Completes pending calls, then closes the database.
    public func close() async { await database.close() }

    public func used(_ right: CountedRight, of publication: String) async throws(UserRightsError) -> Int {
        try await step { [database] in
            try await database.read { transaction in
                try transaction.row(Statement.use, [.text(publication), .text(right.rawValue)]).map { Int(try $0.integer(0)) }
                    ?? 0
            }
        }
    }

    public func use(
        _ amount: Int,
        of right: CountedRight,
        publication: String,
        limit: Int,
        requestID: String?,
        content: [UInt8]?
    ) async throws(UserRightsError) -> Bool {
        guard amount >= 0 else { throw UserRightsError(.invalidAmount, "an amount cannot be negative") }
        if amount == 0 { return true }
        let key: [SQLValue] = [.text(publication), .text(right.rawValue)]
        return try await step { [database] in
            try await database.write { transaction in
                if let requestID, let before = try transaction.row(Statement.request, key + [.text(requestID)]) {
                    // Requests of earlier versions have no digest: the first repeat is bound to its text.
                    let known = try before.blobIfPresent(1)
                    guard try before.integer(0) == Int64(amount), known == nil || known == content else {
                        throw UserRightsError(.differentRequest, "the request was made before, for something else")
                    }
                    if known == nil, content != nil {
                        try transaction.run(Statement.bindRequest, key + [.text(requestID), SQLValue(content)])
                    }
                    return true
                }
                let row = try transaction.row(Statement.use, key)
                let (used, requests) = (try row?.integer(0) ?? 0, try row?.integer(1) ?? 0)
                guard used <= Int64(limit), Int64(amount) <= Int64(limit) - used else { return false }
                let number = requests + (requestID == nil ? 0 : 1)
                try transaction.run(Statement.setUse, key + [.integer(used + Int64(amount)), .integer(number)])
                if let requestID {
                    try transaction.run(
                        Statement.addRequest,
                        key + [.text(requestID), .integer(Int64(amount)), .integer(number), SQLValue(content)]
                    )
                    try transaction.run(Statement.forgetRequests, key + [.integer(number - Int64(Self.requestLimit))])
                }
                return true
            }
        }
    }

    private func step<Value>(_ body: () async throws -> Value) async throws(UserRightsError) -> Value {
        do {
            return try await body()
        } catch let error as UserRightsError {
            throw error
        } catch let error as StoreError {
            throw UserRightsError(.unavailable, error.message)
        } catch {
            throw UserRightsError(.unavailable, "the store of used rights cannot be used")
        }
    }

    private enum Statement {
        static let usesTable = SQL(
            """
            CREATE TABLE rights_uses (
                publication TEXT NOT NULL,
                kind TEXT NOT NULL,
                used BIGINT NOT NULL CHECK (used >= 0),
                requests BIGINT NOT NULL,
                PRIMARY KEY (publication, kind)
            )
            """
        )
        static let requestsTable = SQL(
            """
            CREATE TABLE rights_requests (
                publication TEXT NOT NULL,
                kind TEXT NOT NULL,
                request TEXT NOT NULL,
                amount BIGINT NOT NULL,
                number BIGINT NOT NULL,
                PRIMARY KEY (publication, kind, request)
            )
            """
        )
        static let addContent = SQL("ALTER TABLE rights_requests ADD COLUMN content BLOB")
        static let use = SQL("SELECT used, requests FROM rights_uses WHERE publication = $1 AND kind = $2")
        static let setUse = SQL(
            """
            INSERT INTO rights_uses (publication, kind, used, requests) VALUES ($1, $2, $3, $4)
            ON CONFLICT (publication, kind) DO UPDATE SET used = excluded.used, requests = excluded.requests
            """
        )
        static let request = SQL(
            "SELECT amount, content FROM rights_requests WHERE publication = $1 AND kind = $2 AND request = $3"
        )
        static let addRequest = SQL(
            "INSERT INTO rights_requests (publication, kind, request, amount, number, content) VALUES ($1, $2, $3, $4, $5, $6)"
        )
        static let bindRequest = SQL(
            "UPDATE rights_requests SET content = $4 WHERE publication = $1 AND kind = $2 AND request = $3"
        )
        static let forgetRequests = SQL(
            "DELETE FROM rights_requests WHERE publication = $1 AND kind = $2 AND number <= $3"
        )
    }
}
