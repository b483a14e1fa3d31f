// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import Testing

struct `The names of an app's parameters` {
    @Test func `are what the operator says, and then no others`() async throws {
        let test = try await TestService(with: .feeds) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.devices.limit = 1
            $0.subscription.givesFeedPasswords = true
            $0.subscription.names.user = ["urn"]
            $0.subscription.names.password = ["surname", "pin"]
            $0.subscription.names.token = ["t"]
            $0.subscription.names.product = ["edition"]
            $0.subscription.names.device = ["handset"]
        }
        let account = try await test.service.desk.create("alice", password: "correct horse battery", by: AuditActor("operator"))
        try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: AuditActor("operator"))
        _ = try await test.service.subscriptions.grant(plan: "gold", to: account, by: AuditActor("operator"))
        let feed = String(decoding: try await test.send(.get, "/opds/v1").body, as: UTF8.self)
        for template in [
            "sign_in/?urn={username}&amp;surname={password}&amp;handset={uuid}", "verify_subscription/?t={token}",
            "edition_credentials/?t={token}&amp;edition={product_id}", "renew_token/?t={token}", "sign_out/?t={token}",
        ] {
            #expect(feed.contains("/\(template)\""), "\(feed)")
        }
        try await test.add(product: "issue-1")
        let usual = ["username": "alice", "password": "correct horse battery", "uuid": "phone"]
        #expect(try await test.ask("sign_in", usual).status == 400)
        var reply = ""
        for _ in 1...2 {
            // The same handset twice is one device.
            reply = try await test.ask("sign_in", ["urn": "alice", "pin": "correct horse battery", "handset": "x"]).xml
            #expect(reply.contains("<token global_auth_password=\""), "\(reply)")
        }
        let token = String(reply.split(separator: ">")[1].split(separator: "<")[0])
        let password = String(reply.split(separator: "\"")[1])
        #expect(test.service.feedPasswords.isRight(password, of: token))
        #expect(try await test.ask("verify_subscription", ["t": token]).xml.contains("state=\"active\""))
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\""))
        #expect(try await test.ask("edition_credentials", ["t": token, "edition": "issue-1"]).xml.contains("<userid>"))
        #expect(try await test.ask("edition_credentials", ["t": token, "product_id": "issue-1"]).xml.contains("notentitled"))
        let renewed = try await test.ask("renew_token", ["t": token]).xml
        #expect(renewed.contains("<token global_auth_password=\""), "\(renewed)")
        #expect(!renewed.contains(password), "each token has its own")
        #expect(try await test.ask("sign_out", ["t": token]).status == 200)
    }

    @Test func `are one meaning each`() {
        #expect(ParameterNames().problem == nil)
        func problem(_ change: (inout ParameterNames) -> Void) -> String? {
            var names = ParameterNames()
            change(&names)
            return names.problem?.of
        }
        #expect(problem { $0.password = [] } == "password")
        #expect(problem { $0.token = [""] } == "token")
        #expect(problem { $0.device = ["username"] } == "user")
        #expect(problem { $0.deviceName = ["uuid"] } == "device")
        #expect(problem { $0.product = ["token"] } == "token")
        #expect(problem { $0.product = ["username"] } == nil, "they are not in the same call")
    }
}
