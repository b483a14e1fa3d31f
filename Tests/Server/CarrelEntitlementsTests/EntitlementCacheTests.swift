// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelPasswordHash
import CarrelPostgres
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Glibc
import Testing

@Suite(.onBothDatabases)
struct `What is remembered of an account` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")

    /// Alice with a plan, signed in on a phone and known to the service; and another process on the same database.
    private struct Stand {
        let test: TestService
        let other: CarrelService
        let counting: CountingDatabase
        let service: CarrelService
        let alice: Account
        let plan: String
        let token: String

        func verify() async throws -> String {
            try await test.ask("verify_subscription", ["token": token], at: service).xml
        }

        func credentials() async throws -> SubscriptionReply {
            try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"], at: service)
        }
    }

    private func stand() async throws -> Stand {
        let test = try await TestService(with: .editionDelivery) { $0.passwordCost = .init(memory: 64, passes: 1) }
        // two instances: a change that one announces must reach the other
        let second: any Database =
            if let address = test.address { try PostgresDatabase(address, migrations: Schema.migrations, connections: 4) } else {
                try CarrelService.openDatabase(test.service.home)
            }
        let other = try await CarrelService.open(test.service.home, database: second, clock: test.clock)
        let (counting, service) = try await test.counted()
        try await test.add(product: "issue-1")
        try await service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: staff)
        try await service.subscriptions.createPlan(Plan(name: "silver", scope: .everything), by: staff)
        let alice = try await service.desk.create("alice", password: password, by: staff)
        let plan = try await service.subscriptions.grant(plan: "gold", to: alice, by: staff).subscription.id
        let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"], at: service)
        let token = reply.token
        let stand = Stand(
            test: test,
            other: other,
            counting: counting,
            service: service,
            alice: alice,
            plan: plan,
            token: token
        )
        #expect(try await stand.verify().contains("state=\"active\" message=\"Your subscription: gold\""))
        #expect(try await stand.credentials().pair != nil)
        return stand
    }

    @Test func `is not asked of SQLite again, however often it is asked for`() async throws {
        let stand = try await stand()
        let before = stand.counting.reads
        for _ in 0..<20 { #expect(try await stand.verify().contains("gold")) }
        #expect(stand.counting.reads - before == (Engine.current == .sqlite ? 0 : 20))
        _ = try await stand.credentials()
        let after = stand.counting.reads
        for _ in 0..<20 { #expect(try await stand.credentials().pair != nil) }
        #expect(stand.counting.reads - after == (Engine.current == .sqlite ? 0 : 20))
    }

    @Test func `is recorded each time that it is asked for`() async throws {
        let stand = try await stand()
        for _ in 0..<20 { #expect(try await stand.credentials().pair != nil) }
        try await stand.service.audit.finish()
        var filter = AuditFilter()
        (filter.action, filter.actor) = ("edition.credentials", stand.alice.id)
        let entries = try await stand.service.audit.list(filter)
        #expect(entries.reduce(0) { $0 + $1.unfolded.count } == 21)
        #expect(entries.allSatisfy { $0.outcome == .allowed && $0.unfolded.reason == "plan gold" })
    }

    @Test func `is not remembered where it is much`() async throws {
        let stand = try await stand()
        for number in 0..<64 {
            _ = try await stand.service.subscriptions.give("issue-\(number)", to: stand.alice, as: .gift, by: staff)
        }
        _ = try await stand.verify()
        let before = stand.counting.reads
        for _ in 0..<3 { #expect(try await stand.verify().contains("gold")) }
        #expect(stand.counting.reads - before == 3)
    }

    enum Change: CaseIterable {
        case suspension, signOut, planEnd, planRevocation, otherPlan, password, device, renewal, erasure

        /// The response to the app.
        var isSaid: String {
            switch self {
            case .suspension: "state=\"suspended\""
            case .planEnd: "Your subscription has expired"
            case .planRevocation: "You have no subscription"
            case .otherPlan: "Your subscription: silver"
            default: "state=\"stale\""
            }
        }
    }

    private func make(_ change: Change, _ stand: Stand, at service: CarrelService) async throws {
        switch change {
        case .suspension: try await service.desk.setSuspended(true, stand.alice.id, by: staff)
        case .signOut: _ = try await stand.test.ask("sign_out", ["token": stand.token], at: service)
        case .planEnd:
            stand.test.clock.advance(by: .milliseconds(1))  // or it would never have begun
            try await service.subscriptions.end(stand.plan, by: staff)
        case .planRevocation: try await service.subscriptions.revoke(stand.plan, by: staff)
        case .otherPlan:
            let start = stand.test.clock.now + .milliseconds(-1)
            _ = try await service.subscriptions.grant(plan: "silver", to: stand.alice, start: start, by: staff)
            try await service.subscriptions.revoke(stand.plan, by: staff)
        case .password: try await service.desk.setPassword("another horse battery", of: stand.alice.id, by: staff)
        case .device:
            let device = try #require(try await service.devices.list(of: stand.alice).first)
            try await service.devices.revoke(device.id, of: stand.alice, isOwner: false, by: staff)
        case .renewal: _ = try await stand.test.ask("renew_token", ["token": stand.token], at: service)
        case .erasure: try await service.erasure.erase(stand.alice.id, by: staff)
        }
    }

    @Test(arguments: Change.allCases)
    func `is evicted immediately when this process changes it`(change: Change) async throws {
        let stand = try await stand()
        try await make(change, stand, at: stand.service)
        #expect(try await stand.verify().contains(change.isSaid))
        if change != .otherPlan, change != .renewal { #expect(try await stand.credentials().pair == nil) }
    }

    @Test(arguments: Change.allCases)
    func `is forgotten within a second when another process changes it`(change: Change) async throws {
        let stand = try await stand()
        try await make(change, stand, at: stand.other)
        stand.test.clock.advance(by: .seconds(1))
        #expect(try await stand.verify().contains(change.isSaid))
        if change != .otherPlan, change != .renewal { #expect(try await stand.credentials().pair == nil) }
    }

    @Test func `is read again after a revocation, so that no void credentials are issued`() async throws {
        let stand = try await stand()
        try await stand.other.credentials.revoke(.product("issue-1"), by: staff)
        try await stand.service.credentials.refresh()
        let pair = try #require(try await stand.credentials().pair)
        #expect(await stand.test.opening(pair, "issue-1", at: stand.other) == .opens)
    }

    @Test func `covers a purchase immediately, too`() async throws {
        let stand = try await stand()
        try await stand.service.subscriptions.revoke(stand.plan, by: staff)
        #expect(try await stand.credentials().pair == nil)
        let gift = try await stand.service.subscriptions.give("issue-1", to: stand.alice, as: .gift, by: staff).purchase.id
        #expect(try await stand.credentials().pair != nil)
        try await stand.service.subscriptions.endPurchase(gift, by: staff)
        #expect(try await stand.credentials().pair == nil)
    }

    @Test func `notes the day on which it was used`() async throws {
        let stand = try await stand()
        stand.test.clock.advance(by: .seconds(24 * 3600))
        let now = stand.test.clock.now
        _ = try await stand.verify()
        #expect(try await stand.service.accounts.sessions.list(of: stand.alice).map(\.seenAt) == [now])
    }
}
