// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlementSources
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMetrics
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelUpstream
import Testing

/// The effect of every fault of an upstream system under every policy.
struct `A failing upstream system` {
    /// The policies, with a name for each.
    enum Policy: String, CaseIterable, Sendable, CustomStringConvertible {
        case closed
        case lastKnownGood = "last known good"
        case open

        var value: FailPolicy {
            switch self {
            case .closed: .closed
            case .lastKnownGood: .lastKnownGood(.seconds(3600))
            case .open: .open(.seconds(3600), perMinute: 4)
            }
        }

        var description: String { rawValue }

        /// The one that a task looks at.
        @TaskLocal static var current: Policy?

        /// Looks at all of them at the same time, as most of a slow fault is waiting. What goes wrong says under which.
        static func eachAtOnce(_ body: @escaping @Sendable (Policy) async throws -> Void) async throws {
            try await withThrowingTaskGroup { group in
                for policy in allCases {
                    group.addTask { try await $current.withValue(policy) { try await body(policy) } }
                }
                try await group.waitForAll()
            }
        }
    }

    /// A service that asks the system, then its own accounts.
    private static func service(
        _ upstream: ScriptedUpstream,
        _ policy: FailPolicy,
        timeout: Duration = .seconds(20),
        _ change: (inout UpstreamSettings) -> Void = { _ in }
    ) async throws -> TestService {
        try await TestService(with: [.editionDelivery, .administration]) {
            var settings = upstream.settings
            settings.policy = policy
            settings.timeout = timeout
            change(&settings)
            $0.subscription.sources = [.upstream(settings), .accounts]
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
    }

    /// The result of requesting a product's credentials: a status, a refusal's reason, or their lifetime.
    private static func credentials(_ test: TestService, _ token: String, _ product: String) async throws -> String {
        let reply = try await test.ask("edition_credentials", ["token": token, "product_id": product])
        guard reply.status == 200 else { return "\(reply.status)" }
        func inside(_ mark: String, _ end: Character) -> String? {
            reply.xml.firstRange(of: mark).map { String(reply.xml[$0.upperBound...].prefix { $0 != end }) }
        }
        if let status = inside("status=\"", "\"") { return status }
        let pair = try #require(reply.pair)
        let verified = try #require(try await test.service.credentials.verify(pair, product: product))
        return "\(verified.expiresAt.milliseconds / 1000 - test.clock.now.milliseconds / 1000) s"
    }

    private static func verify(_ test: TestService, _ token: String) async throws -> String {
        let reply = try await test.ask("verify_subscription", ["token": token])
        guard reply.status == 200 else { return "\(reply.status)" }
        return String(reply.xml.split(separator: "state=\"").last?.prefix { $0 != "\"" } ?? "")
    }

    /// The system's health, as reported by the server.
    private static func health(_ test: TestService) async throws -> JSON {
        let answer = try await test.call(.get, "/admin/v1/health", peer: .local(userID: 0))
        #expect(answer.json["ready"] == true)
        #expect(answer.json["sources"]?.array?.compactMap { $0["name"]?.string } == ["bureau", "accounts"])
        return answer.json["sources"]?.array?.first ?? .null
    }

    @Test(.namingThePolicy, arguments: ScriptedUpstream.Fault.allCases)
    func `follows the table`(fault: ScriptedUpstream.Fault) async throws {
        try await Policy.eachAtOnce { try await followsTheTable(.calls, fault, $0) }
    }

    @Test(.namingThePolicy, arguments: ScriptedUpstream.Fault.allCases)
    func `follows the table as a webhook too`(fault: ScriptedUpstream.Fault) async throws {
        try await Policy.eachAtOnce { try await followsTheTable(.webhook, fault, $0) }
    }

    private func followsTheTable(_ kind: ScriptedUpstream.Kind, _ fault: ScriptedUpstream.Fault, _ policy: Policy) async throws {
        let upstream = ScriptedUpstream(kind)
        let test = try await Self.service(upstream, policy.value, timeout: .milliseconds(fault.isSlow ? 1500 : 20_000)) {
            $0.breaker.failures = kind == .calls ? 2 : 1  // so that the slow ones are not waited for ten times
        }
        _ = try await test.service.desk.create("alice", password: "a good long password", by: AuditActor("test"))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        #expect(try await Self.verify(test, "T-reader") == "active")
        #expect(try await Self.credentials(test, "T-reader", "p1") == "86400 s")
        upstream.fail(fault)

        // a token that is known
        switch policy {
        case .closed:
            #expect(try await Self.credentials(test, "T-reader", "p1") == "503")
            #expect(try await Self.verify(test, "T-reader") == "503")
        case .lastKnownGood:
            #expect(try await Self.credentials(test, "T-reader", "p1") == "3600 s")
            #expect(try await Self.credentials(test, "T-reader", "p2") == "503")
            #expect(try await Self.verify(test, "T-reader") == "active")
        case .open:
            #expect(try await Self.credentials(test, "T-reader", "p1") == "900 s")
            #expect(try await Self.credentials(test, "T-reader", "p2") == "900 s")
            #expect(try await Self.verify(test, "T-reader") == "503")
        }
        // one that is not
        #expect(try await Self.credentials(test, "T-lapsed", "p1") == "notrecognised")
        #expect(try await Self.verify(test, "T-lapsed") == "503")
        #expect(try await test.ask("renew_token", ["token": "T-lapsed"]).status == 503)
        // it is not enough to sign in
        #expect(try await test.ask("sign_in", ["username": "lapsed", "password": "right"]).status == 503)

        // other sources answer as ever
        let own = try await test.ask("sign_in", ["username": "alice", "password": "a good long password"])
        let token = try #require(own.xml.split(separator: ">").dropFirst().first?.split(separator: "<").first.map(String.init))
        #expect(try await Self.verify(test, token) == "inactive")

        // what was granted without asking is on record
        let grants = try await test.service.audit.list(AuditFilter()).filter { $0.action == "edition.credentials" }
        let reasons = grants.filter { $0.outcome == .allowed }.map(\.reason).sorted()
        let metrics = test.service.metrics.text()
        func standIns(_ call: String, _ policy: String) -> String? {
            let start = "carrel_upstream_standins_total{source=\"bureau\",call=\"\(call)\",policy=\"\(policy)\"} "
            return metrics.split(separator: "\n").first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
        }
        switch policy {
        case .closed:
            #expect(reasons == ["upstream bureau"])
            #expect(!metrics.contains("carrel_upstream_standins_total{"))
        case .lastKnownGood:
            #expect(reasons == ["upstream bureau", "upstream bureau, last known good"])
            #expect(standIns("edition_credentials", "last_known_good") == "1")
            #expect(standIns("verify_subscription", "last_known_good") == "1")
        case .open:
            #expect(reasons == ["upstream bureau", "upstream bureau, open", "upstream bureau, open"])
            #expect(standIns("edition_credentials", "open") == "2")
        }

        // and when it is well again, all is as before
        upstream.fail(nil)
        test.clock.advance(by: .seconds(61))
        #expect(try await Self.verify(test, "T-reader") == "active")
        #expect(try await Self.credentials(test, "T-reader", "p2") == "86400 s")
        #expect(try await Self.verify(test, "T-lapsed") == "inactive")
    }

    @Test(arguments: Policy.allCases)
    func `opens nothing for tokens that were refused or ended, accounts that are suspended, and products that are withdrawn`(
        policy: Policy
    ) async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, policy.value)
        try await test.add(product: "p9")
        for name in ["reader", "lapsed"] { _ = try await test.ask("sign_in", ["username": name, "password": "right"]) }
        #expect(try await Self.credentials(test, "T-reader", "p1") == "86400 s")
        #expect(try await Self.credentials(test, "T-reader", "p9") == "86400 s")
        #expect(try await Self.credentials(test, "T-lapsed", "p1") == "86400 s")
        try await test.withdraw(product: "p9")
        test.clock.advance(by: .seconds(2))
        #expect(try await Self.credentials(test, "T-reader", "p9") == "notentitled")
        upstream.fail(.reset)
        #expect(try await Self.credentials(test, "T-reader", "p9") == (policy == .closed ? "503" : "notentitled"))
        upstream.fail(nil)
        // one is reported suspended, the other unknown
        upstream.suspend("T-reader")
        #expect(try await Self.verify(test, "T-reader") == "suspended")
        upstream.revoke("T-lapsed")
        #expect(try await Self.verify(test, "T-lapsed") == "stale")
        upstream.fail(.status500)
        #expect(try await Self.credentials(test, "T-reader", "p1") == "503")
        #expect(try await Self.credentials(test, "T-reader", "p9") == "503")
        #expect(try await Self.verify(test, "T-reader") == "503")
        #expect(try await Self.credentials(test, "T-lapsed", "p1") == "notrecognised")
        #expect(try await Self.verify(test, "T-lapsed") == "503")
        // signed out while the system is down
        let other = try await Self.service(upstream, policy.value)
        upstream.fail(nil)
        _ = try await other.ask("sign_in", ["username": "lapsed", "password": "right"])
        upstream.fail(.status500)
        #expect(try await other.ask("sign_out", ["token": "T-lapsed"]).status == 200)
        #expect(try await Self.credentials(other, "T-lapsed", "p1") == "notrecognised")
        #expect(try await Self.verify(other, "T-lapsed") == "stale")
    }

    @Test func `is noticed by the breaker though apps hang up before the time limit`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .closed, timeout: .milliseconds(800)) { $0.breaker.failures = 2 }
        upstream.fail(.timeout)
        for _ in 1...2 {
            let app = Task { try await Self.verify(test, "T-reader") }
            while upstream.calls().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            app.cancel()
            _ = await app.result
        }
        #expect(try await Self.health(test)["state"] == "unavailable")
        #expect(try await Self.verify(test, "T-reader") == "503")
        #expect(upstream.calls().isEmpty, "nobody is asked any more")
    }

    @Test func `keeps its last good statement, also during downloads`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .lastKnownGood(.seconds(3600)))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        for _ in 1...10 {
            test.clock.advance(by: .seconds(400))
            #expect(try await Self.credentials(test, "T-reader", "p1") == "86400 s")
            #expect(try await Self.verify(test, "T-reader") == "active")
        }
        upstream.fail(.reset)
        test.clock.advance(by: .seconds(400))
        #expect(try await Self.verify(test, "T-reader") == "active")
    }

    @Test func `is remembered no longer than the policy says`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .lastKnownGood(.seconds(3600)))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        #expect(try await Self.verify(test, "T-reader") == "active")
        #expect(try await Self.credentials(test, "T-reader", "p1") == "86400 s")
        upstream.fail(.reset)
        test.clock.advance(by: .seconds(3599))
        #expect(try await Self.credentials(test, "T-reader", "p1") == "3600 s")
        #expect(try await Self.verify(test, "T-reader") == "active")
        test.clock.advance(by: .seconds(1))
        #expect(try await Self.credentials(test, "T-reader", "p1") == "503")
        #expect(try await Self.verify(test, "T-reader") == "503")
    }

    @Test func `is not remembered for what it took back`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .lastKnownGood(.seconds(3600)))
        _ = try await test.ask("sign_in", ["username": "lapsed", "password": "right"])
        #expect(try await Self.credentials(test, "T-lapsed", "p1") == "86400 s")
        upstream.suspend("T-lapsed")
        #expect(try await Self.credentials(test, "T-lapsed", "p1") == "notentitled")
        upstream.fail(.status500)
        #expect(try await Self.credentials(test, "T-lapsed", "p1") == "503")
    }

    @Test func `is probed a limited number of times a minute`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .open(.seconds(3600), perMinute: 3))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        upstream.fail(.status500)
        var answers: [String] = []
        for product in 1...5 { answers.append(try await Self.credentials(test, "T-reader", "p\(product)")) }
        #expect(answers == ["900 s", "900 s", "900 s", "503", "503"])
        test.clock.advance(by: .seconds(60))
        #expect(try await Self.credentials(test, "T-reader", "p1") == "900 s")
        test.clock.advance(by: .seconds(3600))
        #expect(try await Self.credentials(test, "T-reader", "p1") == "503")
    }

    @Test func `is left alone after five failures within ten seconds, and probed after a pause`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .closed)
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        upstream.fail(.status500)
        _ = upstream.calls()
        for _ in 0..<20 { #expect(try await Self.verify(test, "T-reader") == "503") }
        #expect(upstream.calls().count == 5)
        #expect(test.service.metrics.text().contains("carrel_upstream_unavailable{source=\"bureau\"} 1"))
        #expect(
            test.service.metrics.text().contains(
                "carrel_upstream_calls_total{source=\"bureau\",call=\"verify_subscription\",outcome=\"shed\"} 15"
            )
        )
        let down = try await Self.health(test)
        #expect(down["state"] == "unavailable" && down["failPolicy"] == "closed")
        #expect(down["unavailableUntil"]?.string == (test.clock.now + .seconds(5)).description)
        #expect(down["failure"] == "the upstream system answered with status 500")
        test.clock.advance(by: .seconds(5))
        #expect(try await Self.verify(test, "T-reader") == "503")
        #expect(try await Self.verify(test, "T-reader") == "503")
        #expect(upstream.calls().count == 1)
        upstream.fail(nil)
        test.clock.advance(by: .seconds(10))
        #expect(try await Self.verify(test, "T-reader") == "active")
        #expect(try await Self.verify(test, "T-reader") == "active")
        let well = try await Self.health(test)
        #expect(well["state"] == "available" && well["answeredAt"]?.string == test.clock.now.description && well["asking"] == 0)
        #expect(try await test.send(.get, "/readyz").status == 200)
        let entries = try await test.service.audit.list(AuditFilter())
        #expect(entries.count { $0.action == "upstream.unavailable" && $0.subject == "bureau" } == 1)
        #expect(entries.count { $0.action == "upstream.available" && $0.subject == "bureau" } == 1)
    }

    /// Nothing is set but the policy: a call is waited for five seconds, however long the system sits on it.
    @Test(arguments: Policy.allCases)
    func `is waited for no longer than the default settings say`(policy: Policy) async throws {
        let upstream = ScriptedUpstream()
        let test = try await TestService(with: [.editionDelivery, .administration]) {
            var settings = upstream.settings
            settings.policy = policy.value
            $0.subscription.sources = [.upstream(settings), .accounts]
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        #expect(try await Self.verify(test, "T-reader") == "active")
        #expect(try await Self.credentials(test, "T-reader", "p1") == "86400 s")
        upstream.fail(.minute)
        async let verified = Self.verify(test, "T-reader")
        async let known = Self.credentials(test, "T-reader", "p1")
        async let other = Self.credentials(test, "T-lapsed", "p1")
        let words = try await [verified, known, other]
        switch policy {
        case .closed: #expect(words == ["503", "503", "notrecognised"])
        case .lastKnownGood: #expect(words == ["active", "3600 s", "notrecognised"])
        case .open: #expect(words == ["503", "900 s", "notrecognised"])
        }
        // Who answered them all is the time limit: the system would have said yes.
        #expect(try await Self.health(test)["failure"]?.string?.contains("time") == true)
        upstream.fail(nil)
        #expect(try await Self.verify(test, "T-reader") == "active")
    }

    @Test func `blocks no other requests`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .closed, timeout: .seconds(3)) { $0.concurrency = 8 }
        _ = try await test.service.desk.create("alice", password: "a good long password", by: AuditActor("test"))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        let own = try await test.ask("sign_in", ["username": "alice", "password": "a good long password"])
        let token = try #require(own.xml.split(separator: ">").dropFirst().first?.split(separator: "<").first.map(String.init))
        upstream.fail(.stall)
        _ = upstream.calls()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<40 { group.addTask { try await Self.verify(test, "T-reader") } }
            let started = ContinuousClock.now
            for _ in 0..<50 { #expect(try await Self.verify(test, token) == "inactive") }
            #expect(ContinuousClock.now - started < .seconds(3))
            for try await answer in group { #expect(answer == "503") }
        }
        #expect(upstream.calls().count <= 8, "no more than so many are on their way at once")
    }

    @Test func `is connected to only where its addresses may be`() async throws {
        let upstream = ScriptedUpstream()
        let elsewhere = try #require(AddressRange("10.0.0.0/8"))
        let here = try #require(AddressRange("127.0.0.0/8"))
        for (networks, isReached) in [([elsewhere], false), ([elsewhere, here], true), ([], true)] {
            let test = try await Self.service(upstream, .closed) { $0.networks = networks }
            let reply = try await test.ask("sign_in", ["username": "reader", "password": "right"])
            #expect(reply.status == (isReached ? 200 : 503))
        }
        // a name that leads into a private network is no way in
        #expect(upstream.connectionCount == 2)
        let test = try await Self.service(upstream, .closed) {
            $0.transport = .calls(SubscriptionEndpoints(base: "https://localhost.localdomain:\(upstream.port)"))
        }
        #expect(try await test.ask("sign_in", ["username": "reader", "password": "right"]).status == 503)
        #expect(upstream.connectionCount == 2)
    }

    @Test func `is not asked without encryption anywhere else`() async throws {
        await #expect(throws: UpstreamError.self) {
            try await TestService(with: [.editionDelivery, .administration]) {
                let endpoints = SubscriptionEndpoints(base: "http://subs.example.org/")
                $0.subscription.sources = [.upstream(UpstreamSettings(name: "bureau", .calls(endpoints)))]
            }
        }
    }
}

extension TestService {
    /// Takes a product out of the catalog.
    fileprivate func withdraw(product: String) async throws {
        try await service.database.write { transaction in
            _ = try transaction.run(
                SQL("UPDATE editions SET updated_at = updated_at + 1, state = 'withdrawn' WHERE product_id = $1"),
                [.text(product)]
            )
        }
    }
}

extension Trait where Self == IssueHandlingTrait {
    /// Says of an issue under which policy it was found.
    fileprivate static var namingThePolicy: Self {
        .compactMapIssues { issue in
            guard let policy = `A failing upstream system`.Policy.current else { return issue }
            var issue = issue
            issue.comments.append("under the policy \(policy)")
            return issue
        }
    }
}
