// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelListening
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

@Suite(.onBothDatabases)
struct `An app password` {
    private let operatorActor = AuditActor("operator")

    /// A service whose orders are known to their owner alone, with a title of alice's.
    private func service() async throws -> (TestService, Account, Order) {
        let test = try await TestService(.silence) { $0.stream.access = .session }
        let account = try await test.service.desk.create("alice", by: operatorActor)
        return (test, account, try await test.order())
    }

    private func make(_ test: TestService, _ account: Account, _ scopes: Set<AppPassword.Scope>) async throws -> String {
        try await test.service.appPasswords.create(for: account, name: "reader", scopes: scopes, by: operatorActor).text
    }

    private func latest(_ test: TestService, _ order: Order, _ name: String, _ password: String) async throws -> Int {
        try await test.send(.get, "/v2/states/latest/\(order.id)", headers: ["Authorization": basic(name, password)]).status
    }

    private func report(_ order: Order, at now: Instant) -> JSON {
        [
            [
                "id": .string(order.id), "startUtc": .string((now + .seconds(-60)).description),
                "endUtc": .string(now.description),
                "startPosition": 0, "endPosition": 60,
            ]
        ]
    }

    @Test func `reads and writes positions with the scope for them, and only its own account's`() async throws {
        let (test, account, order) = try await service()
        let password = try await make(test, account, [.sync])
        let headers: HTTPFields = ["Authorization": basic("alice", password)]
        let report = report(order, at: test.clock.now)
        let told = try await test.call(.post, "/v2/states/", headers: headers, body: report)
        #expect(told.json["accepted"] == 1)
        #expect(try await latest(test, order, "alice", password) == 200)
        let bob = try await test.service.desk.create("bob", by: operatorActor)
        let other = try await make(test, bob, [.sync])
        #expect(try await latest(test, order, "bob", other) == 404)
        #expect(try await latest(test, order, "alice", other) == 401, "a password goes with its own account's name")
        let stranger = try await test.call(
            .post,
            "/v2/states/",
            headers: ["Authorization": basic("alice", other)],
            body: report
        )
        #expect(stranger.status == 401)
    }

    @Test func `opens nothing but its scope`() async throws {
        let (test, account, order) = try await service()
        let password = try await make(test, account, [.opds])
        #expect(try await latest(test, order, "alice", password) == 401)
        let sync = try await make(test, account, [.sync])
        let headers: HTTPFields = ["Authorization": basic("alice", sync)]
        for path in ["/v1/shelf", "/v1/shelf/\(order.id)"] {
            let answer = try await test.send(.get, path, headers: headers)
            #expect(answer.status == 401)
            #expect(answer.headers["WWW-Authenticate"] == "Basic realm=\"Carrel\", charset=\"UTF-8\"")
        }
        #expect(try await test.send(.get, "/v1/shelf").headers["WWW-Authenticate"] == "Bearer", "a browser must not ask")
    }

    @Test func `may be typed with spaces, hyphens and capitals, and is nothing when a character differs`() async throws {
        let (test, account, order) = try await service()
        let password = try await make(test, account, [.sync])
        #expect(password.count == 29)
        _ = try await test.service.listening.record([])
        let forms = [password, password.uppercased(), password.replacing("-", with: ""), password.replacing("-", with: " ")]
        for form in forms { #expect(try await self.account(test, order, form) == "alice") }
        let first = password.first == "a" ? "b" : "a"
        for wrong in ["\(first)\(password.dropFirst())", String(password.dropLast()), password + "a", "", "correct horse"] {
            #expect(try await self.account(test, order, wrong) == nil)
        }
    }

    /// Whom a password signs in as, seen from a report of alice's order.
    private func account(_ test: TestService, _ order: Order, _ password: String) async throws -> String? {
        let headers: HTTPFields = ["Authorization": basic("alice", password)]
        let answer = try await test.call(.post, "/v2/states/", headers: headers, body: .array([]))
        return answer.status == 200 ? "alice" : nil
    }

    @Test func `stops immediately when it is revoked, when it ends, and while its account is suspended`() async throws {
        let (test, account, order) = try await service()
        let passwords = test.service.appPasswords
        let (made, text) = try await passwords.create(for: account, name: "a", scopes: [.sync], by: operatorActor)
        let end = test.clock.now + .seconds(60)
        let (_, ending) = try await passwords.create(
            for: account,
            name: "b",
            scopes: [.sync],
            expiresAt: end,
            by: operatorActor
        )
        #expect(try await self.account(test, order, ending) != nil)
        test.clock.advance(by: .seconds(60))
        #expect(try await self.account(test, order, ending) == nil)
        try await test.service.desk.setSuspended(true, account.id, by: operatorActor)
        #expect(try await self.account(test, order, text) == nil)
        try await test.service.desk.setSuspended(false, account.id, by: operatorActor)
        #expect(try await self.account(test, order, text) != nil)
        try await passwords.revoke(made.id, of: account, by: operatorActor)
        #expect(try await self.account(test, order, text) == nil)
        var filter = AuditFilter()
        filter.about = account.id
        let actions = try await test.service.audit.list(filter).map(\.action)
        #expect(
            actions.filter { $0.hasPrefix("app-password") }.sorted() == [
                "app-password.create", "app-password.create", "app-password.revoke",
            ]
        )
    }

    @Test func `ends when the account gets a new password from staff, and other accounts' do not`() async throws {
        let (test, account, order) = try await service()
        let text = try await make(test, account, [.sync])
        let bob = try await test.service.desk.create("bob", by: operatorActor)
        _ = try await make(test, bob, [.sync])
        #expect(try await self.account(test, order, text) == "alice")
        let body: JSON = ["password": "another horse battery"]
        let answer = try await test.call(.patch, "/admin/v1/accounts/\(account.id)", body: body, peer: .local(userID: 0))
        #expect(answer.status == 200 || answer.status == 204)
        #expect(try await self.account(test, order, text) == nil)
        #expect(try await test.service.appPasswords.list(of: account).isEmpty)
        #expect(try await test.service.appPasswords.list(of: bob).count == 1)
    }

    @Test func `notes the day of its last use`() async throws {
        let (test, account, order) = try await service()
        let text = try await make(test, account, [.sync])
        func seen() async throws -> Instant? { try await test.service.appPasswords.list(of: account).first?.seenAt }
        #expect(try await seen() == nil)
        let first = test.clock.now
        #expect(try await self.account(test, order, text) != nil)
        #expect(try await seen() == first)
        test.clock.advance(by: .seconds(24 * 3600 - 1))
        _ = try await self.account(test, order, text)
        #expect(try await seen() == first)
        test.clock.advance(by: .seconds(1))
        _ = try await self.account(test, order, text)
        #expect(try await seen() == test.clock.now)
    }

    @Test func `has a name that fits into a list, an end in the future, and at most 49 others`() async throws {
        let (test, account, _) = try await service()
        let (passwords, now) = (test.service.appPasswords, test.clock.now)
        func make(_ name: String, until end: Instant? = nil) async throws -> AppPassword {
            try await passwords.create(for: account, name: name, scopes: [.sync], expiresAt: end, by: operatorActor).password
        }
        let long = String(repeating: "x", count: 100)
        for name in ["", long + "x", String(repeating: "é", count: 51), "a\u{0}b", "a\u{1f}b", "a\nb", "a\u{7f}b", "\u{7f}"] {
            await #expect(throws: ServerError(.invalid, "")) { _ = try await make(name) }
        }
        for end in [now, now + .milliseconds(-1)] {
            await #expect(throws: ServerError(.invalid, "")) { _ = try await make("late", until: end) }
        }
        #expect(try await make("soon", until: now + .milliseconds(1)).expiresAt == now + .milliseconds(1))
        var last = ""
        for name in [long, String(repeating: "é", count: 50), " ", "a b", "a\u{80}b"] + (6..<50).map({ "number \($0)" }) {
            last = try await make(name).id
        }
        #expect(try await passwords.list(of: account).count == 50)
        await #expect(throws: ServerError(.conflict, "")) { _ = try await make("one more") }
        try await passwords.revoke(last, of: account, by: operatorActor)
        _ = try await make("one more")
    }

    @Test func `is made, listed and revoked by a back office, and shown once`() async throws {
        let (test, account, order) = try await service()
        let path = "/admin/v1/accounts/\(account.id)/app-passwords"
        let local = Peer.local(userID: 0)
        let made = try await test.call(.post, path, body: ["name": "e-reader", "scopes": ["sync"]], peer: local)
        #expect(made.status == 201)
        let text = try #require(made.json["password"]?.string)
        #expect(try await self.account(test, order, text) != nil)
        let listed = try await test.send(.get, path, peer: local)
        #expect(!String(decoding: listed.body, as: UTF8.self).contains(text))
        let id = try #require(made.json["id"]?.string)
        #expect(try await test.send(.delete, "\(path)/\(id)", peer: local).status == 204)
        #expect(try await test.send(.delete, "\(path)/\(id)", peer: local).status == 404)
        #expect(try await self.account(test, order, text) == nil)
        for body: JSON in [
            ["name": "x"], ["name": "x", "scopes": []], ["name": "x", "scopes": ["sync", "all"]],
            ["name": "", "scopes": ["sync"]],
            ["name": "x", "scopes": ["sync"], "expiresAt": "2001-01-01T00:00:00Z"],
        ] {
            #expect(try await test.send(.post, path, body: body, peer: local).status == 400)
        }
        #expect(try await test.send(.post, path, body: ["name": "x", "scopes": ["sync"]]).status == 401)
    }
}
