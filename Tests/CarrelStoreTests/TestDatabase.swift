import CarrelStore
import CarrelTesting
import Testing

/// The engines a test runs on, each with a fresh database of its own.
enum TestEngine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite

    var testDescription: String { rawValue }

    /// Runs `body` with a new database that holds the shelf's schema.
    func withDatabase(_ body: (any Database) async throws -> Void) async throws {
        switch self {
        case .sqlite:
            let folder = TemporaryDirectory()
            let database = try SQLiteDatabase(path: folder.file("test.db"), migrations: Shelf.migrations)
            try await body(database)
            await database.close()
        }
    }
}
