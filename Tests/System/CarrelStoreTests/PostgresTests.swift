// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPostgres
import CarrelStore
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `A PostgreSQL database` {
    static let endSessions = SQL(
        """
        SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """
    )
    static let addPages = SQL("UPDATE book SET pages = pages + $2 WHERE id = $1")
    static let endMine = SQL("SELECT pg_terminate_backend(pg_backend_pid())")
    static let widen = SQL("ALTER TABLE book ADD COLUMN shelf BIGINT")
    static let all = SQL("SELECT * FROM book")
    static let sum = SQL("SELECT SUM(pages) FROM book")
    static let castSum = SQL("SELECT CAST(SUM(pages) AS BIGINT) FROM book")
    static let untyped = SQL("SELECT id FROM book WHERE $1 IS NULL")
    static let exists = SQL("SELECT EXISTS (SELECT 1 FROM book WHERE id = $1)")
    static let durability = SQL("SELECT current_setting('synchronous_commit')")

    static let ownName = SQL("SELECT current_database()")
    static let pause = SQL("SELECT 1 FROM pg_sleep(0.02)")
    static let sessions = SQL("SELECT count(*) FROM pg_stat_activity WHERE datname = $1")

    @Test func `continues after its connections were ended`() async throws {
        try await TestEngine.postgresql.withPlace { open in
            let (database, other) = (try open(Shelf.migrations, SystemClock()), try open(Shelf.migrations, SystemClock()))
            for i in 0..<3 {
                try await database.write { try Shelf.add("\(i)", to: $0) }
                try await other.read { _ = try $0.row(Self.endSessions) }
                let count = try await Shelf.count(database)
                #expect(count == Int64(i + 1))
            }
            await database.close()
            await other.close()
        }
    }

    @Test func `runs a write again whose connection was lost before the commit, and not for ever`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            let runs = Locked(0)
            try await database.write { transaction in
                try Shelf.add("a", to: transaction)
                if runs.withLock({
                    $0 += 1; return $0
                }) == 1 {
                    _ = try transaction.row(Self.endMine)
                }
            }
            #expect(runs.withLock { $0 } == 2)
            let count = try await Shelf.count(database)
            #expect(count == 1)
            await #expect(throws: StoreError(.unavailable, "")) {
                try await database.write { _ = try $0.row(Self.endMine) }
            }
        }
    }

    @Test func `runs a write again that met another`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            try await database.write { try Shelf.add("a", to: $0) }
            let runs = Locked(0)
            try await database.write { transaction in
                let pages = try transaction.row(Shelf.book, ["a"])?.integer(1) ?? 0
                if runs.withLock({
                    $0 += 1; return $0
                }) == 1 {
                    // Another writes what this one has read.
                    try database.blockingWrite { try $0.run(Shelf.upsert, ["a", 50]) }
                }
                try transaction.run(Shelf.upsert, ["a", .integer(pages + 1)])
            }
            #expect(runs.withLock { $0 } == 2)
            let pages = try await database.readBriefly { try $0.row(Shelf.book, ["a"])?.integer(1) }
            #expect(pages == 51)
        }
    }

    /// Each has what the other waits for: PostgreSQL ends one of the two (40P01).
    @Test func `runs a write again that stood crosswise to another`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            try await database.write { for id in ["a", "b"] { try Shelf.add(id, to: $0) } }
            let (runs, holding) = (Locked(0), Locked(0))
            @Sendable func write(first: String, second: String) async throws {
                try await database.write { transaction in
                    runs.withLock { $0 += 1 }
                    try transaction.run(Self.addPages, [.text(first), 10])
                    holding.withLock { $0 += 1 }
                    while holding.withLock({ $0 }) < 2 { usleep(1000) }
                    try transaction.run(Self.addPages, [.text(second), 1])
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await write(first: "a", second: "b") }
                group.addTask { try await write(first: "b", second: "a") }
                try await group.waitForAll()
            }
            #expect(runs.withLock { $0 } > 2)
            let pages = try await database.read { transaction in
                try ["a", "b"].map { try transaction.row(Shelf.book, [.text($0)])?.integer(1) }
            }
            #expect(pages == [12, 12], "each write was kept once")
        }
    }

    @Test func `continues after another program has changed the schema`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            try await database.write { try Shelf.add("a", to: $0) }
            let before = try await database.write { try $0.row(Self.all)?.values.count }
            try await database.write { try $0.run(Self.widen) }
            let after = try await database.write { try $0.row(Self.all)?.values.count }
            #expect([before, after] == [4, 5])
        }
    }

    @Test func `refuses statements whose types SQLite does not have`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            await #expect(throws: StoreError(.type, "")) { try await database.prepareCheck(Self.sum) }
            await #expect(throws: StoreError(.statement, "")) { try await database.prepareCheck(Self.untyped) }
            try await database.prepareCheck(Self.castSum)
            try await database.write { try Shelf.add("a", to: $0) }
            let there = try await database.read { transaction in
                try ["a", "b"].map { try transaction.row(Self.exists, [.text($0)])?.flag(0) }
            }
            #expect(there == [true, false])
        }
    }

    @Test func `refuses values that a column does not take`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            for values in [
                ["a", "1", nil, nil], ["a", 1.5, nil, nil], [1, 1, nil, nil], ["a", 1, "1", nil], ["a", 1, nil, "x"],
            ]
                as [[SQLValue]]
            {
                await #expect(throws: StoreError(.statement, "")) { try await database.write { try $0.run(Shelf.add, values) } }
            }
        }
    }

    @Test func `is durable even where the server is set not to be`() async throws {
        let address = try await PrivatePostgres.shared().newDatabase()
        for (setting, wanted) in [("off", "on"), ("remote_apply", "remote_apply"), ("on", "on")] {
            let options = "&options=-c%20synchronous_commit%3D\(setting)"
            let database = try PostgresDatabase(address + options, migrations: Shelf.migrations)
            let used = try await database.read { try $0.row(Self.durability)?.text(0) }
            #expect(used == wanted)
            await database.close()
        }
    }

    @Test(arguments: [3, 8])
    func `opens no more connections than it is given, for searches and health checks too`(limit: Int) async throws {
        let server = try await PrivatePostgres.shared()
        let address = try await server.newDatabase()
        let database = try PostgresDatabase(address, migrations: Shelf.migrations, connections: limit)
        let other = try PostgresDatabase(try await server.newDatabase(), migrations: Shelf.migrations, connections: 3)
        let name = try await database.read { try $0.row(Self.ownName)?.text(0) ?? "" }
        /// Connections that exist in two successive counts: the server counts a closed one for a moment longer.
        @Sendable func count() async throws -> Int64 {
            let first = try await other.read { try $0.row(Self.sessions, [.text(name)])?.integer(0) ?? 0 }
            try await Task.sleep(for: .milliseconds(100))
            return min(first, try await other.read { try $0.row(Self.sessions, [.text(name)])?.integer(0) ?? 0 })
        }
        let isOver = Locked(false)
        var most: Int64 = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<24 {
                group.addTask { while !isOver.withLock(\.self) { _ = try await database.read { try $0.row(Self.pause) } } }
                group.addTask { while !isOver.withLock(\.self) { _ = try await database.search { try $0.row(Self.pause) } } }
            }
            group.addTask { while !isOver.withLock(\.self) { try await database.probe() } }
            let start = ContinuousClock.now
            while most < Int64(limit) || .now - start < .milliseconds(300), .now - start < .seconds(10) {
                most = max(most, try await count())
            }
            isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
        #expect(most == Int64(limit), "all of them are used, and not one more")
        await database.close()
        await other.close()
    }

    @Test(arguments: [
        "postgres://reader:hunter2@127.0.0.1:1/carrel", "postgres://reader:hunter2@[broken", "password=hunter2 host=", "hunter2",
        "host=/nonexistent password=hunter2 user='",
    ])
    func `says that it cannot be reached without saying the password`(address: String) throws {
        let error = #expect(throws: StoreError.self) { try PostgresDatabase(address, migrations: Shelf.migrations) }
        #expect(error?.code == .unavailable)
        #expect(error?.description.contains("hunter2") == false, "\(error?.description ?? "")")
    }
}

extension Database {
    /// Runs a write from a thread that may wait.
    fileprivate func blockingWrite(_ body: @escaping @Sendable (any Transaction) throws -> Void) throws {
        let answer = Locked<Result<Void, any Error>?>(nil)
        Task.detached { [self] in
            do {
                try await write(body)
                answer.withLock { $0 = .success(()) }
            } catch {
                answer.withLock { $0 = .failure(error) }
            }
        }
        while true {
            if let answer = answer.withLock({ $0 }) { return try answer.get() }
        }
    }
}
