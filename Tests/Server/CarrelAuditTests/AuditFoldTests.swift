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
import CarrelStore
import CarrelSubscription
import CarrelThreads
import Testing

/// A subscriber asks as often as they like, for whatever they like: the log must not grow with it, and must count all of it.
@Suite(.onBothDatabases)
struct `What an account repeats` {
    private let minute = Duration.seconds(61)

    private struct Shop {
        let test: TestService
        let token: String

        var audit: Audit { test.service.audit }

        func ask(_ product: String) async throws -> SubscriptionReply {
            try await test.ask("edition_credentials", ["token": token, "product_id": product])
        }

        /// The entries of credentials, the newest first.
        func entries() async throws -> [AuditEntry] {
            var filter = AuditFilter()
            (filter.action, filter.limit) = ("edition.credentials", 1000)
            return try await audit.list(filter)
        }

        /// Subject, reason and count of each entry, the oldest first.
        func summary() async throws -> [String] {
            try await entries().reversed().map {
                "\($0.subject) \($0.outcome.rawValue) \($0.unfolded.reason) \($0.unfolded.count)"
            }
        }

        func run(_ sql: SQL) async throws { _ = try await test.service.database.write { try $0.run(sql, []) } }
    }

    private func shop() async throws -> Shop {
        let test = try await TestService(with: [.administration, .editionDelivery]) {
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        let service = test.service
        for number in 1...3 { try await test.add(product: "issue-\(number)") }
        let alice = try await service.desk.create("alice", password: "correct horse battery", by: .operator)
        let box = Plan(name: "box", scope: .listed, products: ["issue-1", "issue-2"])
        try await service.subscriptions.createPlan(box, by: .operator)
        _ = try await service.subscriptions.grant(plan: "box", to: alice, by: .operator)
        let reply = try await test.ask("sign_in", ["username": "alice", "password": "correct horse battery"])
        return Shop(test: test, token: reply.token)
    }

    @Test func `is two entries a minute for each product that was granted`() async throws {
        let shop = try await shop()
        for _ in 1...40 {
            #expect(try await shop.ask("issue-1").pair != nil)
            shop.test.clock.advance(by: .milliseconds(10))
        }
        for _ in 1...3 {
            #expect(try await shop.ask("issue-2").pair != nil)
            shop.test.clock.advance(by: .milliseconds(10))
        }
        #expect(try await shop.summary() == ["issue-1 allowed plan box 1", "issue-2 allowed plan box 1"])
        shop.test.clock.advance(by: minute)
        try await shop.audit.seal()
        #expect(
            try await shop.summary().sorted() == [
                "issue-1 allowed plan box 1", "issue-1 allowed plan box 39", "issue-2 allowed plan box 1",
                "issue-2 allowed plan box 2",
            ]
        )
        #expect(try await shop.entries().filter { $0.unfolded.count > 1 }.allSatisfy(\.requestID.isEmpty))
        // The next minute begins with an entry of its own.
        #expect(try await shop.ask("issue-1").pair != nil)
        #expect(try await shop.entries().count == 5)
        let local = Peer.local(userID: 0)
        let answer = try await shop.test.call(.get, "/admin/v1/audit?action=edition.credentials&subject=issue-2", peer: local)
        let counts = answer.json["entries"]?.array?.map { $0["count"]?.int } ?? []
        #expect(counts == [2, 1] && answer.json["entries"]?.array?.first?["reason"] == "plan box")
    }

    @Test func `of sign-ins that are refused is two entries a minute for each account and reason`() async throws {
        let test = try await TestService(with: [.administration, .editionDelivery]) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.devices.limit = 1
        }
        var accounts: [String: Account] = [:]
        for name in ["alice", "bob"] {
            accounts[name] = try await test.service.desk.create(name, password: StaffPage.password, by: .operator)
            let reply = try await test.ask("sign_in", ["username": name, "password": StaffPage.password, "uuid": "phone"])
            #expect(reply.xml.hasPrefix("<token>"))
        }
        func signIn(_ name: String, times: Int) async throws {
            for number in 0..<times {
                let parameters = ["username": name, "password": StaffPage.password, "uuid": "tablet \(number)"]
                #expect(try await test.ask("sign_in", parameters).xml.contains("devicelimit"))
                #expect(try await StaffPage(test: test).signedIn(name).status == 401)
                test.clock.advance(by: .milliseconds(100))
            }
        }
        /// Action, account, reason and count of each entry.
        func refusals() async throws -> [String] {
            var filter = AuditFilter()
            (filter.outcome, filter.limit) = (.refused, 1000)
            return try await test.service.audit.list(filter).map { entry in
                let name = accounts.first { $0.value.id == entry.subject }?.key ?? entry.subject
                return "\(entry.action) \(name) \(entry.unfolded.reason) \(entry.unfolded.count)"
            }.sorted()
        }
        try await signIn("alice", times: 6)
        try await signIn("bob", times: 3)
        #expect(
            try await refusals() == [
                "session.start alice devices 1", "session.start bob devices 1", "staff.sign-in alice role 1",
                "staff.sign-in bob role 1",
            ]
        )
        test.clock.advance(by: minute)
        try await test.service.audit.seal()
        #expect(
            try await refusals() == [
                "session.start alice devices 1", "session.start alice devices 5", "session.start bob devices 1",
                "session.start bob devices 2", "staff.sign-in alice role 1", "staff.sign-in alice role 5",
                "staff.sign-in bob role 1", "staff.sign-in bob role 2",
            ]
        )
    }

    @Test func `is two entries a minute for each reason of refusal, whatever products were asked for`() async throws {
        let shop = try await shop()
        for number in 0..<200 {
            #expect(try await shop.ask("made-up-\(number)").pair == nil)
            shop.test.clock.advance(by: .milliseconds(10))
        }
        for _ in 0..<3 { #expect(try await shop.ask("issue-3").pair == nil) }
        #expect(try await shop.summary() == ["made-up-0 refused notentitled 1"])
        shop.test.clock.advance(by: minute)
        try await shop.audit.seal()
        #expect(try await shop.summary() == ["made-up-0 refused notentitled 1", " refused notentitled 202"])
        guard case .intact = try await shop.audit.verify() else {
            Issue.record("the chain is broken")
            return
        }
    }

    @Test func `names ids no longer than the catalog's`() async throws {
        let shop = try await shop()
        for product in [String(repeating: "x", count: 3000), String(repeating: "é", count: 100)] {
            #expect(try await shop.ask(product).pair == nil)
            shop.test.clock.advance(by: minute)
        }
        let subjects = try await shop.entries().map(\.subject)
        #expect(subjects == [String(repeating: "é", count: 64), String(repeating: "x", count: 128)])
    }

    @Test func `is counted together beyond as many products as one account may have`() async throws {
        let shop = try await shop()
        let fold = shop.audit.fold
        for number in 0..<1000 {
            let now = shop.test.clock.now
            try await fold.record("edition.credentials", on: "p\(number)", by: AuditActor("a"), at: now, reason: "open")
        }
        let now = shop.test.clock.now
        try await fold.record("edition.credentials", on: "p0", by: AuditActor("b"), at: now, reason: "open")
        shop.test.clock.advance(by: minute)
        try await shop.audit.seal()
        let entries = try await shop.entries()
        #expect(entries.filter { $0.actor == "a" }.count == 257)
        #expect(entries.reduce(0) { $0 + $1.unfolded.count } == 1001)
        #expect(entries.contains { $0.subject.isEmpty && $0.unfolded.reason == "others" && $0.unfolded.count == 744 })
    }

    @Test func `is written and sealed before the process ends`() async throws {
        let shop = try await shop()
        for _ in 1...5 {
            _ = try await shop.ask("issue-1")
            shop.test.clock.advance(by: .milliseconds(10))
        }
        #expect(shop.audit.unwritten.map { $0.unfolded.count }.reduce(0, +) >= 4)
        try await shop.audit.finish()
        #expect(shop.audit.unwritten.isEmpty)
        #expect(try await shop.summary() == ["issue-1 allowed plan box 1", "issue-1 allowed plan box 4"])
        let unsealed = SQL("SELECT id FROM audit WHERE number IS NULL")
        #expect(try await shop.test.service.database.read { try $0.rows(unsealed, []).isEmpty })
    }

    @Test func `is refused while the log cannot be written, and its counts are kept`() async throws {
        let shop = try await shop()
        for _ in 1...3 {
            #expect(try await shop.ask("issue-1").pair != nil)
            shop.test.clock.advance(by: .milliseconds(10))
        }
        try await shop.audit.settle()
        try await shop.run(SQL("ALTER TABLE audit RENAME TO audit_elsewhere"))
        shop.test.clock.advance(by: minute)
        await #expect(throws: (any Error).self) { try await shop.audit.seal() }
        #expect(try await shop.ask("issue-1").status != 200, "nobody is given what no log would tell of")
        #expect(shop.audit.unwritten.map { $0.unfolded.count }.reduce(0, +) == 2)
        try await shop.run(SQL("ALTER TABLE audit_elsewhere RENAME TO audit"))
        var isDone = false
        for _ in 1...100 where !isDone {
            isDone = (try? await shop.audit.seal()) != nil
            if !isDone { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(try await shop.summary() == ["issue-1 allowed plan box 1", "issue-1 allowed plan box 2"])
        #expect(try await shop.ask("issue-1").pair != nil)
        #expect(try await shop.entries().count == 3)
    }

    @Test func `is explained by the rule that granted it, not by the count`() async throws {
        let shop = try await shop()
        for _ in 1...5 { _ = try await shop.ask("issue-1") }
        try await shop.audit.finish()
        let path = "/admin/v1/explanations?name=alice&product=issue-1"
        let answer = try await shop.test.call(.get, path, peer: .local(userID: 0))
        #expect(answer.json["lastGrant"]?["rule"] == "plan box", "\(answer.json)")
    }
}
