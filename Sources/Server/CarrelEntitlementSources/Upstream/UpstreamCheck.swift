// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelCrypto
import CarrelSubscription
import CarrelUpstream

/// A check whether an upstream system can be a source: it makes every call once, for an unknown user, who must be refused, and
/// with a subscriber's name and password, who must be granted.
///
/// Nothing is kept of it, and no server need run.
package struct UpstreamCheck: Sendable {
    /// The outcome of one call.
    package struct Finding: Sendable, Equatable {
        package enum Verdict: String, Sendable {
            case good
            /// The response was wrong.
            case wrong
            /// There was no response.
            case failed
        }

        package let call: String
        /// The user of the call: `nobody` (unknown) or `subscriber`.
        package let about: String
        package let verdict: Verdict
        /// Its response, without tokens and passwords.
        package let answer: String
        package let duration: Duration
    }

    /// A subscriber known to the system.
    package struct Subscriber: Sendable {
        let name: String
        let password: String

        package init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }

    private let system: any UpstreamSystem
    private let product: String

    /// - Parameters:
    ///   - settings: the settings of the system.
    ///   - product: the id of a product to request.
    /// - Throws: `upstream.address` for an invalid address.
    package init(_ settings: UpstreamSettings, product: String) throws {
        system = try settings.system()
        self.product = product
    }

    /// Makes the calls for an unknown user, then for the subscriber, who is signed out again.
    package func run(_ subscriber: Subscriber? = nil) async -> [Finding] {
        var findings = await aboutNobody()
        // A system that does not respond gets no further requests: they would only add timeouts.
        if let subscriber, findings.contains(where: { $0.verdict != .failed }) { findings += await about(subscriber) }
        return findings
    }

    private func aboutNobody() async -> [Finding] {
        let (unknown, token) = ("nobody-\(Random.uuid())", "carrel-check-\(Random.uuid())")
        let system = system
        return [
            await ask("sign_in", "nobody") { () throws(UpstreamError) in
                Self.told(try await system.signIn(name: unknown, password: token, device: nil), mayGrant: false).outcome
            },
            await ask("verify_subscription", "nobody") { () throws(UpstreamError) in
                Self.told(try await system.verify(token), mayGrant: false)
            },
            await ask("edition_credentials", "nobody") { () throws(UpstreamError) in
                Self.told(try await system.permission(for: product, token: token), mayGrant: false)
            },
        ]
    }

    private func about(_ subscriber: Subscriber) async -> [Finding] {
        let system = system
        var (findings, token): ([Finding], String?) = ([], nil)
        findings.append(
            await ask("sign_in", "subscriber") { () throws(UpstreamError) in
                let answer = try await system.signIn(name: subscriber.name, password: subscriber.password, device: nil)
                let told = Self.told(answer, mayGrant: true)
                token = told.token
                return told.outcome
            }
        )
        guard let token else { return findings }
        findings.append(
            await ask("verify_subscription", "subscriber") { () throws(UpstreamError) in
                Self.told(try await system.verify(token), mayGrant: true)
            }
        )
        findings.append(
            await ask("edition_credentials", "subscriber") { () throws(UpstreamError) in
                Self.told(try await system.permission(for: product, token: token), mayGrant: true)
            }
        )
        findings.append(
            await ask("sign_out", "subscriber") { () throws(UpstreamError) in
                try await system.signOut(token)
                return (true, "done")
            }
        )
        return findings
    }

    private func ask(
        _ call: String,
        _ about: String,
        _ body: () async throws(UpstreamError) -> (isGood: Bool, words: String)
    ) async -> Finding {
        let began = ContinuousClock.now
        do throws(UpstreamError) {
            let (isGood, words) = try await body()
            let duration = ContinuousClock.now - began
            return Finding(call: call, about: about, verdict: isGood ? .good : .wrong, answer: words, duration: duration)
        } catch {
            let duration = ContinuousClock.now - began
            return Finding(call: call, about: about, verdict: .failed, answer: error.message, duration: duration)
        }
    }

    // MARK: Judging responses

    private static func told(
        _ answer: SignInAnswer,
        mayGrant: Bool
    ) -> (outcome: (isGood: Bool, words: String), token: String?) {
        switch answer {
        case .token(let token, _): ((mayGrant, "a token"), token)
        case .refused(let status, _): ((!mayGrant, status ?? "an error without a status"), nil)
        }
    }

    private static func told(_ answer: SubscriptionAnswer, mayGrant: Bool) -> (isGood: Bool, words: String) {
        var words = answer.state.rawValue
        if let issues = answer.issues {
            words += ", \(issues.count) issues"
        } else if answer.state == .active {
            words += ", everything"
        }
        let grants = answer.state == .active || answer.issues?.isEmpty == false
        return mayGrant ? (answer.state != .stale && answer.state != .unknown, words) : (!grants, words)
    }

    private static func told(_ permission: CarrelUpstream.Permission, mayGrant: Bool) -> (isGood: Bool, words: String) {
        switch permission {
        case .granted: (mayGrant, "granted")
        // A subscriber need not have the product, but has to be known.
        case .refused(let status, _): (!mayGrant || status != "notrecognised", status ?? "an error without a status")
        }
    }
}
