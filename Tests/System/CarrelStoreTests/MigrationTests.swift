// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore
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
    static let both = Shelf.migrations + [second]
    static let shelves = SQL("SELECT COUNT(*) FROM shelf")
    static let applied = SQL("SELECT version, applied FROM schema_version ORDER BY version")
    static let clock = SystemClock()

    private func shelves(_ database: any Database) async throws -> Int64? {
        try await database.read { try $0.row(Self.shelves)?.integer(0) }
    }

    @Test(arguments: TestEngine.allCases)
    func `are applied once, in order, with the time`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            for time in [1000, 2000] as [Int64] {
                let clock = ManualClock(Instant(milliseconds: time))
                for _ in 0..<2 { await (try open(time == 1000 ? Shelf.migrations : Self.both, clock)).close() }
            }
            let database = try open(Self.both, Self.clock)
            let rows = try await database.read { try $0.rows(Self.applied).map(\.values) }
            #expect(rows == [[1, 1000], [2, 2000]])
            let count = try await shelves(database)
            #expect(count == 1)
            await database.close()
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `of a newer program are refused`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            await (try open(Self.both, Self.clock)).close()
            let error = #expect(throws: StoreError.self) { try open(Shelf.migrations, Self.clock) }
            #expect(error?.code == .newer)
            #expect(error?.message == "the database has schema version 2, this program knows 1: use a newer program")
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `that were edited after they were applied are refused`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            await (try open(Self.both, Self.clock)).close()
            #expect(throws: StoreError(.migration, "")) { try open(Shelf.migrations + [Self.editedSecond], Self.clock) }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `that fail leave the schema as it was`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            #expect(throws: StoreError(.statement, "")) { try open(Shelf.migrations + [Self.brokenSecond], Self.clock) }
            let database = try open(Self.both, Self.clock)
            let count = try await shelves(database)
            #expect(count == 1)
            await database.close()
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `must count from one without a gap`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            #expect(throws: StoreError(.migration, "")) { try open([Self.second], Self.clock) }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `are run by one of many programs that start together`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { await (try open(Self.both, Self.clock)).close() } }
                try await group.waitForAll()
            }
            let database = try open(Self.both, Self.clock)
            let count = try await shelves(database)
            #expect(count == 1)
            await database.close()
        }
    }
}
