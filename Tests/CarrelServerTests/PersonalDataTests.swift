import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelSubscription
import CarrelTesting
import Testing

/// What is known about a person: handed over in full, and forgotten.
@Suite(.onBothDatabases)
struct `Personal data` {
    private let operatorActor = Actor("operator")
    /// What a search of the whole database finds nowhere once the person is forgotten.
    private let traces = ["Zebedee Quux", "Zebedee's telephone", "a note of Zebedee's", "Zebedee's e-reader", "zebedee-player-7"]

    /// A person with something in every table that can hold something about them.
    private func person(_ test: TestService) async throws -> (account: Account, order: Order, sessions: [String]) {
        let account = try await test.service.desk.create(
            traces[0],
            password: "correct horse battery",
            deviceLimit: 3,
            by: operatorActor
        )
        var request = Orders.Request(account: account.name, titleID: test.title.id)
        request.number = "shop-77"
        let order = try await test.order(request)
        let (service, now) = (test.service, test.clock.now)
        try await service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: operatorActor)
        _ = try await service.subscriptions.grant(plan: "gold", to: account, by: operatorActor)
        _ = try await service.subscriptions.give("issue-7", to: account, as: .gift, by: operatorActor)
        let signIn = try await test.ask(
            "sign_in",
            ["username": account.name, "password": "correct horse battery", "uuid": "phone", "device_name": traces[1]]
        )
        #expect(signIn.xml.hasPrefix("<token>"))
        _ = try await service.appPasswords.create(for: account, name: traces[3], scopes: [.sync], by: operatorActor)
        let browser = try await service.accounts.issueSession(for: account)
        _ = try await service.accounts.makeSignInLink(for: account)
        _ = try await service.desk.makeResetLink(for: account.id, by: operatorActor)
        let bearer: HTTPFields = ["Authorization": "Bearer \(browser)"]
        let bookmark: JSON = ["seconds": 12.5, "note": .string(traces[2])]
        #expect(
            try await test.send(.post, "/v1/shelf/\(order.id)/bookmarks", headers: bearer, body: bookmark).status == 201
        )
        let intervals = (0..<1203).map { index -> JSON in
            let start = now + .seconds(-7200 + index)
            return [
                "id": .string(order.id), "startUtc": .string(start.description), "endUtc": .string((start + .seconds(1)).description),
                "startPosition": .integer(index % 500), "endPosition": .integer(index % 500 + 1), "deviceId": .string(traces[4]),
                "deviceName": .string(traces[1]),
            ]
        }
        let report = try await test.call(.post, "/v2/states/", body: .array(intervals))
        #expect(report.json["accepted"] == 1203)
        let device = try #require(try await service.devices.list(of: account).first)
        _ = try await test.ask("sign_in", ["username": account.name, "password": "wrong horse battery"])
        _ = device
        return (account, order, [browser])
    }

    @Test func `is declared for every table of the schema, and for no other`() async throws {
        let test = try await TestService()
        let names = try await test.service.database.read { transaction -> Set<String> in
            let rows =
                switch Engine.current {
                case .sqlite:
                    try transaction.rows(SQL("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"))
                case .postgres:
                    try transaction.rows(
                        SQL("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
                    )
                }
            return Set(try rows.map { try $0.text(0) })
        }
        let declared = Set(PersonalData.tables.keys)
        #expect(names.subtracting(declared).isEmpty, "say in PersonalData what these tables hold about people")
        #expect(declared.subtracting(names).isEmpty, "PersonalData knows tables that are not there")
    }

    @Test func `is handed over in full`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let (account, order, _) = try await person(test)
        let path = "/admin/v1/accounts/\(account.id)/export"
        let answer = try await test.send(.get, path, peer: .local(userID: 0))
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.headers["Content-Disposition"] == "attachment; filename=\"carrel-export.json\"")
        let document = try JSON.parse(answer.body.rawSpan)
        let members = Set(PersonalData.tables.values.compactMap(\.member))
        #expect(Set(document.object?.names ?? []) == members.union(["format", "exportedAt"]))
        for member in members { #expect(document[member]?.array?.isEmpty != true, "\(member)") }
        #expect(document["account"]?["name"]?.string == account.name)
        #expect(document["listening"]?.array?.count == 1203)
        let starts = document["listening"]?.array?.compactMap { $0["startUtc"]?.string } ?? []
        #expect(Set(starts).count == 1203, "no page is missing, none comes twice")
        #expect(document["orders"]?.array?.first?["id"]?.string == order.id)
        #expect(document["orders"]?.array?.first?["number"] == "shop-77")
        #expect(document["bookmarks"]?.array?.first?["note"]?.string == traces[2])
        let purposes = document["sessions"]?.array?.compactMap { $0["purpose"]?.string } ?? []
        #expect(Set(purposes) == ["session", "sign-in", "reset"])
        let actions = Set(document["audit"]?.array?.compactMap { $0["action"]?.string } ?? [])
        #expect(actions.isSuperset(of: ["account.create", "session.start", "app-password.create", "account.export"]))
        let text = String(decoding: answer.body, as: UTF8.self)
        for trace in traces { #expect(text.contains(trace)) }
        #expect(!text.contains("argon2"), "no hash of the password")
    }

    @Test func `of somebody else is not in the export, nor deleted`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
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
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let (account, order, sessions) = try await person(test)
        try await test.service.audit.seal()
        let path = "/admin/v1/accounts/\(account.id)/erase"
        let local = Peer.local(userID: 0)
        #expect(try await test.send(.post, path, body: ["name": "somebody else"], peer: local).status == 400)
        #expect(try await test.send(.post, path, body: ["name": .string(account.name)]).status == 401)
        let answer = try await test.call(.post, path, body: ["name": .string(account.name)], peer: local)
        #expect(answer.status == 200)
        #expect(answer.json["kept"]?.array?.count == 5)
        #expect(try await test.send(.post, path, body: ["name": .string(account.name)], peer: local).status == 404)

        let bearer: HTTPFields = ["Authorization": "Bearer \(sessions[0])"]
        #expect(try await test.send(.get, "/v1/account", headers: bearer).status == 401)
        let again = try await test.ask("sign_in", ["username": account.name, "password": "correct horse battery"])
        #expect(again.xml.contains("notrecognised"))
        #expect(try await test.service.orders.find(order.id).state == .revoked)
        #expect(try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8").status != 200)
        let entitlement = try await test.service.subscriptions.entitlement(of: account)
        #expect(entitlement.subscriptions.count == 1 && entitlement.subscriptions.allSatisfy { $0.hasEnded(at: test.clock.now) })
        #expect(try await test.service.accounts.find(named: account.name) == nil)
        let export = try await test.send(.get, "/admin/v1/accounts/\(account.id)/export", peer: local)
        #expect(export.status == 404)

        // An app that was off line meanwhile tells nothing about the person any more.
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
        var filter = Audit.Filter()
        filter.action = "account.erase"
        #expect(try await test.service.audit.list(filter).map(\.subject) == [account.id])
        let dump = try await dump(test)
        #expect(dump.contains("shop-77"), "the search would find what is there")
        for trace in traces { #expect(!dump.contains(trace), "\(trace)") }
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
