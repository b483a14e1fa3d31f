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
import Testing

/// Entitlements from Carrel's own accounts together with an upstream system, and the order of requests.
struct `Carrel's own accounts as a source` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")

    /// Alice, and a service whose database counts; the upstream system gets the first request.
    private struct Stand {
        let test: TestService
        let upstream: ToldUpstream
        let counting: CountingDatabase
        let service: CarrelService
        let alice: Account
        let settings: CarrelService.Settings

        func ask(_ call: String, _ parameters: [String: String]) async throws -> SubscriptionReply {
            try await test.ask(call, parameters, at: service)
        }

        func signIn(_ device: String, _ password: String) async throws -> SubscriptionReply {
            try await ask("sign_in", ["username": "alice", "password": password, "uuid": device])
        }
    }

    private func stand(_ devices: DevicePolicy = DevicePolicy()) async throws -> Stand {
        let upstream = ToldUpstream()
        let test = try await TestService(with: [.editionDelivery, .administration]) {
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        var settings = CarrelService.Settings()
        settings.passwordCost = .init(memory: 64, passes: 1)
        settings.subscription.sources = [.upstream(upstream.settings()), .accounts]
        settings.subscription.devices = devices
        let (counting, service) = try await test.counted(settings)
        let alice = try await service.desk.create("alice", password: password, by: staff)
        return Stand(test: test, upstream: upstream, counting: counting, service: service, alice: alice, settings: settings)
    }

    @Test func `recognize their tokens by the form, and send no request about a cached one`() async throws {
        let stand = try await stand()
        let token = try await stand.service.accounts.issueSession(for: stand.alice)
        func reads() async throws -> Int {
            #expect(try await stand.ask("verify_subscription", ["token": token]).status == 200)
            let before = stand.counting.reads
            for _ in 1...5 { #expect(try await stand.ask("verify_subscription", ["token": token]).status == 200) }
            return stand.counting.reads - before
        }
        #expect(try await reads() == 0)
        _ = try await stand.ask("renew_token", ["token": token])
        #expect(try await stand.ask("verify_subscription", ["token": token]).xml.contains("stale"))
        #expect(try await reads() == 0, "one that is to be renewed is remembered too")
    }

    @Test func `send no other source a token of theirs that has ended, or never existed`() async throws {
        let stand = try await stand()
        let token = try await stand.service.accounts.issueSession(for: stand.alice)
        _ = try await stand.ask("sign_out", ["token": token])
        let random = Random.bytes(32)
        let madeUp = "cs_" + Base64URL.encode(random + SHA256.hash(random.rawSpan).prefix(4))
        for token in [token, madeUp] {
            #expect(try await stand.ask("verify_subscription", ["token": token]).xml.contains("stale"))
            let asked = try await stand.ask("edition_credentials", ["token": token, "product_id": "p"])
            #expect(asked.xml.contains("notrecognised"))
            #expect(try await stand.ask("renew_token", ["token": token]).xml.contains("notrecognised"))
            #expect(try await stand.ask("sign_out", ["token": token]).status == 200)
        }
        #expect(stand.upstream.calls == [])
    }

    @Test func `refuse a password that was changed while it was verified`() async throws {
        let stand = try await stand()
        let (desk, id, actor) = (stand.test.service.desk, stand.alice.id, staff)
        stand.upstream.answer("sign_in", #"{"error": {"status": "notrecognised", "message": "No"}}"#)
        // The attempt is counted and forgiven before the session is opened; the upstream refusal is recorded afterwards.
        stand.counting.before(write: 3) { try await desk.setPassword("another horse battery", of: id, by: actor) }
        #expect(try await stand.signIn("phone", password).xml.contains("notrecognised"))
        #expect(try await stand.service.accounts.sessions.list(of: stand.alice).isEmpty)
        #expect(try await stand.signIn("phone", "another horse battery").xml.hasPrefix("<token>"))
    }

    @Test func `rehash a password in passing when its cost is too low`() async throws {
        let stand = try await stand()
        stand.upstream.answer("sign_in", #"{"error": {"status": "notrecognised", "message": "No"}}"#)
        func kept() async throws -> String? {
            try await stand.service.database.read {
                try $0.row(SQL("SELECT password FROM accounts WHERE name = 'alice'"), [])?.textIfPresent(0)
            }
        }
        let cheap = try await kept()
        var settings = stand.settings
        settings.passwordCost = .init(memory: 64, passes: 2)
        let dearer = try await CarrelService.open(
            stand.service.home,
            database: stand.service.database,
            settings: settings,
            clock: stand.test.clock
        )
        func signIn() async throws -> String {
            let parameters = ["username": "alice", "password": password, "uuid": "phone"]
            return try await stand.test.ask("sign_in", parameters, at: dearer).xml
        }
        #expect(try await signIn().hasPrefix("<token>"))
        let dear = try await kept()
        #expect(cheap?.contains(",t=1,") == true && dear?.contains(",t=2,") == true)
        #expect(try await signIn().hasPrefix("<token>"), "by the same password")
        #expect(try await kept() == dear)
    }

    @Test func `say whether a device is too much, or too soon`() async throws {
        for isSignedOut in [false, true] {
            var policy = DevicePolicy()
            policy.limit = 1
            let stand = try await stand(policy)
            stand.upstream.answer("sign_in", #"{"error": {"status": "notrecognised", "message": "No"}}"#)
            let reply = try await stand.signIn("phone", password)
            if isSignedOut { _ = try await stand.ask("sign_out", ["token": reply.token]) }
            let second = try await stand.signIn("tablet", password).xml
            #expect(second.contains("status=\"devicelimit\""))
            #expect(
                second.contains("too often today") == isSignedOut && second.contains("maximum number of devices") != isSignedOut
            )
        }
    }

    @Test(arguments: ["notentitled", "expired", "suspended", "granted"])
    func `explain what they say`(verdict: String) async throws {
        let stand = try await stand()
        try await stand.test.add(product: "p1")
        let end = verdict == "expired" ? stand.test.clock.now + .seconds(60) : nil
        if verdict != "notentitled" {
            _ = try await stand.service.subscriptions.give("p1", to: stand.alice, as: .gift, end: end, by: staff)
        }
        if verdict == "suspended" { try await stand.service.desk.setSuspended(true, stand.alice.id, by: staff) }
        stand.test.clock.advance(by: .seconds(60))
        let path = "/admin/v1/explanations?name=alice&product=p1"
        let said = try await stand.test.call(.get, path, peer: .local(userID: 0)).json
        #expect(said["verdict"]?.string == verdict && said["source"] == "accounts")
    }
}
