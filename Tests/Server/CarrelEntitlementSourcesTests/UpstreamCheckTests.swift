// SPDX-License-Identifier: Apache-2.0

import CarrelEntitlementSources
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import CarrelTesting
import CarrelUpstream
import Testing

struct `A check of an upstream system` {
    @Test(arguments: ScriptedUpstream.Kind.allCases)
    func `finds nothing wrong with one that knows whom it lets in`(kind: ScriptedUpstream.Kind) async throws {
        let upstream = ScriptedUpstream(kind)
        let check = try UpstreamCheck(upstream.settings, product: "p1")
        let stranger = await check.run()
        #expect(stranger.map(\.call) == ["sign_in", "verify_subscription", "edition_credentials"])
        #expect(stranger.allSatisfy { $0.verdict == .good && $0.about == "nobody" }, "\(stranger)")
        let subscriber = await check.run(UpstreamCheck.Subscriber(name: "reader", password: "right")).dropFirst(3)
        #expect(subscriber.map(\.call) == ["sign_in", "verify_subscription", "edition_credentials", "sign_out"])
        #expect(subscriber.map(\.answer) == ["a token", "active, everything", "granted", "done"])
        #expect(subscriber.allSatisfy { $0.verdict == .good })
        #expect(!"\(subscriber)".contains("T-reader"), "and shows no token")
        let wrong = await check.run(UpstreamCheck.Subscriber(name: "reader", password: "wrong"))
        #expect(wrong.last?.verdict == .wrong && wrong.count == 4)
    }

    @Test func `detects a system that accepts every user`() async throws {
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let answer =
                    switch request.target {
                    case "/sign_in/": SignInAnswer.token("T").write()
                    case "/verify_subscription/": SubscriptionAnswer(.active).write()
                    default: CredentialsAnswer.granted(userID: "U", password: "P").write()
                    }
                connection.respond(200, body: answer)
            }
        }
        let endpoints = SubscriptionEndpoints(base: "http://127.0.0.1:\(server.port)")
        let check = try UpstreamCheck(UpstreamSettings(name: "open", .calls(endpoints)), product: "p1")
        let findings = await check.run()
        #expect(findings.map(\.verdict) == [.wrong, .wrong, .wrong])
    }

    @Test func `tells no password to one that does not answer`() async throws {
        let upstream = ScriptedUpstream()
        upstream.fail(.status500)
        let check = try UpstreamCheck(upstream.settings, product: "p1")
        let findings = await check.run(UpstreamCheck.Subscriber(name: "reader", password: "right"))
        #expect(findings.map(\.verdict) == [.failed, .failed, .failed])
        #expect(findings.first?.answer == "the upstream system answered with status 500")
        #expect(upstream.calls().count == 3)
    }
}
