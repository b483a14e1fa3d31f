// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The benefits of subscribers of one kind.
package struct Plan: Sendable, Equatable {
    /// Chosen by the operator; the name in commands and reports.
    package let name: String
    package let scope: Scope
    /// Issues that a subscriber still gets after the subscription ended (`issues` plans only).
    package let graceIssues: Int
    /// Concurrent devices of each subscriber; nil leaves it to the account or the configuration.
    package let deviceLimit: Int?
    /// The products of a `listed` plan.
    package let products: Set<String>

    package enum Scope: String, Sendable, CaseIterable {
        /// Everything while it runs, nothing afterwards.
        case everything
        /// The issues published during the plan, and the grace issues; they stay readable after it.
        case issues
        /// A fixed list of products; they stay readable after the plan.
        case listed
    }

    package init(
        name: String,
        scope: Scope,
        graceIssues: Int = 0,
        deviceLimit: Int? = nil,
        products: Set<String> = []
    ) {
        self.name = name
        self.scope = scope
        self.graceIssues = graceIssues
        self.deviceLimit = deviceLimit
        self.products = products
    }
}

/// An account's plan, from its start to its end.
package struct Subscription: Sendable, Equatable {
    package let id: String
    package let plan: Plan
    package let startsAt: Instant
    /// The end of the plan; nil if it runs until it is cancelled.
    package let endsAt: Instant?
    /// When it was revoked retroactively; nil if it was not.
    package let revokedAt: Instant?

    package init(id: String, plan: Plan, startsAt: Instant, endsAt: Instant? = nil, revokedAt: Instant? = nil) {
        self.id = id
        self.plan = plan
        self.startsAt = startsAt
        self.endsAt = endsAt
        self.revokedAt = revokedAt
    }

    /// Whether it grants nothing, and never granted anything lasting: it was revoked, or ended before it began.
    package var isVoid: Bool {
        revokedAt != nil || endsAt.map { $0 <= startsAt } ?? false
    }

    /// Whether it runs: from its start, and until just before its end.
    package func isCurrent(at now: Instant) -> Bool {
        !isVoid && startsAt <= now && !hasEnded(at: now)
    }

    /// Whether it ran, and does not any more.
    package func hasEnded(at now: Instant) -> Bool {
        !isVoid && endsAt.map { $0 <= now } ?? false
    }
}

/// One product that an account bought or received.
package struct Purchase: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable { case purchase, gift }

    package let id: String
    package let productID: String
    package let kind: Kind
    /// The end; nil if unlimited.
    package let endsAt: Instant?

    package init(id: String, productID: String, kind: Kind = .purchase, endsAt: Instant? = nil) {
        self.id = id
        self.productID = productID
        self.kind = kind
        self.endsAt = endsAt
    }
}
