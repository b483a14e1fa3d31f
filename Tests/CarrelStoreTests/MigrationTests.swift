import CarrelBytes
import CarrelStore
import CarrelTesting
import Testing

struct `Migrations` {
    static let second = Migration(
        version: 2,
        name: "shelves",
        statements: [SQL("CREATE TABLE shelf (id BIGINT PRIMARY KEY)"), SQL("INSERT INTO shelf VALUES (1)")]
    )
    static let editedSecond = Migration(
        version: 2,
        name: "shelves",
        statements: [SQL("CREATE TABLE shelf (id BIGINT PRIMARY KEY, name TEXT)")]
    )
    static let brokenSecond = Migration(
        version: 2,
        name: "shelves",
        statements: [SQL("CREATE TABLE shelf (id BIGINT PRIMARY KEY)"), SQL("INSERT INTO nowhere VALUES (1)")]
    )
    static let shelves = SQL("SELECT COUNT(*) FROM shelf")
    static let applied = SQL("SELECT version, applied FROM schema_version ORDER BY version")

    @Test func `are applied once, in order, with the time`() async throws {
        let folder = TemporaryDirectory()
        for time in [1000, 2000] as [Int64] {
            let clock = ManualClock(Instant(milliseconds: time))
            let migrations = time == 1000 ? Shelf.migrations : Shelf.migrations + [Self.second]
            for _ in 0..<2 {
                let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: migrations, clock: clock)
                await database.close()
            }
        }
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.second])
        let rows = try await database.read { try $0.rows(Self.applied).map(\.values) }
        #expect(rows == [[1, 1000], [2, 2000]])
        #expect(try await database.read { try $0.row(Self.shelves)?.integer(0) } == 1)
        await database.close()
    }

    @Test func `of a newer program are refused`() async throws {
        let folder = TemporaryDirectory()
        let newer = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.second])
        await newer.close()
        let error = #expect(throws: StoreError.self) {
            try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        }
        #expect(error?.code == .newer)
        #expect(error?.message == "the database has schema version 2, this program knows 1: use a newer program")
    }

    @Test func `that were edited after they were applied are refused`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.second])
        await database.close()
        #expect(throws: StoreError(.migration, "")) {
            try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.editedSecond])
        }
    }

    @Test func `that fail leave the schema as it was`() async throws {
        let folder = TemporaryDirectory()
        #expect(throws: StoreError(.statement, "")) {
            try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.brokenSecond])
        }
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.second])
        #expect(try await database.read { try $0.row(Self.shelves)?.integer(0) } == 1)
        await database.close()
    }

    @Test func `must count from one without a gap`() {
        let folder = TemporaryDirectory()
        #expect(throws: StoreError(.migration, "")) { try SQLiteDatabase(path: folder.file("a.db"), migrations: [Self.second]) }
    }

    @Test func `are run by one of many programs that start at once`() async throws {
        let folder = TemporaryDirectory()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.second])
                    await database.close()
                }
            }
            for try await _ in group {}
        }
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations + [Self.second])
        #expect(try await database.read { try $0.row(Self.shelves)?.integer(0) } == 1)
        await database.close()
    }
}
