// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEntitlementSources
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import Testing

/// The precedence of several sources: two upstream systems, queried about unknown tokens, in the order of the configuration.
@Suite(.onBothDatabases)
struct `Sources that are asked in order` {
    /// A system's statement about a token, or no response.
    private enum Word: CaseIterable { case active, listed, inactive, suspended, stale, down }

    private static func name(_ word: Word, _ number: Int) -> String {
        switch word {
        case .active, .suspended, .stale, .down: "T-reader/\(number)"
        case .listed: "T-lapsed/\(number)"
        case .inactive: "T-former/\(number)"
        }
    }

    private func service(_ first: ScriptedUpstream, _ second: ScriptedUpstream) async throws -> TestService {
        try await TestService(with: .editionDelivery) {
            var (one, other) = (first.settings, second.settings)
            (one.name, other.name) = ("first", "second")
            // Each question is asked, however many failed.
            (one.breaker.failures, other.breaker.failures) = (1_000_000, 1_000_000)
            $0.subscription.sources = [.upstream(one), .upstream(other), .accounts]
        }
    }

    private static func tell(_ word: Word, of token: String, to upstream: ScriptedUpstream) {
        upstream.fail(word == .down ? .status500 : nil)
        if word == .suspended { upstream.suspend(token) }
        if word == .stale { upstream.revoke(token) }
    }

    private static func state(_ reply: SubscriptionReply) -> String {
        guard reply.status == 200 else { return "\(reply.status) \(reply.xml.contains("first") ? "first" : "second")" }
        return String(reply.xml.split(separator: "state=\"").last?.prefix { $0 != "\"" } ?? "")
    }

    /// Both systems take the same tokens; the second system's statement can differ only by the script of this one.
    @Test func `are heard up to the first that leaves no doubt, and any doubt ends in none while one is silent`() async throws {
        let (first, second) = (ScriptedUpstream(), ScriptedUpstream())
        let test = try await service(first, second)
        var (number, wrong) = (0, [String]())
        for one in Word.allCases {
            for other in [Word.active, .suspended, .stale, .down] where one != .listed && one != .inactive {
                number += 1
                let token = Self.name(.active, number)
                Self.tell(one, of: token, to: first)
                Self.tell(other, of: token, to: second)
                _ = second.calls()
                let said = Self.state(try await test.ask("verify_subscription", ["token": token]))
                let expected =
                    switch (one, other) {
                    case (.active, _): "active"
                    case (.suspended, _): "suspended"
                    case (_, .active): "active"
                    case (_, .suspended): "suspended"
                    case (.stale, .stale): "stale"
                    case (.down, _): "503 first"
                    default: "503 second"
                    }
                if said != expected { wrong.append("\(one) \(other): \(said), not \(expected)") }
                let isAsked = second.calls() == ["verify_subscription"]
                if isAsked == (one == .active || one == .suspended) { wrong.append("\(one) \(other): \(isAsked)") }
            }
        }
        for one in [Word.listed, .inactive] {
            for other in [Word.stale, .down] {
                number += 1
                let token = Self.name(one, number)
                Self.tell(one, of: token, to: first)
                Self.tell(other, of: token, to: second)
                let said = Self.state(try await test.ask("verify_subscription", ["token": token]))
                // A list says enough; that nothing is current may be another's to know.
                let expected = one == .listed || other == .stale ? "inactive" : "503 second"
                if said != expected { wrong.append("\(one) \(other): \(said), not \(expected)") }
            }
        }
        #expect(wrong.count == 0, "\(wrong)")
        #expect(number == 20)
    }

    @Test func `give credentials where one of them grants, and the first refusal where none does`() async throws {
        let (first, second) = (ScriptedUpstream(), ScriptedUpstream())
        let test = try await service(first, second)
        func asked(_ number: Int, _ product: String, _ one: Word, _ other: Word) async throws -> String {
            let token = Self.name(.active, number)
            Self.tell(one, of: token, to: first)
            Self.tell(other, of: token, to: second)
            let reply = try await test.ask("edition_credentials", ["token": token, "product_id": product])
            if reply.pair != nil { return "granted" }
            return reply.status == 200 ? String(reply.xml.split(separator: "\"").dropFirst().first ?? "") : "\(reply.status)"
        }
        var answers: [String] = []
        for (number, (one, other)) in [
            (Word.active, Word.stale), (.stale, .active), (.suspended, .active), (.down, .active), (.active, .down),
            (.suspended, .stale), (.stale, .suspended), (.suspended, .down), (.stale, .down), (.stale, .stale), (.down, .down),
        ].enumerated() {
            answers.append(try await asked(100 + number, "p1", one, other))
        }
        let granted = Array(repeating: "granted", count: 5)
        let refused = ["notentitled", "notentitled", "notentitled", "notrecognised", "notrecognised", "notrecognised"]
        #expect(answers == granted + refused)
        let records = try await test.service.audit.list(AuditFilter()).filter { $0.action == "edition.credentials" }
        #expect(records.count == 8, "strangers' tokens leave no record")
    }

    @Test func `renew what one of them knows`() async throws {
        let (first, second) = (ScriptedUpstream(), ScriptedUpstream())
        let test = try await service(first, second)
        var answers: [String] = []
        for (number, (one, other)) in [
            (Word.active, Word.stale), (.stale, .active), (.down, .active), (.stale, .stale), (.stale, .down), (.down, .stale),
        ].enumerated() {
            let token = Self.name(.active, 200 + number)
            Self.tell(one, of: token, to: first)
            Self.tell(other, of: token, to: second)
            let reply = try await test.ask("renew_token", ["token": token])
            answers.append(reply.status == 200 ? (reply.xml.hasPrefix("<token>") ? "token" : "refused") : "\(reply.status)")
        }
        #expect(answers == ["token", "token", "token", "refused", "503", "503"])
    }

    @Test func `sign in with the first that knows the account, and report none unknown while one does not respond`() async throws
    {
        let (first, second) = (ScriptedUpstream(), ScriptedUpstream())
        let test = try await service(first, second)
        _ = try await test.service.desk.create("alice", password: "correct horse battery", by: AuditActor("operator"))
        func signIn(_ name: String, _ password: String) async throws -> String {
            let reply = try await test.ask("sign_in", ["username": name, "password": password])
            if reply.status != 200 { return "\(reply.status) \(reply.xml.contains("first") ? "first" : "second")" }
            return reply.xml.hasPrefix("<token>") ? "token" : String(reply.xml.split(separator: "\"").dropFirst().first ?? "")
        }
        _ = second.calls()
        #expect(try await signIn("reader/300", "right") == "token")
        #expect(second.calls() == [])
        #expect(try await signIn("nobody", "right") == "notrecognised")
        first.fail(.status500)
        #expect(try await signIn("reader/301", "right") == "token")
        #expect(try await signIn("nobody", "wrong") == "503 first")
        second.fail(.status500)
        #expect(try await signIn("nobody", "worse") == "503 first")
        first.fail(nil)
        #expect(try await signIn("nobody", "worst") == "503 second")
        #expect(try await signIn("alice", "correct horse battery") == "token", "whoever else is silent")
    }

    @Test func `end a token with the one whose it is`() async throws {
        let (first, second) = (ScriptedUpstream(), ScriptedUpstream())
        let test = try await service(first, second)
        first.fail(.status500)
        _ = try await test.ask("sign_in", ["username": "reader/400", "password": "right"])
        first.fail(nil)
        _ = (first.calls(), second.calls())
        #expect(try await test.ask("sign_out", ["token": "T-reader/400"]).status == 200)
        let calls = [first.calls(), second.calls()]
        #expect(calls == [[], ["sign_out"]])
        #expect(try await test.ask("verify_subscription", ["token": "T-reader/400"]).xml.contains("state=\"stale\""))
    }
}
