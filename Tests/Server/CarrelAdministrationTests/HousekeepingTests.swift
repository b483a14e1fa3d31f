// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

@Suite(.onBothDatabases)
struct `What has expired` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")

    private func count(_ test: TestService, _ table: SQL) async throws -> Int64 {
        try await test.service.database.read { try $0.row(table, [])?.integer(0) ?? -1 }
    }

    private static let sessions = SQL("SELECT count(*) FROM sessions")
    private static let counters = SQL("SELECT count(*) FROM throttle")
    private static let networks = SQL("SELECT count(*) FROM sign_in_networks")

    @Test func `is removed in the background, not in requests`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let account = try await test.service.desk.create("alice", password: password, by: staff)
        func signIn() async throws {
            let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"])
            #expect(reply.xml.hasPrefix("<token>"))
        }
        _ = try await test.service.accounts.issueSession(for: account)
        _ = try await test.service.accounts.makeSignInLink(for: account)
        for number in 0..<4 { _ = try await test.ask("sign_in", ["username": "x", "password": "\(number)"]) }
        try await test.service.database.write { transaction in
            let insert = SQL(
                """
                INSERT INTO sessions (token_hash, account_id, purpose, created_at, expires_at, seen_at)
                VALUES ($1, $2, 'session', 0, $3, 0)
                """
            )
            for number in 0..<1100 {
                try transaction.run(insert, [.blob(Array("\(number)".utf8)), .text(account.id), .integer(Int64(number))])
            }
        }
        try await signIn()
        #expect(try await count(test, Self.sessions) == 1103)
        #expect(try await test.service.housekeeping.run() == 1100)
        #expect(try await test.service.housekeeping.run() == 0)
        #expect(try await count(test, Self.sessions) == 3)

        test.clock.advance(by: .seconds(400 * 24 * 3600 + 1))
        let before = (try await count(test, Self.counters), try await count(test, Self.networks))
        #expect(before == (3, 1))
        try await signIn()
        // the device's session before was its own to end, two others have expired
        #expect(try await count(test, Self.sessions) == 3)
        #expect(try await test.service.housekeeping.run() > 0)
        #expect(try await count(test, Self.sessions) == 1)
        #expect(try await count(test, Self.networks) == 1, "the one that has just signed in")
        #expect(try await count(test, Self.counters) == 0, "the device's went with the right password, and no other counts it")
    }

    /// Rows with an expiry, by name: of each, one row that expires at the time of the test, one that expires a second later, and
    /// 1,100 that expired long ago.
    private static let memories: [(name: String, insert: SQL, count: SQL, life: Duration)] = [
        (
            "used sign-ins", SQL("INSERT INTO used_sign_ons (id_hash, expires_at) VALUES ($1, $2)"),
            SQL("SELECT count(*) FROM used_sign_ons"), .zero
        ),
        (
            "setup links", SQL("INSERT INTO setup_links (token_hash, created_at, expires_at) VALUES ($1, 0, $2)"),
            SQL("SELECT count(*) FROM setup_links"), .zero
        ),
        (
            "tokens",
            SQL(
                "INSERT INTO upstream_tokens (token_hash, source, subject, state, confirmed_at) VALUES ($1, 's', 's', 'live', $2)"
            ),
            SQL("SELECT count(*) FROM upstream_tokens"), .seconds(60 * 86_400)
        ),
        (
            "accounts", SQL("INSERT INTO upstream_accounts (subject, is_suspended, updated_at) VALUES ($1, 0, $2)"),
            SQL("SELECT count(*) FROM upstream_accounts"), .seconds(60 * 86_400)
        ),
        (
            "grants", SQL("INSERT INTO upstream_grants (subject, product_id, granted_at) VALUES ($1, 'p', $2)"),
            SQL("SELECT count(*) FROM upstream_grants"), .seconds(7 * 86_400)
        ),
    ]

    @Test func `is removed without any sign-in, in all caches`() async throws {
        let test = try await TestService()
        let now = test.clock.now
        for memory in Self.memories {
            try await test.service.database.write { transaction in
                for number in 0..<1102 {
                    let end = number == 0 ? now - .milliseconds(1) : number == 1 ? now + .seconds(1) : Instant(milliseconds: 5)
                    let isText = memory.name == "accounts" || memory.name == "grants"
                    let key: SQLValue = isText ? .text("\(number)") : .blob(Array("\(number)".utf8))
                    try transaction.run(memory.insert, [key, .integer((end - memory.life).milliseconds)])
                }
            }
        }
        #expect(try await test.service.housekeeping.run() == 5 * 1101)
        for memory in Self.memories { #expect(try await count(test, memory.count) == 1, "\(memory.name)") }
        #expect(try await test.service.housekeeping.run() == 0)
        test.clock.advance(by: .seconds(2))
        #expect(try await test.service.housekeeping.run() == 5)
    }

    @Test func `is a counter too, when there are too many: the oldest first`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        for number in 0..<10 {
            _ = try await test.ask("sign_in", ["username": "name \(number)", "password": "x"], from: "10.0.0.\(number)")
            test.clock.advance(by: .seconds(120))
        }
        let keeping = Housekeeping(
            database: test.service.database,
            clock: test.clock,
            cleanups: AccountsCapability.cleanups(counterLimit: 2)
        )
        // Networks' counters end after a minute; of the other two kinds, two each are kept.
        #expect(try await keeping.run() == 26)
        #expect(try await count(test, Self.counters) == 4)
        // entries of the last two are kept
        for guess in 1...4 {
            _ = try await test.ask("sign_in", ["username": "name 9", "password": "\(guess)"], from: "10.0.0.9")
        }
        let last = try await test.ask("sign_in", ["username": "name 9", "password": "5"], from: "10.0.0.9")
        #expect(last.xml.contains("status=\"throttled\""))
    }
}

@Suite(.onBothDatabases)
struct `A flood of counters of one kind` {
    private static let kinds = SQL("SELECT kind, count(*) FROM throttle GROUP BY kind ORDER BY kind")

    @Test func `evicts none of another`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        _ = try await test.service.desk.create("alice", password: "correct horse battery", by: AuditActor("operator"))
        for password in ["correct horse battery", "wrong"] {
            _ = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"], from: "10.0.0.1")
        }
        for number in 0..<12 {
            _ = try await test.ask("sign_in", ["username": "bob", "password": "\(number)"], from: "10.1.0.\(number)")
        }
        let keeping = Housekeeping(
            database: test.service.database,
            clock: test.clock,
            cleanups: AccountsCapability.cleanups(counterLimit: 3)
        )
        _ = try await keeping.run()
        let rows = try await test.service.database.read {
            try $0.rows(Self.kinds).map { "\(try $0.text(0)) \(try $0.integer(1))" }
        }
        #expect(rows == ["account 1", "account-network 3", "device 1", "network 3"])
    }
}

struct `A table that grows` {
    /// The queries of signing in, signing out and cleaning up on growing tables.
    static let questions = [
        SQL("EXPLAIN QUERY PLAN DELETE FROM sessions WHERE device_id = $1"),
        SQL("EXPLAIN QUERY PLAN DELETE FROM sessions WHERE account_id = $1"),
        SQL("EXPLAIN QUERY PLAN SELECT id FROM audit WHERE actor = $1 AND at >= 0 ORDER BY at DESC LIMIT 1"),
        SQL(
            """
            EXPLAIN QUERY PLAN SELECT id FROM audit WHERE subject = $1 AND action <> 'edition.credentials' AND at >= 0
            ORDER BY at DESC LIMIT 1
            """
        ),
        SQL("EXPLAIN QUERY PLAN DELETE FROM sessions WHERE account_id = $1 AND family = $1"),
        SQL("EXPLAIN QUERY PLAN SELECT token_hash FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT 500"),
        SQL("EXPLAIN QUERY PLAN SELECT key FROM throttle WHERE expires_at <= $1 ORDER BY expires_at LIMIT 500"),
        SQL("EXPLAIN QUERY PLAN SELECT key FROM throttle WHERE kind = $1 ORDER BY expires_at LIMIT 500"),
        SQL("EXPLAIN QUERY PLAN DELETE FROM throttle WHERE account_hash = $1"),
        SQL("EXPLAIN QUERY PLAN DELETE FROM throttle WHERE network_hash = $1"),
        SQL("EXPLAIN QUERY PLAN SELECT key FROM sign_in_networks WHERE seen_at <= $1 ORDER BY seen_at LIMIT 500"),
        SQL("EXPLAIN QUERY PLAN SELECT id_hash FROM used_sign_ons WHERE expires_at <= $1 ORDER BY expires_at LIMIT 500"),
        SQL("EXPLAIN QUERY PLAN SELECT content_id FROM redemptions WHERE license_id = $1 LIMIT 1"),
        SQL("EXPLAIN QUERY PLAN UPDATE redemptions SET ended_by = 'time' WHERE license_id = $1"),
        SQL("EXPLAIN QUERY PLAN SELECT 1 FROM redemptions WHERE token_id = $1 AND player_id <> $1 LIMIT 2"),
        SQL("EXPLAIN QUERY PLAN SELECT token_hash FROM upstream_tokens WHERE confirmed_at < $1 ORDER BY confirmed_at LIMIT 500"),
        SQL("EXPLAIN QUERY PLAN SELECT subject FROM upstream_accounts WHERE updated_at < $1 ORDER BY updated_at LIMIT 500"),
        SQL(
            "EXPLAIN QUERY PLAN SELECT subject, product_id FROM upstream_grants WHERE granted_at < $1 ORDER BY granted_at LIMIT 500"
        ),
    ]

    @Test(arguments: questions)
    func `is never walked through`(question: SQL) async throws {
        let directory = TemporaryDirectory()
        let database = try SQLiteDatabase(path: directory.file("carrel.db"), migrations: Schema.migrations)
        let plan = try await database.read { try $0.rows(question, [.integer(1)]).map { try $0.text(3) } }
        #expect(!plan.isEmpty)
        for step in plan { #expect(step.hasPrefix("SEARCH") && step.contains("INDEX"), "\(step)") }
        await database.close()
    }

    @Test func `of counters is divided without forgetting who signed in from where`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("carrel.db")
        let before = Array(Schema.migrations.prefix { !$0.name.hasPrefix("ends of sessions") })
        #expect(before.count < Schema.migrations.count)
        let old = try SQLiteDatabase(path: path, migrations: before)
        try await old.write { transaction in
            let insert = SQL("INSERT INTO throttle (key, failures, until_at, updated_at, seen) VALUES ($1, $2, 0, $3, $1)")
            try transaction.run(insert, [.blob([1]), .integer(0), .integer(7000)])
            try transaction.run(insert, [.blob([2]), .integer(3), .integer(8000)])
        }
        await old.close()
        let new = try SQLiteDatabase(path: path, migrations: Schema.migrations)
        let (networks, counters) = try await new.read { transaction in
            (
                try transaction.rows(SQL("SELECT key, seen_at FROM sign_in_networks"), []).map { try $0.integer(1) },
                try transaction.rows(SQL("SELECT failures, expires_at FROM throttle"), []).map {
                    [try $0.integer(0), try $0.integer(1)]
                }
            )
        }
        #expect(networks == [7000])
        #expect(counters == [[3, 86_408_000]])
        await new.close()
    }

    @Test func `lists the licenses of suspended accounts on devices that are not linked, and players that were revoked`()
        async throws
    {
        let directory = TemporaryDirectory()
        let path = directory.file("carrel.db")
        let old = try SQLiteDatabase(path: path, migrations: Array(Schema.migrations.prefix { $0.version < 30 }))
        try await old.write { transaction in
            let insertAccount = SQL("INSERT INTO accounts (id, name, created_at, suspended_at) VALUES ($1, $1, 1, $2)")
            let insertPlayer = SQL(
                """
                INSERT INTO players (id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, created_at,
                    seen_at, expires_at, revoked_at)
                VALUES ($1, 's' || $1, 'k' || $1, $2, $2, 'none', '', '', '', $3, 1, 1, 9000, $4)
                """
            )
            let insertLicense = SQL(
                """
                INSERT INTO licenses (id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, plays,
                    master_version, wrapped)
                VALUES ($1, $2, $3, 'cid', $4, 1, '{}', '[]', '[]', 1, 0, 1, $5)
                """
            )
            try transaction.run(insertAccount, ["a", .integer(5000)])
            try transaction.run(insertAccount, ["b", .null])
            let players: [(id: String, account: SQLValue, revokedAt: SQLValue)] = [
                ("p", .null, .null), ("q", "a", .null), ("r", .null, .integer(6000)),
            ]
            for player in players {
                try transaction.run(
                    insertPlayer,
                    [.text(player.id), .blob(Array(player.id.utf8)), player.account, player.revokedAt]
                )
                for (subject, session) in [("a", "persist"), ("a", "stream"), ("b", "persist")] {
                    let id = "\(player.id)-\(subject)-\(session)"
                    let values: [SQLValue] = [.text(id), .text(player.id), .text(subject), .text(session), .blob([1])]
                    try transaction.run(insertLicense, values)
                }
            }
        }
        await old.close()
        let new = try SQLiteDatabase(path: path, migrations: Schema.migrations)
        let listed = try await new.read { transaction in
            try transaction.rows(
                SQL("SELECT kind, id, revoked_at, by_staff, suspended_for FROM revoked_rights ORDER BY kind, id"),
                []
            ).map { row in
                let account = try row.textIfPresent(4) ?? "-"
                return "\(try row.text(0)) \(try row.text(1)) \(try row.integer(2)) \(try row.integer(3)) \(account)"
            }
        }
        #expect(
            listed == [
                "license p-a-persist 5000 1 a", "license r-a-persist 6000 1 -", "license r-b-persist 6000 1 -",
                "player r 6000 1 -",
            ]
        )
        await new.close()
    }
}
