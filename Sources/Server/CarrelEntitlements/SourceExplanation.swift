// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelSubscription

/// A source's explanation for a user and a product, made without upstream calls.
package struct SourceExplanation: Sendable, Equatable {
    package enum Verdict: String, Sendable {
        case granted
        case notEntitled = "notentitled"
        case expired
        case suspended
        /// An upstream system decides on every request.
        case asked
        /// An upstream system is unreachable, and its fail policy grants nothing.
        case unavailable
    }

    package var verdict: Verdict
    /// The rule that grants it.
    package var rule: String?
    package var findings: [Entitlement.Finding]
    /// The newest credentials for the product that the audit log knows of, and the rule by which they were granted.
    package var lastGrant: (at: Instant, rule: String)?

    package init(
        verdict: Verdict,
        rule: String? = nil,
        findings: [Entitlement.Finding],
        lastGrant: (at: Instant, rule: String)? = nil
    ) {
        self.verdict = verdict
        self.rule = rule
        self.findings = findings
        self.lastGrant = lastGrant
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.verdict == b.verdict && a.rule == b.rule && a.findings == b.findings && a.lastGrant?.at == b.lastGrant?.at
    }
}
