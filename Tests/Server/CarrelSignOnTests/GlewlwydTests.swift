// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelServer
import CarrelServerTesting
import CarrelSignOn
import CarrelSubscription
import CarrelTesting
import CarrelUpstream
import Testing

/// Signing in at a provider that others wrote.
struct `Signing in at Glewlwyd` {
    @Test func `opens a session with the plan of a group, and survives the end of Glewlwyd`() async throws {
        let callback = "http://localhost/sign-in/oidc/callback"
        let provider = try await Glewlwyd(redirect: callback)
        try await provider.addUser("alice", groups: ["readers", "others"])
        try await provider.addUser("bob", groups: [])
        let test = try await TestService { settings in
            settings.signOn.provider = try? OpenIDConfiguration(
                issuer: provider.issuer,
                clientID: "carrel",
                clientSecret: Secret(Array(Glewlwyd.clientSecret.utf8))
            )
            settings.signOn.plans = ["readers": "gold"]
        }
        test.clock.set(.now())
        try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: AuditActor("operator"))

        let alice = try await visit(test, provider, "alice", callback)
        let bob = try await visit(test, provider, "bob", callback)
        #expect(alice != bob)
        #expect(try await visit(test, provider, "alice", callback) == alice)
        #expect(try await holdsGold(test, alice))
        #expect(try await !holdsGold(test, bob))

        await provider.stop()
        test.clock.advance(by: .seconds(3601))
        #expect(try await test.send(.get, "/sign-in/oidc").status == 503)
        #expect(try await test.service.accounts.account(ofSession: test.service.accounts.issueSession(for: alice)) == alice)
    }

    private func holdsGold(_ test: TestService, _ account: Account) async throws -> Bool {
        try await test.service.subscriptions.entitlement(of: account).hasCurrentSubscription(at: test.clock.now)
    }

    /// Goes to the provider and back, and returns the account that is signed in then.
    private func visit(_ test: TestService, _ provider: Glewlwyd, _ name: String, _ callback: String) async throws -> Account {
        let start = try await test.send(.get, "/sign-in/oidc")
        let (address, cookie) = (try #require(start.headers["Location"]), try #require(start.headers["Set-Cookie"]))
        let back = try await provider.visit(address, as: name)
        #expect(back.hasPrefix("\(callback)?"), "\(back)")
        let target = String(back.dropFirst("http://localhost".count))
        let answer = try await test.send(.get, target, headers: ["Cookie": String(cookie.prefix { $0 != ";" })])
        #expect(answer.status == 303)
        let session = try #require(answer.headers.values("Set-Cookie").first { $0.hasPrefix("carrel_session=") })
        let token = session.dropFirst("carrel_session=".count).prefix { $0 != ";" }
        return try #require(try await test.service.accounts.account(ofSession: String(token)))
    }
}
