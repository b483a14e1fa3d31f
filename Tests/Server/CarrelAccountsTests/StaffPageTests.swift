// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

/// The requests of the administrator's page, apart from permissions.
@Suite(.onBothDatabases)
struct `The administrator's page` {
    private func service(_ hasCannedUsers: Bool = false) async throws -> (TestService, StaffPage) {
        let test = try await TestService(.silence) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.hasCannedUsers = hasCannedUsers
            $0.version = "1.2.3"
        }
        return (test, try await test.staffPage(.owner))
    }

    @Test func `finds accounts by a part of their names`() async throws {
        let (_, page) = try await service()
        for name in ["Alice", "malice", "bob", "100%"] {
            #expect(try await page.call(.post, "/admin/v1/accounts", ["name": .string(name)]).status == 201)
        }
        func find(_ text: String) async throws -> Set<String> {
            let answer = try await page.call(.get, "/admin/v1/accounts?find=\(PercentEncoding.encode(text))").json
            return Set((answer["accounts"]?.array ?? []).compactMap { $0["name"]?.string })
        }
        #expect(try await find("LICE") == ["Alice", "malice"])
        #expect(try await find("%") == ["100%"])
        #expect(try await find("nobody").isEmpty)
    }

    @Test func `searches the audit log, page by page, with names`() async throws {
        let (test, page) = try await service()
        for number in 1...5 {
            test.clock.advance(by: .seconds(1))
            _ = try await page.call(.post, "/admin/v1/accounts", ["name": .string("reader \(number)")])
        }
        var names: [String] = []
        var target: String? = "/admin/v1/audit?action=account.create&limit=2&actor=\(page.account?.id ?? "")"
        let first = target ?? ""
        while let next = target {
            let answer = try await page.call(.get, next).json
            for entry in answer["entries"]?.array ?? [] {
                names.append(entry["subjectName"]?.string ?? "")
                #expect(entry["actorName"]?.string == "the owner")
            }
            target = answer["next"]?.string.map { "\(first)&after=\($0)" }
        }
        #expect(names == (1...5).reversed().map { "reader \($0)" })
        func count(_ query: String) async throws -> Int {
            try await page.call(.get, "/admin/v1/audit?\(query)").json["entries"]?.array?.count ?? -1
        }
        #expect(try await count("account=reader%203") == 1)
        #expect(try await count("account=nobody") == 0)
        #expect(try await count("action=account.create&outcome=refused") == 0)
        let middle = PercentEncoding.encode(test.clock.now.description)
        #expect(try await count("action=account.create&since=\(middle)") == 1)
        #expect(try await count("action=account.create&actor=\(page.account?.id ?? "")&until=\(middle)") == 4)
        #expect(try await page.call(.get, "/admin/v1/audit?outcome=maybe").status == 400)
    }

    @Test func `lists all sessions and ends them`() async throws {
        let (test, page) = try await service()
        let reader = try await test.service.accounts.findOrCreate(named: "reader")
        test.clock.advance(by: .seconds(1))
        let token = try await test.service.accounts.issueSession(for: reader)
        let sessions = try await page.call(.get, "/admin/v1/sessions").json["sessions"]?.array ?? []
        #expect(sessions.compactMap { $0["kind"]?.string } == ["browser", "staff"])
        #expect(sessions.compactMap { $0["account"]?["name"]?.string } == ["reader", "the owner"])
        let id = try #require(sessions.first?["id"]?.string)
        #expect(try await page.call(.delete, "/admin/v1/accounts/\(reader.id)/sessions/\(id)").status == 204)
        #expect(try await test.service.accounts.account(ofSession: token) == nil)
        #expect(try await page.call(.delete, "/admin/v1/accounts/\(reader.id)/sessions/\(id)").status == 404)
    }

    @Test func `places and revokes orders, and the log says who`() async throws {
        let (test, page) = try await service()
        let placed = try await page.call(.post, "/admin/v1/orders", ["account": "alice", "title": .string(test.title.id)])
        #expect(placed.status == 201)
        let order = try #require(placed.json["id"]?.string)
        #expect(try await page.call(.post, "/admin/v1/orders/\(order)/revoke").json["state"]?.string == "revoked")
        let entries = try await page.call(.get, "/admin/v1/audit?account=alice").json["entries"]?.array ?? []
        #expect(Set(entries.compactMap { $0["action"]?.string }) == ["order.create", "order.revoked"])
        for entry in entries {
            #expect(entry["actor"]?.string == page.account?.id)
            #expect(!String(decoding: entry.write(), as: UTF8.self).contains(order), "the order's id opens it")
        }
    }

    @Test func `resets the devices of an account`() async throws {
        let (test, page) = try await service()
        let account = try await test.service.desk.create("alice", password: StaffPage.password, by: AuditActor("operator"))
        for device in ["phone", "tablet"] {
            _ = try await test.ask("sign_in", ["username": "alice", "password": StaffPage.password, "uuid": device])
        }
        let path = "/admin/v1/accounts/\(account.id)"
        #expect(try await page.call(.delete, "\(path)/devices").json["revoked"] == 2)
        #expect(try await page.call(.get, "\(path)/sessions").json["sessions"]?.array?.isEmpty == true)
        #expect(try await page.call(.delete, "\(path)/devices").json["revoked"] == 0)
    }

    @Test func `sees how the server is and what happened`() async throws {
        let (test, page) = try await service()
        _ = try await test.ask("sign_in", ["username": "nobody", "password": "wrong"])
        let health = try await page.call(.get, "/admin/v1/health").json
        #expect(health["ready"] == true)
        #expect(health["version"]?.string == "1.2.3")
        #expect(health["database"]?["answers"] == true)
        #expect((health["disk"]?["freeBytes"]?.int ?? 0) > 0)
        #expect((health["queues"]?["auditUnsealed"]?.int ?? 0) > 0)
        try await test.service.audit.seal()
        #expect(try await page.call(.get, "/admin/v1/health").json["queues"]?["auditUnsealed"] == 0)
        let slots = try await page.call(.get, "/admin/v1/statistics?by=hour&count=2").json["slots"]?.array ?? []
        #expect(slots.count == 2)
        #expect(slots.last?["refusals"]?["notrecognised"] == 1)
        #expect(try await page.call(.get, "/admin/v1/statistics?by=year").status == 400)
        test.service.drain()
        #expect(try await page.call(.get, "/admin/v1/health").json["ready"] == false)
    }

    @Test func `finds every canned user as expected, and one that is not`() async throws {
        let (_, page) = try await service(true)
        let users = try await page.call(.get, "/admin/v1/canned-users").json["users"]?.array ?? []
        #expect(users.count == CannedUsers.names.count)
        for user in users.compactMap(\.string) where !user.contains("zzz") {
            let answer = try await page.call(.post, "/admin/v1/canned-users/\(user)/check").json
            #expect(answer["green"] == true, "\(String(decoding: answer.write(), as: UTF8.self))")
            #expect(answer["calls"]?.array?.count == 5)
        }
        let stalled = try await page.call(.post, "/admin/v1/canned-users/200-zzz-200/check").json
        #expect(stalled["green"] == true)
        #expect(stalled["calls"]?.array?[2]["got"]?.string == "no answer")
        #expect(try await page.call(.post, "/admin/v1/canned-users/alice/check").status == 404)
        let (_, plain) = try await service()
        #expect(try await plain.call(.post, "/admin/v1/canned-users/activeall/check").status == 404)
        #expect(try await plain.call(.get, "/admin/v1/canned-users").json["on"] == false)
    }
}
