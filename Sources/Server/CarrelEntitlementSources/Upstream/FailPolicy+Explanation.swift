// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelEntitlements
import CarrelSubscription

extension FailPolicy {
    /// The last response of an upstream system for a reader and a product, and the fail policy's decision while it is unreachable.
    func explanation(
        of productID: String,
        _ known: UpstreamStore.Record,
        isAvailable: Bool,
        lastGrant: (at: Instant, rule: String)?,
        at now: Instant
    ) throws -> SourceExplanation {
        let memory = known.memory
        let token =
            switch memory.token {
            case .live: "the system recognised it at \(memory.confirmedAt)"
            case .refused: "the system no longer recognises it"
            case .ended: "its owner signed out"
            }
        var findings = [Entitlement.Finding(rule: "newest token", effect: .none, reason: token)]
        if memory.isSuspended {
            findings.append(.init(rule: "last answer", effect: .none, reason: "the account was suspended"))
        } else if let (bytes, at) = known.answer {
            let answer = try SubscriptionAnswer.parse(bytes)
            let what =
                switch answer.issues {
                case nil: "every product"
                case .some(let issues) where issues.contains(productID): "listing the product"
                default: "without the product"
                }
            let grants = answer.issues.map { $0.contains(productID) } ?? (answer.state == .active)
            let reason = "at \(at) the system reported \(answer.state.rawValue), \(what)"
            findings.append(.init(rule: "last answer", effect: grants ? .grants : .none, reason: reason))
        }
        if let granted = memory.grantedAt {
            findings.append(
                .init(rule: "last word on the product", effect: .grants, reason: "the system granted it at \(granted)")
            )
        }
        let standIn: (grants: Bool, reason: String) =
            switch ruling(on: memory, at: now) {
            case .notRecognised, .unavailable: (false, "while the system is unreachable, it is not granted")
            case .remembered(let life), .opened(let life):
                (true, "while the system is unreachable, it is granted for \(life.components.seconds) seconds")
            }
        findings.append(.init(rule: "fail policy \(word)", effect: standIn.grants ? .grants : .none, reason: standIn.reason))
        var explanation = SourceExplanation(verdict: .asked, rule: nil, findings: findings, lastGrant: lastGrant)
        if !isAvailable {
            explanation.verdict = standIn.grants ? .granted : .unavailable
            explanation.rule = standIn.grants ? "fail policy \(word)" : nil
        }
        return explanation
    }
}
