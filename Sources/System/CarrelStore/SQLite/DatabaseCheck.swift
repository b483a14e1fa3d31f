// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// The result of checking a whole database file.
package struct DatabaseCheck: Sendable, Equatable {
    /// Damage, a line for each, at most a hundred; none if the file is sound.
    package let problems: [String]
    /// The newest migration that was applied; nil if the file has none, so it was not written by this product.
    package let schemaVersion: Int?

    /// - Parameters:
    ///   - problems: a line for each.
    ///   - schemaVersion: the newest migration's, if any.
    package init(problems: [String], schemaVersion: Int?) {
        self.problems = problems
        self.schemaVersion = schemaVersion
    }

    /// Whether every page, index and reference holds together.
    package var isSound: Bool { problems.isEmpty }
}

extension SQLiteDatabase {
    /// Reads a whole database file and reports damage.
    ///
    /// Takes seconds for each gigabyte. The file may be in use.
    ///
    /// - Parameter path: the file.
    /// - Returns: the damage found.
    /// - Throws: `store.corrupt` unless it is a database, `store.notFound` if it does not exist.
    package static func check(_ path: String) async throws -> DatabaseCheck {
        try await BlockingThreadPool(name: "sqlite-check", count: 1).run { try checkNow(path) }
    }

    static func checkNow(_ path: String) throws(StoreError) -> DatabaseCheck {
        guard unsafe access(path, F_OK) == 0 else { throw StoreError(errno: errno, "the database file cannot be read") }
        let connection = try SQLiteConnection(path: path, mode: .read, patience: 10_000)
        var problems: [String] = []
        for row in try connection.rows(Check.integrity) where row[0] != "ok" { problems.append(try row.text(0)) }
        for row in try connection.rows(Check.references) {
            problems.append("a row of \(try row.text(0)) refers to a missing row of \(try row.text(2))")
        }
        var version: Int?
        if try connection.row(Check.hasVersions)?.integer(0) == 1 {
            version = try connection.row(Check.version)?.integerIfPresent(0).map { Int($0) }
        }
        return DatabaseCheck(problems: problems, schemaVersion: version)
    }

    private enum Check {
        static let integrity = SQL("PRAGMA integrity_check(100)")
        static let references = SQL("SELECT * FROM pragma_foreign_key_check LIMIT 100")
        static let hasVersions = SQL("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'schema_version'")
        static let version = SQL("SELECT MAX(version) FROM schema_version")
    }
}
