// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTPClient
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream
import Testing

struct `The entitlement webhook` {
    private static let secret = Secret(Array("sixteen bytes or more".utf8))

    /// Asks a hook that answers so; and what it was sent.
    private static func ask<Answer>(
        _ answer: String,
        status: Int = 200,
        _ body: (EntitlementWebhookClient) async throws -> Answer
    ) async throws -> (answer: Answer, request: LoopbackRequest?) {
        let seen = Locked<LoopbackRequest?>(nil)
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                seen.withLock { $0 = request }
                connection.respond(status, body: Array(answer.utf8))
            }
        }
        let hook = try EntitlementWebhookClient(
            "http://127.0.0.1:\(server.port)/hook",
            secret: secret,
            client: HTTPClient(),
            clock: ManualClock(Instant(milliseconds: 1_800_000_000_999))
        )
        let result = try await body(hook)
        return (result, seen.withLock { $0 })
    }

    @Test func `is asked in signed JSON`() async throws {
        let (answer, request) = try await Self.ask("{\"token\": \"T\", \"more\": [1]}") {
            try await $0.signIn(name: "a\"b", password: "é", device: "D")
        }
        #expect(answer == .token("T"))
        let sent = try #require(request)
        let body = "{\"version\":1,\"call\":\"sign_in\",\"username\":\"a\\\"b\",\"password\":\"é\",\"device\":\"D\"}"
        #expect(sent.method == "POST")
        #expect(sent.target == "/hook")
        #expect(sent["Content-Type"] == "application/json")
        #expect(String(decoding: sent.body, as: UTF8.self) == body)
        let signed = Array("1800000000.\(body)".utf8)
        let expected = Hex.encode(HMACSHA256(key: Self.secret).authenticate(signed.rawSpan))
        #expect(sent["Carrel-Signature"] == "t=1800000000,v1=\(expected)")
    }

    @Test func `has a publicly verifiable signature`() async throws {
        let key = HMACSHA256(key: Self.secret)
        let signature = EntitlementWebhookClient.signature(
            of: Array("{}".utf8),
            at: Instant(milliseconds: 1_800_000_000_000),
            key
        )
        let check = try await runProcess(
            ["openssl", "dgst", "-sha256", "-hmac", "sixteen bytes or more"],
            input: Array("1800000000.{}".utf8)
        )
        let expected = try #require(String(decoding: check.output, as: UTF8.self).split(separator: " ").last)
        #expect(signature == "t=1800000000,v1=\(expected.prefix(64))")
    }

    @Test func `answers every call`() async throws {
        let refused = "{\"error\": {\"status\": \"expired\", \"message\": \"M\"}}"
        #expect(try await Self.ask(refused) { try await $0.renew("T") }.answer == .refused(status: "expired", message: "M"))
        #expect(try await Self.ask("{\"granted\": true}") { try await $0.permission(for: "p", token: "T") }.answer == .granted)
        #expect(
            try await Self.ask("{\"error\": {}}") { try await $0.permission(for: "p", token: "T") }.answer
                == .refused(status: nil, message: nil)
        )
        let full = """
            {"state": "inactive", "message": "M", "categories": [{"scheme": "s", "term": "t"}], "issues": ["a", "b"]}
            """
        #expect(
            try await Self.ask(full) { try await $0.verify("T") }.answer
                == SubscriptionAnswer(.inactive, message: "M", categories: [.init(scheme: "s", term: "t")], issues: ["a", "b"])
        )
        #expect(
            try await Self.ask("{\"state\": \"active\"}") { try await $0.verify("T") }.answer == SubscriptionAnswer(.active)
        )
        #expect(try await Self.ask("anything") { try await $0.signOut("T") }.request?.method == "POST")
        _ = try await Self.ask("", status: 501) { try await $0.signOut("T") }
        await #expect(throws: UpstreamError.self) { try await Self.ask("", status: 501) { try await $0.renew("T") } }
    }

    @Test(arguments: [
        "", "true", "[]", "{}", "{\"granted\": \"true\"}", "{\"granted\": 1}", "{\"granted\": false}", "{\"state\": \"gold\"}",
        "{\"state\": \"active\", \"issues\": null}", "{\"state\": \"active\", \"issues\": [1]}",
        "{\"state\": \"active\", \"issues\": \"a\"}",
        "{\"state\": \"active\", \"categories\": [{\"scheme\": \"a\"}]}", "{\"token\": \"\"}", "{\"token\": 5}",
        "{\"error\": \"no\"}", "{\"error\": {\"status\": 1}}", "{\"granted\": true, \"granted\": true}", "<granted/>",
    ])
    func `grants nothing by an answer that is none`(answer: String) async throws {
        await #expect(throws: UpstreamError.self) { try await Self.ask(answer) { try await $0.permission(for: "p", token: "T") } }
        await #expect(throws: UpstreamError.self) { try await Self.ask(answer) { try await $0.verify("T") } }
        await #expect(throws: UpstreamError.self) {
            try await Self.ask(answer) { try await $0.signIn(name: "a", password: "b", device: nil) }
        }
    }

    @Test(arguments: [201, 204, 301, 302, 307, 400, 401, 403, 404, 429, 500, 503])
    func `takes only a status of 2xx for an answer`(status: Int) async throws {
        let isAnswer = try await Self.ask("{\"granted\": true}", status: status) { hook -> Bool in
            do throws(UpstreamError) {
                return try await hook.permission(for: "p", token: "T") == .granted
            } catch {
                #expect(error.isOutage == (status == 429 || status >= 500 || status == 204))
                return false
            }
        }.answer
        #expect(isAnswer == (status == 201))
    }
}
