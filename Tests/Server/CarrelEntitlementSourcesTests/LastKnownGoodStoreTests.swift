// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelEntitlementSources
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Testing

/// The stored statements of an upstream system, and their times.
@Suite(.onBothDatabases)
struct `Stored statements of an upstream system` {
    private func service(_ upstream: ScriptedUpstream, _ policy: FailPolicy) async throws -> TestService {
        try await TestService(with: .editionDelivery) {
            var settings = upstream.settings
            settings.policy = policy
            $0.subscription.sources = [.upstream(settings), .accounts]
        }
    }

    private func numbers(_ test: TestService, _ sql: SQL) async throws -> [Int64] {
        try await test.service.database.read { transaction in try transaction.rows(sql, []).map { try $0.integer(0) } }
    }

    private func confirmed(_ test: TestService) async throws -> [Int64] {
        try await numbers(test, SQL("SELECT confirmed_at FROM upstream_tokens ORDER BY confirmed_at"))
    }

    private func granted(_ test: TestService) async throws -> [Int64] {
        try await numbers(test, SQL("SELECT granted_at FROM upstream_grants ORDER BY granted_at"))
    }

    private func answered(_ test: TestService) async throws -> [Int64] {
        try await numbers(test, SQL("SELECT updated_at FROM upstream_accounts ORDER BY updated_at"))
    }

    private func grants(_ test: TestService) async throws -> [String] {
        try await test.service.database.read { transaction in
            try transaction.rows(SQL("SELECT product_id FROM upstream_grants ORDER BY product_id"), []).map { try $0.text(0) }
        }
    }

    private func credentials(_ test: TestService, _ token: String, _ product: String) async throws -> Bool {
        try await test.ask("edition_credentials", ["token": token, "product_id": product]).pair != nil
    }

    @Test(
        arguments: [
            (.closed, 86_400), (.lastKnownGood(.seconds(3600)), 450), (.lastKnownGood(.seconds(4)), 1),
            (.lastKnownGood(.seconds(7 * 86_400)), 3600), (.open(.seconds(3600), perMinute: 9), 450),
            (.open(.seconds(4), perMinute: 9), 1), (.open(.seconds(86_400), perMinute: 9), 3600),
        ] as [(FailPolicy, Int)]
    )
    func `is written down again after an eighth of what the policy remembers`(policy: FailPolicy, step: Int) async throws {
        let upstream = ScriptedUpstream()
        defer { withExtendedLifetime(upstream) {} }
        let test = try await service(upstream, policy)
        let remembers = policy.word == "last-known-good"
        func ask() async throws -> [[Int64]] {
            #expect(try await credentials(test, "T-reader", "p1"))
            return [try await confirmed(test), try await granted(test)]
        }
        func at(_ time: Instant) -> [[Int64]] { [[time.milliseconds], remembers ? [time.milliseconds] : []] }
        let start = test.clock.now
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        #expect(try await ask() == at(start))
        test.clock.advance(by: .seconds(step) + .milliseconds(-1))
        #expect(try await ask() == at(start))
        test.clock.advance(by: .milliseconds(1))
        let later = test.clock.now
        #expect(try await ask() == at(later))
        test.clock.advance(by: .milliseconds(-1))
        #expect(try await ask() == at(later + .milliseconds(-1)), "the clock was set back")
    }

    @Test func `of a subscription is written down when it is news, or the last time is long ago`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await service(upstream, .lastKnownGood(.seconds(3600)))
        func verify() async throws -> [Int64] {
            _ = try await test.ask("verify_subscription", ["token": "T-reader"])
            return try await answered(test)
        }
        let start = test.clock.now
        #expect(try await verify() == [start.milliseconds])
        test.clock.advance(by: .milliseconds(449_999))
        #expect(try await verify() == [start.milliseconds])
        test.clock.advance(by: .milliseconds(1))
        let later = test.clock.now
        #expect(try await verify() == [later.milliseconds])
        test.clock.advance(by: .seconds(1))
        upstream.suspend("T-reader")
        let news = test.clock.now
        #expect(try await verify() == [news.milliseconds])
        test.clock.advance(by: .seconds(1))
        #expect(try await verify() == [news.milliseconds])
    }

    @Test func `stores statements about unknown tokens only if they are good, or a suspension`() async throws {
        for (token, isSuspended, count) in [
            ("T-reader", false, 1), ("T-lapsed", false, 1), ("T-former", false, 0), ("T-nobody", false, 0), ("T-reader", true, 1),
        ] {
            let upstream = ScriptedUpstream()
            defer { withExtendedLifetime(upstream) {} }
            let test = try await service(upstream, .lastKnownGood(.seconds(3600)))
            if isSuspended { upstream.suspend(token) }
            _ = try await test.ask("verify_subscription", ["token": token])
            #expect(try await confirmed(test).count == count, "\(token)")
            #expect(try await answered(test).count == count, "\(token)")
        }
    }

    @Test func `of products is remembered where a database can hold their names`() async throws {
        let upstream = ScriptedUpstream()
        defer { withExtendedLifetime(upstream) {} }
        let test = try await service(upstream, .lastKnownGood(.seconds(3600)))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        let most = "p" + String(repeating: "x", count: 255)
        for product in [most, most + "x", "p1"] { #expect(try await credentials(test, "T-reader", product)) }
        #expect(try await grants(test) == ["p1", most])
    }

    @Test func `is forgotten where it says otherwise`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await service(upstream, .lastKnownGood(.seconds(3600)))
        /// Stores products as granted earlier.
        func remember(_ products: [String]) async throws {
            try await test.service.database.write { transaction in
                for product in products {
                    _ = try transaction.run(
                        SQL(
                            """
                            INSERT INTO upstream_grants (subject, product_id, granted_at)
                            SELECT subject, $1, confirmed_at FROM upstream_tokens
                            """
                        ),
                        [.text(product)]
                    )
                }
            }
        }
        _ = try await test.ask("sign_in", ["username": "lapsed", "password": "right"])
        try await remember(["p1", "p2", "x"])
        _ = try await test.ask("verify_subscription", ["token": "T-lapsed"])
        #expect(try await grants(test) == ["p1"], "only that is on its list")
        try await remember(["p2"])
        #expect(try await !credentials(test, "T-lapsed", "p2"))
        #expect(try await grants(test) == ["p1"], "it refused the other")
        let second = try await service(upstream, .lastKnownGood(.seconds(3600)))
        _ = try await second.ask("sign_in", ["username": "reader", "password": "right"])
        for product in ["p1", "p2"] { #expect(try await credentials(second, "T-reader", product)) }
        _ = try await second.ask("verify_subscription", ["token": "T-reader"])
        #expect(try await grants(second) == ["p1", "p2"], "who has everything keeps what was granted")
        upstream.suspend("T-reader")
        _ = try await second.ask("verify_subscription", ["token": "T-reader"])
        #expect(try await grants(second) == [])
    }
}
