// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPostgres
import CarrelStore
import CarrelTesting
import Testing

/// The engines a test runs on, each with a fresh database of its own.
enum TestEngine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite
    case postgresql

    var testDescription: String { rawValue }

    /// Opens one place again and again.
    typealias Open = @Sendable ([Migration], any WallClock) throws -> any Database

    /// Runs `body` with what opens the place of a new database.
    func withPlace(_ body: (@escaping Open) async throws -> Void) async throws {
        switch self {
        case .sqlite:
            let folder = TemporaryDirectory()
            try await body { try SQLiteDatabase(path: folder.file("test.db"), migrations: $0, clock: $1) }
        case .postgresql:
            let address = try await PrivatePostgres.shared().newDatabase()
            try await body { try PostgresDatabase(address, migrations: $0, clock: $1) }
        }
    }

    /// Runs `body` with a new database that holds the shelf's schema.
    func withDatabase(_ body: (any Database) async throws -> Void) async throws {
        try await withPlace { open in
            let database = try open(Shelf.migrations, SystemClock())
            try await body(database)
            await database.close()
        }
    }
}
