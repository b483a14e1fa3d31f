// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPostgres
import CarrelStore
import CarrelTesting
import CarrelThreads
import Testing

/// A server that hangs, restarts, has no connection left, takes no writes or has no room.
struct `A PostgreSQL server that is not well` {
    static let refuseWrites = SQL("SET SESSION default_transaction_read_only = on")
    static let isRefusing = SQL("SELECT current_setting('default_transaction_read_only')")
    static let refuseAll = SQL(
        "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$"
    )
    static let acceptAll = SQL(
        """
        DO $$ BEGIN
            EXECUTE 'ALTER DATABASE ' || current_database() || ' RESET default_transaction_read_only';
        END $$
        """
    )
    static let endOthers = SQL(
        "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    static let beFull = SQL(
        """
        CREATE FUNCTION be_full() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$
        """
    )
    static let fill = SQL("CREATE TRIGGER full_disk BEFORE INSERT ON book FOR EACH ROW EXECUTE FUNCTION be_full()")
    static let makeRoom = SQL("DROP TRIGGER full_disk ON book")

    /// The error of a call and its duration.
    private func failure(_ work: () async throws -> Void) async -> (code: StoreError.Code?, time: Duration) {
        let began = ContinuousClock.now
        do {
            try await work()
            return (nil, .now - began)
        } catch {
            return ((error as? StoreError)?.code, .now - began)
        }
    }

    /// It once blocked every thread, and callers waited until the server responded.
    @Test func `keeps callers waiting for some seconds while it hangs, then refuses them immediately, and serves again`()
        async throws
    {
        let server = try await PrivatePostgres.own()
        let database = try PostgresDatabase(try await server.newDatabase(), migrations: Shelf.migrations, connections: 4)
        try await database.write { try Shelf.add("a", to: $0) }
        try await database.probe()
        try server.freeze()
        // More than there are threads, some of them writes.
        let ends = await withTaskGroup(of: (StoreError.Code?, Duration).self) { group in
            for i in 0..<6 {
                group.addTask {
                    await failure {
                        if i % 2 == 0 {
                            _ = try await Shelf.count(database)
                        } else {
                            try await database.write { try Shelf.add("\(i)", to: $0) }
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ends.allSatisfy { $0.0 == .unavailable }, "\(ends)")
        #expect(ends.allSatisfy { $0.1 < .seconds(12) }, "\(ends)")
        let next = await failure { _ = try await Shelf.count(database) }
        #expect(next.code == .unavailable && next.time < .milliseconds(500), "\(next)")
        try server.thaw()
        let began = ContinuousClock.now
        while await failure({ try await database.probe() }).code != nil, .now - began < .seconds(10) {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try await Shelf.count(database) == 1, "what was not acknowledged was not kept")
        try await database.write { try Shelf.add("b", to: $0) }
        await database.close()
    }

    @Test func `is asked again while it restarts`() async throws {
        let server = try await PrivatePostgres.own()
        let database = try PostgresDatabase(try await server.newDatabase(), migrations: Shelf.migrations, connections: 4)
        try await database.write { try Shelf.add("a", to: $0) }
        await server.shutDown()
        async let counted = Shelf.count(database)
        try await server.startAgain()
        #expect(try await counted == 1)
        await server.shutDown()
        #expect(await failure { _ = try await Shelf.count(database) }.code == .unavailable)
        #expect(await failure { try await database.probe() }.code == .unavailable)
        await database.close()
    }

    @Test func `refuses with "unavailable" when it has no connection left, and keeps those that are open`() async throws {
        let server = try await PrivatePostgres.own(["max_connections=6", "superuser_reserved_connections=0"])
        let address = try await server.newDatabase()
        let database = try PostgresDatabase(address, migrations: Shelf.migrations, connections: 3)
        var others: [PostgresDatabase] = []
        while others.count < 10, let other = try? PostgresDatabase(address, migrations: Shelf.migrations) { others.append(other) }
        #expect(others.count == 5)
        #expect(await failure { try await database.probe() }.code == .unavailable)
        #expect(try await Shelf.count(database) == 0, "it has its connection")
        #expect(try await Shelf.count(database) == 0)
        for other in others { await other.close() }
        try await database.probe()
        await database.close()
    }

    /// After a failover old connections lead to what is a standby now.
    @Test func `is left for another when it takes no writes`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            try await database.read { _ = try $0.rows(Self.refuseWrites) }
            let isRefusing = try await database.readBriefly { try $0.row(Self.isRefusing)?.text(0) }
            try #require(isRefusing == "on", "the only idle connection was made read-only")
            try await database.write { try Shelf.add("a", to: $0) }
            #expect(try await Shelf.count(database) == 1)
        }
    }

    @Test func `says that it takes no writes, until it does`() async throws {
        try await TestEngine.postgresql.withPlace { open in
            let (database, other) = (try open(Shelf.migrations, SystemClock()), try open(Shelf.migrations, SystemClock()))
            try await database.probe()
            try await database.write { _ = try $0.run(Self.refuseAll) }
            try await other.read { _ = try $0.row(Self.endOthers) }
            #expect(await failure { try await database.write { try Shelf.add("a", to: $0) } }.code == .readOnly)
            #expect(await failure { try await database.probe() }.code == .readOnly)
            #expect(try await Shelf.count(database) == 0, "reads are answered")
            try await other.write { _ = try $0.run(Self.acceptAll) }
            try await database.probe()
            try await database.write { try Shelf.add("a", to: $0) }
            await database.close()
            await other.close()
        }
    }

    @Test func `says that it has no room, until a write is kept`() async throws {
        try await TestEngine.postgresql.withDatabase { database in
            try await database.write {
                try $0.run(Self.beFull)
                try $0.run(Self.fill)
            }
            #expect(await failure { try await database.write { try Shelf.add("a", to: $0) } }.code == .full)
            #expect(await failure { try await database.probe() }.code == .full)
            try await database.write { try $0.run(Self.makeRoom) }
            #expect(await failure { try await database.probe() }.code == .full, "no row was changed")
            try await database.write { try Shelf.add("a", to: $0) }
            try await database.probe()
        }
    }
}
