// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import Testing

@Suite(.onBothDatabases)
struct `A plan of an account` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")
    private let local = Peer.local(userID: 0)
    private let day = Duration.seconds(24 * 3600)

    /// Alice, signed in, and two products, the second of which comes out on the tenth day.
    private struct Shop {
        let test: TestService
        let alice: Account
        let token: String

        func ask(_ product: String) async throws -> SubscriptionReply {
            try await test.ask("edition_credentials", ["token": token, "product_id": product])
        }

        /// The result for a product: `granted`, or the status of the refusal.
        func answer(_ product: String) async throws -> String {
            let reply = try await ask(product)
            if reply.pair != nil { return "granted" }
            let parts = reply.xml.split(separator: "\"")
            return parts.count > 1 ? String(parts[1]) : reply.xml
        }

        func held() async throws -> [Subscription] {
            try await test.service.subscriptions.entitlement(of: alice).subscriptions
        }

        func entries(_ action: String, about: String? = nil, by actor: String? = nil) async throws -> [AuditEntry] {
            var filter = AuditFilter()
            (filter.about, filter.actor) = (about, actor)
            return try await test.service.audit.list(filter).filter { $0.action == action }
        }
    }

    private func shop(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> Shop {
        let test = try await TestService(with: .editionDelivery) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            configure(&$0)
        }
        try await test.add(product: "first", issuedAt: test.clock.now)
        try await test.add(product: "later", issuedAt: test.clock.now + day + day)
        let plans = [
            Plan(name: "all", scope: .everything), Plan(name: "print", scope: .issues, graceIssues: 1),
            Plan(name: "box", scope: .listed, products: ["first"]),
        ]
        for plan in plans { try await test.service.subscriptions.createPlan(plan, by: staff) }
        let alice = try await test.service.desk.create("alice", password: password, by: staff)
        let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"])
        let token = reply.token
        return Shop(test: test, alice: alice, token: token)
    }

    @Test func `is not made longer by ending it once more`() async throws {
        let shop = try await shop()
        let (service, start) = (shop.test.service, shop.test.clock.now)
        let id = try await service.subscriptions.grant(plan: "print", to: shop.alice, by: staff).subscription.id
        shop.test.clock.advance(by: day)
        let path = "/admin/v1/subscriptions/\(id)/end"
        #expect(try await shop.test.call(.post, path, body: [:], peer: local).status == 204)
        let end = start + day
        #expect(try await shop.held().map(\.endsAt) == [end])
        shop.test.clock.advance(by: .seconds(30 * 24 * 3600))
        for body: JSON in [[:], ["at": "2040-01-01T00:00:00Z"]] {
            #expect(try await shop.test.call(.post, path, body: body, peer: local).status == 204)
            #expect(try await shop.held().map(\.endsAt) == [end])
        }
        #expect(try await shop.entries("subscription.end", about: id).count == 1, "nothing was done the other times")
        let earlier = start + .seconds(3600)
        try await service.subscriptions.end(id, at: earlier, by: staff)
        #expect(try await shop.held().map(\.endsAt) == [earlier], "it may be shortened")
    }

    @Test func `keeps the end of a purchase that has ended when it is taken back`() async throws {
        let shop = try await shop()
        let (service, end) = (shop.test.service, shop.test.clock.now + day)
        let id = try await service.subscriptions.give("first", to: shop.alice, as: .gift, end: end, by: staff).purchase.id
        shop.test.clock.advance(by: day + day)
        try await service.subscriptions.endPurchase(id, by: staff)
        #expect(try await service.subscriptions.entitlement(of: shop.alice).purchases.map(\.endsAt) == [end])
    }

    @Test(arguments: ["all", "print", "box"])
    func `gives nothing when it was ended before it began`(plan: String) async throws {
        let shop = try await shop()
        let (service, start) = (shop.test.service, shop.test.clock.now + day)
        let id = try await service.subscriptions.grant(plan: plan, to: shop.alice, start: start, by: staff).subscription.id
        try await service.subscriptions.end(id, by: staff)
        for _ in 1...3 {
            #expect(try await shop.answer("first") == "notentitled")
            #expect(try await shop.answer("later") == "notentitled")
            let standing = try await shop.test.ask("verify_subscription", ["token": shop.token]).xml
            #expect(standing.contains("state=\"inactive\" message=\"You have no subscription\"") && !standing.contains("issue"))
            shop.test.clock.advance(by: day)
        }
    }

    @Test(arguments: ["all", "print", "box"])
    func `can be revoked with what it gave for good`(plan: String) async throws {
        let shop = try await shop()
        let service = shop.test.service
        let id = try await service.subscriptions.grant(plan: plan, to: shop.alice, by: staff).subscription.id
        let pair = try #require(try await shop.ask("first").pair)
        let path = "/admin/v1/subscriptions/\(id)/revoke"
        #expect(try await shop.test.call(.post, path).status == 401)
        #expect(try await shop.answer("first") == "granted")
        for _ in 1...2 { #expect(try await shop.test.call(.post, path, peer: local).status == 204) }
        #expect(try await shop.test.call(.post, "/admin/v1/subscriptions/none/revoke", peer: local).status == 404)
        #expect(try await shop.answer("first") == "notentitled")
        shop.test.clock.advance(by: .seconds(1))
        #expect(await shop.test.opening(pair, "first") == .revoked)
        #expect(try await shop.entries("subscription.revoke", about: id).count == 1)
        try await service.subscriptions.end(id, by: staff)
        #expect(try await shop.answer("first") == "notentitled")
        let explained = try await shop.test.call(
            .get,
            "/admin/v1/accounts/\(shop.alice.id)/entitlement?product=first",
            peer: local
        )
        #expect(explained.json["findings"]?.array?.first?["reason"]?.string?.hasPrefix("it was revoked at ") == true)
    }

    /// Rules that end, and when the credentials that they gave end: a day after they were given, or with the last of the rules.
    @Test(arguments: [
        (["all 3600"], 3600), (["all 90000"], 86_400), (["gift 60"], 60), (["gift 60", "all 3600"], 3600),
        (["gift 60", "box 60"], 86_400), (["print 60"], 86_400), (["gift"], 86_400),
    ])
    func `opens downloads no longer than it lasts`(rules: [String], seconds: Int) async throws {
        let shop = try await shop()
        let (service, now) = (shop.test.service, shop.test.clock.now)
        for rule in rules {
            let parts = rule.split(separator: " ")
            let end = parts.dropFirst().first.flatMap { Int($0) }.map { now + .seconds($0) }
            if parts[0] == "gift" {
                _ = try await service.subscriptions.give("first", to: shop.alice, as: .gift, end: end, by: staff)
            } else {
                _ = try await service.subscriptions.grant(plan: String(parts[0]), to: shop.alice, end: end, by: staff)
            }
        }
        let pair = try #require(try await shop.ask("first").pair)
        shop.test.clock.advance(by: .seconds(seconds - 1))
        #expect(await shop.test.opening(pair, "first") == .opens)
        shop.test.clock.advance(by: .seconds(1))
        #expect(await shop.test.opening(pair, "first") == .expired)
    }

    @Test func `is asked about in the audit log by the account, where it was refused too`() async throws {
        let shop = try await shop()
        #expect(try await shop.answer("first") == "notentitled")
        _ = try await shop.test.service.subscriptions.grant(plan: "all", to: shop.alice, by: staff)
        #expect(try await shop.answer("first") == "granted")
        #expect(try await shop.answer("") == "notentitled")
        try await shop.test.service.desk.setSuspended(true, shop.alice.id, by: staff)
        #expect(try await shop.answer("first") == "suspended")
        let reasons = try await shop.entries("edition.credentials", by: shop.alice.id).map(\.reason)
        #expect(reasons.sorted() == ["notentitled", "plan all", "suspended"], "the second refusal of a reason is counted")
    }

    @Test func `lists products, when it is made to, and takes nothing else for a list`() async throws {
        let shop = try await shop()
        for products: JSON in ["issue-7", [7], ["issue-7", .null], [["issue-7"]], ["a": "issue-7"], true] {
            let body: JSON = ["name": "odd", "scope": "listed", "products": products]
            #expect(try await shop.test.call(.post, "/admin/v1/plans", body: body, peer: local).status == 400, "\(products)")
        }
        let many = JSON.array((0..<1500).map { .string("issue-\($0)") })
        let body: JSON = ["name": "odd", "scope": "listed", "products": many]
        let made = try await shop.test.call(.post, "/admin/v1/plans", body: body, peer: local)
        #expect(made.status == 201 && made.json["products"]?.array?.count == 1500)
    }
}
