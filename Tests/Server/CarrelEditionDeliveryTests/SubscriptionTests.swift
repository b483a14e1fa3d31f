// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Testing

@Suite(.onBothDatabases)
struct `A subscriber` {
    private let password = "correct horse battery"
    private let day = Duration.seconds(24 * 3600)
    private let operatorActor = AuditActor("operator")
    private let notRecognised = "<error status=\"notrecognised\" message=\"Credentials not recognised\"/>"

    private func service(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> TestService {
        try await TestService(.silence) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            configure(&$0)
        }
    }

    /// An account with the plan of everything, signed in.
    private func subscriber(_ test: TestService, end: Instant? = nil) async throws -> (account: Account, token: String) {
        let account = try await test.service.desk.create("alice", password: password, by: operatorActor)
        try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: operatorActor)
        _ = try await test.service.subscriptions.grant(plan: "gold", to: account, end: end, by: operatorActor)
        return (account, try await signIn(test))
    }

    private func signIn(_ test: TestService, device: String = "phone") async throws -> String {
        let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": device])
        #expect(reply.xml.hasPrefix("<token>cs_"), "\(reply.xml)")
        return reply.token
    }

    @Test func `is told the same whether the name or the password is wrong`() async throws {
        let test = try await service()
        _ = try await subscriber(test)
        _ = try await test.service.desk.create("linked", by: operatorActor)
        for (name, password) in [("alice", "wrong horse"), ("nobody", password), ("linked", password), ("alice", "")] {
            let reply = try await test.ask("sign_in", ["username": name, "password": password])
            #expect(reply.status == 200)
            #expect(reply.xml == notRecognised)
        }
        #expect(try await test.ask("sign_in", ["password": password]).status == 400)
    }

    @Test func `is active while the plan runs, and lapsed from its end on`() async throws {
        let test = try await service()
        let end = test.clock.now + day
        let (_, token) = try await subscriber(test, end: end)
        try await test.add(product: "issue-1")
        let active = try await test.ask("verify_subscription", ["token": token])
        #expect(active.xml.hasPrefix("<subscription state=\"active\" message=\"Your subscription: gold\">"))
        #expect(!active.xml.contains("issues"))
        let granted = try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        #expect(granted.xml.contains("<userid>"))
        test.clock.advance(by: day)
        let lapsed = try await test.ask("verify_subscription", ["token": token])
        #expect(lapsed.xml.hasPrefix("<subscription state=\"inactive\" message=\"Your subscription has expired\">"))
        let refused = try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        #expect(refused.xml.contains("status=\"expired\""))
        let unknown = try await test.ask("edition_credentials", ["token": token, "product_id": "issue-2"])
        #expect(unknown.xml.contains("status=\"notentitled\""))
    }

    @Test func `by issue sees a list, an empty one too`() async throws {
        let test = try await service()
        let account = try await test.service.desk.create("alice", password: password, by: operatorActor)
        try await test.service.subscriptions.createPlan(Plan(name: "print", scope: .issues), by: operatorActor)
        _ = try await test.service.subscriptions.grant(plan: "print", to: account, by: operatorActor)
        try await test.add(product: "old", issuedAt: test.clock.now + .seconds(-1))
        let token = try await signIn(test)
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("<issues/>"))
        try await test.add(product: "a<b&c", issuedAt: test.clock.now + .seconds(60))
        test.clock.advance(by: .seconds(2))
        let reply = try await test.ask("verify_subscription", ["token": token])
        #expect(reply.xml.contains("<issues><issue>a&lt;b&amp;c</issue></issues>"))
    }

    @Test func `gets credentials that open this product, for a day`() async throws {
        let test = try await service()
        let (_, token) = try await subscriber(test)
        try await test.add(product: "issue-1")
        let reply = try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        let pair = try #require(reply.pair)
        #expect(await test.opening(pair, "issue-1") == .opens)
        #expect(await test.opening(pair, "issue-2") == .invalid)
        test.clock.advance(by: day + .seconds(-1))
        #expect(await test.opening(pair, "issue-1") == .opens)
        test.clock.advance(by: .seconds(1))
        #expect(await test.opening(pair, "issue-1") == .expired)
    }

    @Test func `who is suspended is told so, and gets nothing`() async throws {
        let test = try await service()
        let (account, token) = try await subscriber(test)
        try await test.add(product: "issue-1")
        try await test.service.desk.setSuspended(true, account.id, by: operatorActor)
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"suspended\""))
        let refused = try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        #expect(refused.xml.contains("status=\"suspended\""))
        try await test.service.desk.setSuspended(false, account.id, by: operatorActor)
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"active\""))
    }

    @Test func `renews a token, and gets the same successor when the answer was lost`() async throws {
        let test = try await service()
        let (_, token) = try await subscriber(test)
        let first = try await test.ask("renew_token", ["token": token])
        test.clock.advance(by: .seconds(599))
        #expect(try await test.ask("renew_token", ["token": token]).xml == first.xml)
        let successor = first.token
        #expect(successor != token)
        #expect(try await test.ask("verify_subscription", ["token": successor]).xml.contains("state=\"active\""))
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\""))
    }

    @Test func `who renews twice at the same moment has one session, and stays signed in`() async throws {
        let test = try await service()
        let (account, first) = try await subscriber(test)
        let another = try await test.another()
        var token = first
        for round in 1...60 {
            let (old, second) = (token, round.isMultiple(of: 2) ? another : nil)
            async let one = test.ask("renew_token", ["token": old])
            async let other = test.ask("renew_token", ["token": old], at: second)
            let renewed = [try await one.token, try await other.token]
            #expect(renewed[0] == renewed[1] && renewed[0] != old, "round \(round)")
            token = renewed[0]
            #expect(try await test.service.accounts.sessions.list(of: account).count == 1, "round \(round)")
            #expect(!(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\"")))
            #expect(try await test.ask("renew_token", ["token": old]).token == token, "whose answer was lost asks again")
        }
        let families = try await test.service.database.read { transaction in
            try transaction.rows(SQL("SELECT DISTINCT family FROM sessions WHERE account_id = $1"), [.text(account.id)])
                .map { try $0.text(0) }
        }
        #expect(families.count == 1)
        var filter = AuditFilter()
        filter.action = "session.renew"
        filter.limit = 1000
        let entries = try await test.service.audit.list(filter)
        #expect(entries.count == 180 && entries.allSatisfy { $0.outcome == .allowed }, "none was taken for a theft")
    }

    @Test func `whose old token comes up again long after loses the whole family`() async throws {
        let test = try await service()
        let (account, token) = try await subscriber(test)
        let renewed = try await test.ask("renew_token", ["token": token])
        let successor = renewed.token
        test.clock.advance(by: .seconds(600))
        #expect(try await test.ask("renew_token", ["token": token]).xml == notRecognised)
        #expect(try await test.ask("verify_subscription", ["token": successor]).xml.contains("state=\"stale\""))
        #expect(try await test.service.accounts.sessions.list(of: account).isEmpty)
        var filter = AuditFilter()
        filter.action = "session.renew"
        #expect(try await test.service.audit.list(filter).first?.reason == "reused")
    }

    @Test(arguments: ["verify_subscription", "edition_credentials", "shelf"])
    func `whose old token is used again long after loses the whole family`(call: String) async throws {
        let test = try await service()
        let (account, token) = try await subscriber(test)
        let renewed = try await test.ask("renew_token", ["token": token])
        let successor = renewed.token
        func use(_ token: String) async throws {
            if call == "shelf" {
                _ = try await test.send(.get, "/v1/shelf", headers: ["Authorization": "Bearer \(token)"])
            } else {
                _ = try await test.ask(call, ["token": token, "product_id": "x"])
            }
        }
        test.clock.advance(by: .seconds(599))
        try await use(token)
        #expect(try await test.service.accounts.sessions.list(of: account).count == 1)
        test.clock.advance(by: .seconds(1))
        for _ in 1...2 { try await use(token) }
        #expect(try await test.ask("verify_subscription", ["token": successor]).xml.contains("state=\"stale\""))
        #expect(try await test.service.accounts.sessions.list(of: account).isEmpty)
        var filter = AuditFilter()
        filter.action = "session.use"
        #expect(try await test.service.audit.list(filter).map(\.reason) == ["reused"])
    }

    @Test func `signs out, and the token is worth nothing`() async throws {
        let test = try await service()
        let (account, token) = try await subscriber(test)
        #expect(try await test.ask("sign_out", ["token": token]).status == 200)
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\""))
        #expect(try await test.ask("renew_token", ["token": token]).xml == notRecognised)
        #expect(try await test.service.devices.list(of: account).map(\.freedAt) == [test.clock.now])
    }

    @Test func `limits the number of devices, and reports the limit`() async throws {
        let test = try await service { $0.subscription.devices.limit = 2 }
        let (account, first) = try await subscriber(test)
        test.clock.advance(by: .seconds(1))  // devices are listed by when they came
        _ = try await signIn(test, device: "tablet")
        _ = try await signIn(test, device: "tablet")
        let third = ["username": "alice", "password": password, "uuid": "car"]
        #expect(try await test.ask("sign_in", third).xml.contains("status=\"devicelimit\""))
        let wrong = ["username": "alice", "password": "wrong horse", "uuid": "car"]
        #expect(try await test.ask("sign_in", wrong).xml == notRecognised, "only who knows the password learns of the limit")
        _ = try await test.ask("sign_out", ["token": first])
        _ = try await signIn(test, device: "car")
        let tablet = try #require(try await test.service.devices.list(of: account).dropFirst().first)
        try await test.service.devices.revoke(tablet.id, of: account, isOwner: true, by: AuditActor(account.id))
        #expect(
            try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "fourth"]).xml
                .contains("status=\"devicelimit\""),
            "two slots have changed hands within a day"
        )
        test.clock.advance(by: day)
        _ = try await signIn(test, device: "fourth")
    }

    @Test func `is slowed down after five wrong passwords, from this network only`() async throws {
        let test = try await service()
        _ = try await subscriber(test)
        for number in 1...5 {
            let reply = try await test.ask("sign_in", ["username": "alice", "password": "wrong \(number)"])
            #expect(reply.xml == notRecognised)
        }
        let right = ["username": "alice", "password": password]
        #expect(try await test.ask("sign_in", right).xml.contains("status=\"throttled\""))
        test.clock.advance(by: .seconds(1))
        _ = try await signIn(test)
        #expect(try await test.ask("sign_in", ["username": "alice", "password": "wrong"]).xml == notRecognised)
    }

    @Test func `who repeats the same wrong password is not slowed down`() async throws {
        let test = try await service()
        _ = try await subscriber(test)
        for _ in 1...20 {
            let reply = try await test.ask("sign_in", ["username": "alice", "password": "the old one"])
            #expect(reply.xml == notRecognised)
        }
        _ = try await signIn(test)
    }

    @Test(arguments: ["", "x", "cs_", "cs_AAAA", String(repeating: "a", count: 4096), "a\nb&c<d>é"])
    func `with a token that never was is asked to sign in`(token: String) async throws {
        let test = try await service()
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\""))
        #expect(try await test.ask("renew_token", ["token": token]).xml == notRecognised)
        let refused = try await test.ask("edition_credentials", ["token": token, "product_id": "x"])
        #expect(refused.xml.contains("status=\"notrecognised\""))
    }

    @Test func `leaves a record that shows tampering`() async throws {
        let test = try await service()
        let (account, token) = try await subscriber(test)
        _ = try await test.ask("edition_credentials", ["token": token, "product_id": "a\0b\n<c>"])
        try await test.service.audit.seal()
        let intact = try await test.service.audit.verify()
        guard case .intact(let count) = intact, count >= 5 else { return #expect(Bool(false), "\(intact)") }
        try await test.service.database.write {
            try $0.run(SQL("UPDATE audit SET reason = 'x' WHERE action = $1"), [.text("subscription.create")])
        }
        guard case .broken = try await test.service.audit.verify() else { return #expect(Bool(false), "a change was not seen") }
        _ = account
    }

    @Test func `is counted by the reason when refused, and recorded under the account`() async throws {
        let test = try await service { $0.subscription.devices.limit = 1 }
        let (account, token) = try await subscriber(test)
        let tablet = ["username": "alice", "password": password, "uuid": "tablet"]
        #expect(try await test.ask("sign_in", tablet).xml.contains("status=\"devicelimit\""))
        for _ in 1...2 { _ = try await test.ask("edition_credentials", ["token": token, "product_id": "none"]) }
        try await test.service.desk.setSuspended(true, account.id, by: operatorActor)
        _ = try await test.ask("edition_credentials", ["token": token, "product_id": "none"])
        let statistics = try await test.call(.get, "/admin/v1/statistics?count=1", peer: .local(userID: 0)).json
        let slot = try #require(statistics["slots"]?.array?.first)
        #expect(slot["signIns"] == 1)
        #expect(slot["refusals"] == ["devicelimit": 1, "notentitled": 2, "suspended": 1])
        var filter = AuditFilter()
        (filter.action, filter.actor) = ("edition.credentials", account.id)
        let reasons = try await test.service.audit.list(filter).map(\.reason)
        #expect(reasons.sorted() == ["notentitled", "suspended"], "the second refusal of a reason is counted with the others")
    }

    @Test func `is explained rule by rule`() async throws {
        let test = try await service()
        let (account, _) = try await subscriber(test)
        try await test.add(product: "issue-1")
        let path = "/admin/v1/accounts/\(account.id)/entitlement?product=issue-1"
        let answer = try await test.call(.get, path, peer: .local(userID: 0))
        #expect(answer.json["verdict"] == "granted")
        #expect(answer.json["findings"]?.array?.first?["reason"] == "it grants everything while it runs")
        #expect(try await test.call(.get, path).status == 401)
    }
}
