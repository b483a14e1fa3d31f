// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEntitlementSources
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelLicensing
import CarrelListening
import CarrelOrders
import CarrelPasswordHash
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelTokens
import CarrelWebAPI
import Glibc
import Testing

/// A person's data: exported in full, and erased.
@Suite(.onBothDatabases)
struct `Personal data` {
    private let operatorActor = AuditActor("operator")
    /// Texts that do not occur in the whole database after the person's erasure.
    private let traces = [
        "Zebedee Quux", "Zebedee's telephone", "a note of Zebedee's", "Zebedee's e-reader", "zebedee-player-7",
        "zebedee@provider", "zebedee-original-1", "Zebedee of Quuxville",
    ]

    /// A service that queries an upstream system, too.
    private func service() async throws -> TestService {
        var upstream = ScriptedUpstream.shared.settings
        upstream.policy = .lastKnownGood(.seconds(86_400))
        return try await TestService(.silence) { [upstream] in
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.sources = [.upstream(upstream), .accounts]
        }
    }

    /// A person with something in every table that can hold something about them.
    private func person(_ test: TestService) async throws -> (account: Account, order: Order, sessions: [String]) {
        let account = try await test.service.desk.create(
            traces[0],
            password: "correct horse battery",
            deviceLimit: 3,
            by: operatorActor
        )
        var request = Orders.Request(account: account.name, isbn: TestService.isbn)
        request.number = "shop-77"
        let order = try await test.order(request)
        let (service, now) = (test.service, test.clock.now)
        for number in 0..<200 {
            let actor = AuditActor(account.id, requestID: "many-\(number)")
            try await service.audit.group.record("edition.credentials", on: "issue", by: actor, at: now)
        }
        try await service.audit.settle()
        try await service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: operatorActor)
        _ = try await service.subscriptions.grant(plan: "gold", to: account, by: operatorActor)
        _ = try await service.subscriptions.give("issue-7", to: account, as: .gift, by: operatorActor)
        let signIn = try await test.ask(
            "sign_in",
            ["username": account.name, "password": "correct horse battery", "uuid": "phone", "device_name": traces[1]]
        )
        #expect(signIn.xml.hasPrefix("<token>"))
        _ = try await service.appPasswords.create(for: account, name: traces[3], scopes: [.sync], by: operatorActor)
        let identity: JSON = ["issuer": "https://login.example.org", "subject": .string(traces[5])]
        let identities = "/admin/v1/accounts/\(account.id)/identities"
        #expect(try await test.send(.post, identities, body: identity, peer: .local(userID: 0)).status == 201)
        try await service.database.write { [traces] transaction in
            let key: [SQLValue] = [.text("Production"), .text(traces[6]), .text(account.id), .integer(now.milliseconds)]
            _ = try transaction.run(
                SQL("INSERT INTO store_purchases (environment, original_id, account_id, created_at) VALUES ($1, $2, $3, $4)"),
                key
            )
            _ = try transaction.run(
                SQL(
                    """
                    INSERT INTO store_transactions (environment, transaction_id, original_id, bundle_id, product_id, kind,
                        purchased_at, upgraded, signed_at)
                    VALUES ($1, $2, $2, 'org.example', 'gold', 'Non-Consumable', $3, 0, $3)
                    """
                ),
                [.text("Production"), .text(traces[6]), .integer(now.milliseconds)]
            )
        }
        let browser = try await service.accounts.issueSession(for: account)
        _ = try await service.accounts.makeSignInLink(for: account)
        _ = try await service.desk.makeResetLink(for: account.id, by: operatorActor)
        let player = try await TestPlayer().personalized(by: test, token: browser)
        var rules = BusinessRules(kind: .license, expiresAt: now + .seconds(3600))
        rules.contents = [.init(contentID: "cid:x", keyID: KeyID(label: "x"), key: .random(count: 16))]
        (rules.rights, rules.isStorable) = (.buyToOwn, true)
        let token = try await service.businessTokens.seal(rules, at: now).text
        #expect(try await player.send(try await player.request(.persist, of: test, token: token), to: test).license != nil)
        let bearer: HTTPFields = ["Authorization": "Bearer \(browser)"]
        let bookmark: JSON = ["seconds": 12.5, "note": .string(traces[2])]
        #expect(
            try await test.send(.post, "/v1/shelf/\(order.id)/bookmarks", headers: bearer, body: bookmark).status == 201
        )
        let intervals = (0..<1203).map { index -> JSON in
            let start = now + .seconds(-7200 + index)
            return [
                "id": .string(order.id), "startUtc": .string(start.description),
                "endUtc": .string((start + .seconds(1)).description),
                "startPosition": .integer(index % 500), "endPosition": .integer(index % 500 + 1), "deviceId": .string(traces[4]),
                "deviceName": .string(traces[1]),
            ]
        }
        let report = try await test.call(.post, "/v2/states/", body: .array(intervals))
        #expect(report.json["accepted"] == 1203)
        _ = try await test.ask("sign_in", ["username": account.name, "password": "wrong horse battery"])
        let elsewhere = try await test.ask("sign_in", ["username": account.name, "password": "right"])
        #expect(elsewhere.xml == "<token>T-Zebedee Quux</token>")
        #expect(try await test.ask("verify_subscription", ["token": "T-Zebedee Quux"]).xml.contains(traces[7]))
        #expect(
            try await test.ask("edition_credentials", ["token": "T-Zebedee Quux", "product_id": "p1"]).xml.contains("<userid>")
        )
        return (account, order, [browser])
    }

    /// The tables of the schema, as the database itself lists them, with their columns.
    private func schema(_ test: TestService) async throws -> [String: Set<String>] {
        let statement =
            switch Engine.current {
            case .sqlite:
                SQL(
                    """
                    SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
                    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!'
                        AND m.name NOT LIKE 'edition!_search%' ESCAPE '!'
                    """
                )
            case .postgres:
                SQL("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()")
            }
        return try await test.service.database.read { transaction in
            try transaction.rows(statement, []).reduce(into: [:]) { tables, row in
                tables[try row.text(0), default: []].insert(try row.text(1))
            }
        }
    }

    /// The declarations of all capabilities about their tables.
    private static let declared = CarrelService.layers.reduce(into: [String: PersonalData.Treatment]()) { tables, capability in
        tables.merge(capability.tables) { first, _ in first }
    }

    @Test func `is declared for every table of the schema, and for no other`() async throws {
        let tables = try await schema(try await TestService(.silence))
        let (names, declared) = (Set(tables.keys), Set(Self.declared.keys))
        #expect(names.subtracting(declared).isEmpty, "let a capability say what these tables hold about people")
        #expect(declared.subtracting(names).isEmpty, "a capability has tables that are not there")
        // A row that points to an account, or to something of an account's, is about a person.
        let pointers: Set<String> = ["account_id", "account", "order_id", "device_id"]
        for (table, columns) in tables where !columns.isDisjoint(with: pointers) {
            #expect(Self.declared[table]?.member != nil, "\(table) holds something about people")
        }
    }

    /// The columns of tables that outlive a person: a new column is exported, and cleared by ``Erasure`` if it identifies the
    /// person, before it is listed here.
    @Test func `is known column by column where a row is kept`() async throws {
        let known: [String: Set<String>] = [
            "accounts": [
                "id", "name", "created_at", "password", "suspended_at", "device_limit", "erased_at", "role",
            ],
            "subscriptions": [
                "id", "account_id", "plan", "starts_at", "ends_at", "created_at", "revoked_at", "number", "asked_start",
                "asked_end",
            ],
            "purchases": ["id", "account_id", "product_id", "kind", "ends_at", "created_at", "number", "asked_end"],
            "orders": [
                "id", "number", "account_id", "title_id", "kind", "state", "starts_at", "ends_at", "created_at", "activated_at",
                "ended_at", "master_version", "wrapped_key", "isbn", "play_seconds",
            ],
            "players": [
                "id", "sign_key", "agree_key", "agree_point", "fingerprint", "level", "app", "build", "name", "account_id",
                "device_id", "link_expires_at", "created_at", "seen_at", "expires_at", "suspended_at", "suspended_by",
                "revoked_at", "licensed_at", "licensed_until", "list_version", "revoked_by", "link_family",
            ],
            "audit": ["id", "at", "actor", "action", "subject", "outcome", "reason", "request_id", "number", "seal"],
            "audit_pages": ["id", "first_at", "at", "filter", "entries"],
        ]
        let tables = try await schema(try await TestService(.silence))
        for (table, treatment) in Self.declared {
            guard case .kept = treatment else { continue }
            #expect(tables[table] == known[table], "\(table)")
        }
    }

    /// How many rows each table has that says something about people.
    private static let counting = [
        "accounts": SQL("SELECT count(*) FROM accounts"), "devices": SQL("SELECT count(*) FROM devices"),
        "sessions": SQL("SELECT count(*) FROM sessions"), "app_passwords": SQL("SELECT count(*) FROM app_passwords"),
        "identities": SQL("SELECT count(*) FROM identities"),
        "subscriptions": SQL("SELECT count(*) FROM subscriptions"), "purchases": SQL("SELECT count(*) FROM purchases"),
        "orders": SQL("SELECT count(*) FROM orders"), "intervals": SQL("SELECT count(*) FROM intervals"),
        "players": SQL("SELECT count(*) FROM players"), "licenses": SQL("SELECT count(*) FROM licenses"),
        "store_purchases": SQL("SELECT count(*) FROM store_purchases"),
        "store_transactions": SQL("SELECT count(*) FROM store_transactions"), "bookmarks": SQL("SELECT count(*) FROM bookmarks"),
        "upstream_tokens": SQL("SELECT count(*) FROM upstream_tokens"),
        "upstream_accounts": SQL("SELECT count(*) FROM upstream_accounts"),
        "upstream_grants": SQL("SELECT count(*) FROM upstream_grants"), "audit": SQL("SELECT count(*) FROM audit"),
        "audit_pages": SQL("SELECT count(*) FROM audit_pages"),
    ]

    private func counts(_ test: TestService) async throws -> [String: Int64] {
        try await test.service.database.read { transaction in
            try Self.counting.mapValues { try transaction.row($0, [])?.integer(0) ?? 0 }
        }
    }

    @Test func `is deleted from every table that says so`() async throws {
        let test = try await service()
        let (account, _, _) = try await person(test)
        let before = try await counts(test)
        let personal = Self.declared.filter { $0.value.member != nil }.map(\.key)
        #expect(Set(personal) == Set(before.keys), "count the rows of every table that says something about people")
        for (table, count) in before { #expect(count > 0, "the person of this test has nothing in \(table)") }
        try await test.service.erasure.erase(account.id, by: operatorActor)
        let after = try await counts(test)
        for (table, treatment) in Self.declared {
            switch treatment {
            case .deleted: #expect(after[table] == 0, "\(table)")
            case .kept: #expect((after[table] ?? 0) >= (before[table] ?? 0), "\(table)")
            case .nothing: break
            }
        }
    }

    @Test func `leaves nothing by which a token would be known: it is stale, not unknown`() async throws {
        let test = try await service()
        let (account, _, _) = try await person(test)
        let token = try await test.service.accounts.issueSession(for: account)
        #expect(!(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\"")))
        try await test.service.erasure.erase(account.id, by: operatorActor)
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\""))
    }

    @Test func `of staff is kept until they are staff no more, so that an owner is left`() async throws {
        let test = try await TestService(.silence)
        let account = try await test.service.desk.create("Olga Owner", by: operatorActor)
        try await test.service.staff.setRole(.owner, of: account, by: operatorActor)
        let path = "/admin/v1/accounts/\(account.id)/erase"
        let local = Peer.local(userID: 0)
        #expect(try await test.send(.post, path, body: ["name": "Olga Owner"], peer: local).status == 409)
        let other = try await test.service.desk.create("Otto Owner", by: operatorActor)
        try await test.service.staff.setRole(.owner, of: other, by: operatorActor)
        try await test.service.staff.setRole(.reader, of: account, by: operatorActor)
        #expect(try await test.send(.post, path, body: ["name": "Olga Owner"], peer: local).status == 200)
    }

    @Test func `once erased, creates no account that can be opened again`() async throws {
        let test = try await service()
        let (account, old, _) = try await person(test)
        try await test.service.erasure.erase(account.id, by: operatorActor)
        let local = Peer.local(userID: 0)
        let listed = try await test.call(.get, "/admin/v1/accounts", peer: local)
        #expect(listed.json["accounts"]?.array?.isEmpty == true)
        let attempts: [(HTTPMethod, String, JSON?)] = [
            (.get, "", nil), (.patch, "", ["suspended": false]), (.patch, "", ["password": "a password of mine"]),
            (.patch, "", ["deviceLimit": 1]), (.post, "/reset-links", nil), (.get, "/devices", nil), (.get, "/sessions", nil),
            (.post, "/app-passwords", ["name": "a", "scopes": ["opds"]]), (.put, "/role", ["role": "admin"]),
            (.post, "/subscriptions", ["plan": "gold"]), (.post, "/purchases", ["product": "issue-7"]),
        ]
        for (method, path, body) in attempts {
            let answer = try await test.send(method, "/admin/v1/accounts/\(account.id)\(path)", body: body, peer: local)
            #expect(answer.status == 404, "\(method) \(path)")
        }
        // What was sold stays to be looked up.
        let kept = try await test.call(.get, "/v1/orders/\(old.id)", peer: local)
        #expect(kept.json["account"]?.string?.hasPrefix("erased-") == true)
        // The current owner of the name is another person.
        let order: JSON = ["account": .string(account.name), "title": .string(test.title.id)]
        #expect(try await test.send(.post, "/v1/orders", body: order, peer: local).status == 201)
        let namesake = try #require(try await test.service.accounts.find(named: account.name))
        #expect(namesake.id != account.id)
        await #expect(throws: (any Error).self) {
            let bookmarks = Bookmarks(database: test.service.database, clock: test.clock)
            _ = try await bookmarks.add(account: account.id, title: test.title.id, positionMS: 0, note: "late")
        }
    }

    @Test func `is handed over in full`() async throws {
        let test = try await service()
        let (account, order, _) = try await person(test)
        let path = "/admin/v1/accounts/\(account.id)/export"
        let answer = try await test.send(.get, path, peer: .local(userID: 0))
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.headers["Content-Disposition"] == "attachment; filename=\"carrel-export.json\"")
        let document = try JSON.parse(answer.body.rawSpan)
        let members = Set(Self.declared.values.compactMap(\.member))
        #expect(Set(document.object?.names ?? []) == members.union(["format", "exportedAt"]))
        for member in members { #expect(document[member]?.array?.isEmpty != true, "\(member)") }
        #expect(document["account"]?["name"]?.string == account.name)
        #expect(document["listening"]?.array?.count == 1203)
        let starts = document["listening"]?.array?.compactMap { $0["startUtc"]?.string } ?? []
        #expect(Set(starts).count == 1203, "no page is missing, none comes twice")
        #expect(document["orders"]?.array?.first?["id"]?.string == order.id)
        #expect(document["orders"]?.array?.first?["number"] == "shop-77")
        #expect(document["orders"]?.array?.first?["isbn"] == .string(TestService.isbn))
        #expect(document["bookmarks"]?.array?.first?["note"]?.string == traces[2])
        let upstream = document["upstream"]?.array?.first
        #expect(upstream?["system"] == "bureau" && upstream?["tokens"]?.array?.count == 1)
        #expect(upstream?["products"]?.array?.first?["product"] == "p1")
        let purposes = document["sessions"]?.array?.compactMap { $0["purpose"]?.string } ?? []
        #expect(Set(purposes) == ["session", "sign-in", "reset"])
        let actions = Set(document["audit"]?.array?.compactMap { $0["action"]?.string } ?? [])
        #expect(actions.isSuperset(of: ["account.create", "session.start", "app-password.create", "account.export"]))
        let text = String(decoding: answer.body, as: UTF8.self)
        for trace in traces { #expect(text.contains(trace)) }
        #expect(!text.contains("argon2"), "no hash of the password")
    }

    @Test func `of another person is neither exported nor deleted`() async throws {
        let test = try await service()
        let (account, _, _) = try await person(test)
        let bob = try await test.service.desk.create("Bob Else", by: operatorActor)
        var request = Orders.Request(account: bob.name, titleID: test.title.id)
        request.number = "shop-78"
        let order = try await test.order(request)
        let token = try await test.service.accounts.issueSession(for: bob)
        let headers: HTTPFields = ["Authorization": "Bearer \(token)"]
        _ = try await test.send(.post, "/v1/shelf/\(order.id)/bookmarks", headers: headers, body: ["seconds": 1])
        let answer = try await test.send(.get, "/admin/v1/accounts/\(account.id)/export", peer: .local(userID: 0))
        let text = String(decoding: answer.body, as: UTF8.self)
        for other in [bob.id, bob.name, order.id, "shop-78"] { #expect(!text.contains(other)) }
        try await test.service.erasure.erase(account.id, by: operatorActor)
        let left = try await test.call(.get, "/v1/account/export", headers: headers)
        #expect(left.json["bookmarks"]?.array?.count == 1)
        #expect(left.json["account"]?["name"] == "Bob Else")
        #expect(try await test.service.orders.find(order.id).state == .ready)
    }

    @Test func `is nowhere in the database once the person is forgotten, and the audit log is as it was sealed`() async throws {
        let test = try await service()
        let (account, order, sessions) = try await person(test)
        try await test.service.audit.seal()
        let path = "/admin/v1/accounts/\(account.id)/erase"
        let local = Peer.local(userID: 0)
        #expect(try await test.send(.post, path, body: ["name": "somebody else"], peer: local).status == 400)
        #expect(try await test.send(.post, path, body: ["name": .string(account.name)]).status == 401)
        let answer = try await test.call(.post, path, body: ["name": .string(account.name)], peer: local)
        #expect(answer.status == 200)
        #expect(answer.json["kept"]?.array?.count == 7)
        #expect(try await test.send(.post, path, body: ["name": .string(account.name)], peer: local).status == 404)

        let bearer: HTTPFields = ["Authorization": "Bearer \(sessions[0])"]
        #expect(try await test.send(.get, "/v1/account", headers: bearer).status == 401)
        let again = try await test.ask("sign_in", ["username": account.name, "password": "correct horse battery"])
        #expect(again.xml.contains("notrecognised"))
        #expect(try await test.service.orders.find(order.id).state == .revoked)
        #expect(try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8").status != 200)
        let entitlement = try await test.service.subscriptions.entitlement(of: account)
        #expect(entitlement.subscriptions.count == 1)
        #expect(entitlement.subscriptions.allSatisfy { $0.endsAt.map { $0 <= test.clock.now } ?? false })
        #expect(try await test.service.accounts.find(named: account.name) == nil)
        let export = try await test.send(.get, "/admin/v1/accounts/\(account.id)/export", peer: local)
        #expect(export.status == 404)

        // An app that was offline meanwhile reports nothing more about the person.
        let start = test.clock.now + .seconds(-60)
        let late: JSON = [
            [
                "id": .string(order.id), "startUtc": .string(start.description), "endUtc": .string(test.clock.now.description),
                "startPosition": 1, "endPosition": 60, "deviceName": .string(traces[1]),
            ]
        ]
        #expect(try await test.call(.post, "/v2/states/", body: late).json["rejected"]?.array?.first?["code"] == "unknown-order")

        try await test.service.audit.seal()
        guard case .intact(let count) = try await test.service.audit.verify() else {
            Issue.record("the audit log is broken")
            return
        }
        #expect(count > 5)
        var filter = AuditFilter()
        filter.action = "account.erase"
        #expect(try await test.service.audit.list(filter).map(\.subject) == [account.id])
        let dump = try await dump(test)
        #expect(dump.contains("shop-77"), "the search would find what is there")
        for trace in traces { #expect(!dump.contains(trace), "\(trace)") }
    }

    @Test func `of an account known only to an upstream system is exported and erased by name`() async throws {
        let test = try await service()
        _ = try await test.ask("sign_in", ["username": "Zebedee Quux", "password": "right"])
        _ = try await test.ask("verify_subscription", ["token": "T-Zebedee Quux"])
        let path = "/admin/v1/upstream-readers?name=zebedee%20QUUX"
        #expect(try await test.send(.get, path).status == 401)
        let local = Peer.local(userID: 0)
        let found = try await test.call(.get, path, peer: local).json["upstream"]?.array ?? []
        #expect(found.count == 1)
        #expect(found.first?["answer"]?.string?.contains(traces[7]) == true)
        #expect(try await test.call(.delete, "/admin/v1/upstream-readers?name=reader", peer: local).json["forgotten"] == 0)
        #expect(try await test.call(.delete, path, peer: local).json["forgotten"] == 1)
        #expect(try await test.call(.get, path, peer: local).json["upstream"]?.array?.isEmpty == true)
        let dump = try await dump(test)
        #expect(!dump.contains(traces[7]) && !dump.contains("Quux"))
    }

    @Test func `leaves the files of the home with the erasure`() async throws {
        guard Engine.current == .sqlite else { return }  // its files are elsewhere
        let test = try await service()
        let (account, _, _) = try await person(test)
        for number in 0..<400 { _ = try await test.service.desk.create("neighbour \(number)", by: operatorActor) }
        let held = try await files(test)
        for trace in traces.dropLast() { #expect(held.contains(trace), "the search would find \(trace)") }
        try await test.service.erasure.erase(account.id, by: operatorActor)
        let left = try await files(test)
        #expect(left.contains("shop-77"), "the search would find what is there")
        for trace in traces { #expect(!left.contains(trace), "\(trace)") }
        let log = try await checkProcess(["stat", "-c", "%s", test.service.home.databasePath + "-wal"])
        #expect(log == "0\n")
    }

    @Test func `leaves the files of the home a little later where a reader holds an older snapshot`() async throws {
        guard Engine.current == .sqlite else { return }
        let test = try await service()
        let (account, _, _) = try await person(test)
        let (isReading, isDone) = (Locked(false), Locked(false))
        let other = try await test.another()
        let reading = Task {
            try await other.database.read { transaction in
                _ = try transaction.row(SQL("SELECT count(*) FROM accounts"), [])
                isReading.withLock { $0 = true }
                while !isDone.withLock({ $0 }) { usleep(1000) }
            }
        }
        while !isReading.withLock({ $0 }) { await Task.yield() }
        try await test.service.erasure.erase(account.id, by: operatorActor)
        try await test.service.housekeeping.run()
        #expect(try await files(test).contains(traces[4]), "the reader's snapshot is in the log")
        isDone.withLock { $0 = true }
        try await reading.value
        try await test.service.housekeeping.run()
        let left = try await files(test)
        for trace in traces { #expect(!left.contains(trace), "\(trace)") }
        await other.database.close()
    }

    /// Every file of the home while the server runs, as text.
    private func files(_ test: TestService) async throws -> String {
        String(
            decoding: try await runProcess(["sh", "-c", "find \"$0\" -type f | xargs -d '\\n' cat", test.directory.path]).output,
            as: UTF8.self
        )
    }

    /// The whole database as text: what a thief of the file, or of a dump, could read.
    private func dump(_ test: TestService) async throws -> String {
        switch Engine.current {
        case .sqlite:
            await test.service.database.close()
            let bytes = try await runProcess(["cat", test.service.home.databasePath])
            return String(decoding: bytes.output, as: UTF8.self)
        case .postgres:
            _ = try requirePeer("pg_dump")
            let address = try #require(test.address)
            return try await checkProcess(["pg_dump", "--dbname", address, "--data-only"])
        }
    }
}
