// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelEditionDelivery
import CarrelEntitlementSources
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Testing

/// Entitlements while an upstream system does not respond: fail policy × token × account × last statement × its age × product,
/// each through the calls themselves.
@Suite(.onBothDatabases)
struct `The decision table of a system that is silent` {
    private enum Token: CaseIterable {
        case neverSeen, live
        /// Another one's successor.
        case renewed
        /// The system took it back.
        case refused
        /// Its owner signed out.
        case ended
    }
    private enum Word: CaseIterable { case none, granted, refused }
    private enum State: String, CaseIterable { case published, draft, withdrawn, unknown }

    private struct Case {
        let token: Token
        let isSuspended: Bool
        let word: Word
        let state: State
        let isOld: Bool
        let number: Int

        /// The scripted system refuses what does not begin with a p.
        var product: String { (word == .refused ? "x-" : "p-") + state.rawValue }
        /// One reader for each case; the system takes what is before the slash.
        var name: String { "reader/\(number)" }
        var shown: String { token == .renewed ? "T-\(name)+" : "T-\(name)" }

        /// The answer: what credentials live, `notentitled`, `notrecognised`, or 503.
        func expected(_ policy: FailPolicy) -> String {
            guard token == .live || token == .renewed else { return "notrecognised" }
            if isSuspended { return "503" }
            let isOut = state == .published || state == .unknown
            switch policy {
            case .closed: return "503"
            case .lastKnownGood: return word == .granted && !isOld ? (isOut ? "3600 s" : "notentitled") : "503"
            case .open: return isOld ? "503" : isOut ? "900 s" : "notentitled"
            }
        }
    }

    private static let cases: [Case] = {
        var cases: [Case] = []
        for token in Token.allCases {
            for isSuspended in [false, true] {
                for word in Word.allCases {
                    for state in State.allCases {
                        for isOld in [false, true] {
                            cases.append(
                                Case(
                                    token: token,
                                    isSuspended: isSuspended,
                                    word: word,
                                    state: state,
                                    isOld: isOld,
                                    number: cases.count
                                )
                            )
                        }
                    }
                }
            }
        }
        return cases
    }()

    /// Lets the system say what it said before it fell silent.
    private func tell(_ one: Case, _ test: TestService, _ upstream: ScriptedUpstream) async throws {
        guard one.token != .neverSeen else { return }
        _ = try await test.ask("sign_in", ["username": one.name, "password": "right"])
        if one.token == .renewed { _ = try await test.ask("renew_token", ["token": "T-\(one.name)"]) }
        let asked = ["token": one.shown, "product_id": one.product]
        if one.word != .none { _ = try await test.ask("edition_credentials", asked) }
        if one.isSuspended {
            upstream.suspend(one.shown)
            _ = try await test.ask("verify_subscription", ["token": one.shown])
        }
        switch one.token {
        case .refused:
            upstream.revoke(one.shown)
            _ = try await test.ask("edition_credentials", asked)
        case .ended: _ = try await test.ask("sign_out", ["token": one.shown])
        default: break
        }
    }

    @Test(arguments: [FailPolicy.closed, .lastKnownGood(.seconds(3600)), .open(.seconds(3600), perMinute: 100_000)])
    func `gives every combination its answer`(policy: FailPolicy) async throws {
        let upstream = ScriptedUpstream()
        let test = try await TestService(with: .editionDelivery) {
            var settings = upstream.settings
            settings.policy = policy
            $0.subscription.sources = [.upstream(settings), .accounts]
        }
        for prefix in ["p-", "x-"] {
            for state in State.allCases where state != .unknown {
                let product = prefix + state.rawValue
                try await test.add(product: product)
                try await test.service.database.write { transaction in
                    _ = try transaction.run(
                        SQL("UPDATE editions SET state = $2 WHERE product_id = $1"),
                        [.text(product), .text(state.rawValue)]
                    )
                }
            }
        }
        for one in Self.cases where one.isOld { try await tell(one, test, upstream) }
        test.clock.advance(by: .seconds(3600))
        for one in Self.cases where !one.isOld { try await tell(one, test, upstream) }
        upstream.fail(.status500)
        var wrong: [String] = []
        for one in Self.cases {
            let reply = try await test.ask("edition_credentials", ["token": one.shown, "product_id": one.product])
            let said: String
            if reply.status != 200 {
                said = "\(reply.status)"
            } else if let pair = reply.pair,
                let verified = try await test.service.credentials.verify(pair, product: one.product)
            {
                said = "\(verified.expiresAt.milliseconds / 1000 - test.clock.now.milliseconds / 1000) s"
            } else {
                said = String(reply.xml.split(separator: "\"").dropFirst().first ?? "")
            }
            if said != one.expected(policy) { wrong.append("\(one): \(said), not \(one.expected(policy))") }
        }
        #expect(Self.cases.count == 240)
        #expect(wrong.count == 0, "\(wrong.prefix(5))")
    }
}
