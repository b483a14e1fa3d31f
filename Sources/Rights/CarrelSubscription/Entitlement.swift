// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The holdings of an account and its entitlements: a pure function of plans, purchases, products and the time.
///
/// The rules, each of which grants a product, would have granted it, or does not apply:
/// - a free product is open to every account;
/// - a running plan of scope `everything` grants every product; an ended plan grants none;
/// - a plan of scope `issues` grants the issues that came out while it ran, and after its end as many grace issues as it has;
/// - a plan of scope `listed` grants its products from its start, also after its end;
/// - a purchase or a gift grants its product until its own end;
/// - a plan that was revoked, or ended before it began, grants nothing and never did.
/// Drafts and withdrawn products belong to no account, and a suspended account has nothing.
package struct Entitlement: Sendable {
    package let isSuspended: Bool
    package let subscriptions: [Subscription]
    package let purchases: [Purchase]

    package init(isSuspended: Bool = false, subscriptions: [Subscription] = [], purchases: [Purchase] = []) {
        self.isSuspended = isSuspended
        self.subscriptions = subscriptions
        self.purchases = purchases
    }

    /// The verdict of one rule on a product.
    package struct Finding: Sendable, Equatable {
        package enum Effect: String, Sendable { case grants, lapsed, notYet, none }

        /// The basis of the rule: `free`, `plan NAME`, `purchase` or `gift`.
        package let rule: String
        package let effect: Effect
        /// Why, as a sentence without a period.
        package let reason: String
        /// When a granting rule expires; nil if no date limits it.
        package let until: Instant?

        package init(rule: String, effect: Effect, reason: String, until: Instant? = nil) {
            self.rule = rule
            self.effect = effect
            self.reason = reason
            self.until = until
        }
    }

    package enum Verdict: Sendable, Equatable {
        /// The rule that granted it.
        case granted(String)
        case notEntitled
        /// A plan, purchase or gift that has ended would have granted it.
        case expired
        case suspended
    }

    /// The rights of the account to a product.
    package func verdict(on product: Product?, of products: Products, at now: Instant) -> Verdict {
        word(on: product, of: products, at: now).verdict
    }

    /// The rights of the account to a product, and the end of the last rule that grants it; nil without such a date.
    package func word(
        on product: Product?,
        of products: Products,
        at now: Instant
    ) -> (verdict: Verdict, until: Instant?) {
        if isSuspended { return (.suspended, nil) }
        guard let product, product.state == .published else { return (.notEntitled, nil) }
        let findings = findings(on: product, of: products, at: now)
        guard let granting = findings.first(where: { $0.effect == .grants }) else {
            return (findings.contains { $0.effect == .lapsed } ? .expired : .notEntitled, nil)
        }
        var last = granting.until
        for finding in findings where finding.effect == .grants {
            last = last.flatMap { last in finding.until.map { max(last, $0) } }
        }
        return (.granted(granting.rule), last)
    }

    /// The verdict of every rule on a published product, in the order of precedence.
    package func findings(on product: Product, of products: Products, at now: Instant) -> [Finding] {
        var found: [Finding] = []
        if product.isFree { found.append(Finding(rule: "free", effect: .grants, reason: "the product is free")) }
        for subscription in subscriptions { found.append(finding(of: subscription, on: product, products, now)) }
        for purchase in purchases where purchase.productID == product.id {
            let hasEnded = purchase.endsAt.map { $0 <= now } ?? false
            found.append(
                Finding(
                    rule: purchase.kind.rawValue,
                    effect: hasEnded ? .lapsed : .grants,
                    reason: hasEnded ? "it ended at \(purchase.endsAt ?? now)" : "the account has the product itself",
                    until: purchase.endsAt
                )
            )
        }
        return found
    }

    private func finding(
        of subscription: Subscription,
        on product: Product,
        _ products: Products,
        _ now: Instant
    ) -> Finding {
        let plan = subscription.plan
        func says(_ effect: Finding.Effect, _ reason: String, until: Instant? = nil) -> Finding {
            Finding(rule: "plan \(plan.name)", effect: effect, reason: reason, until: until)
        }
        if let revoked = subscription.revokedAt { return says(.none, "it was revoked at \(revoked)") }
        if subscription.isVoid { return says(.none, "it was ended before it began") }
        if subscription.startsAt > now { return says(.notYet, "it starts at \(subscription.startsAt)") }
        let hasEnded = subscription.hasEnded(at: now)
        switch plan.scope {
        case .everything:
            guard let end = subscription.endsAt, hasEnded else {
                return says(.grants, "it grants everything while it runs", until: subscription.endsAt)
            }
            return says(.lapsed, "it granted everything until it ended at \(end)")
        case .listed:
            return plan.products.contains(product.id)
                ? says(.grants, "it lists the product") : says(.none, "it does not list the product")
        case .issues:
            if product.issuedAt < subscription.startsAt {
                return says(.none, "the issue is from before it started at \(subscription.startsAt)")
            }
            guard let end = subscription.endsAt, product.issuedAt >= end else {
                return says(.grants, "the issue came out while it ran")
            }
            let rank = products.rank(of: product, from: end)
            if rank <= plan.graceIssues { return says(.grants, "grace issue \(rank) of \(plan.graceIssues) after its end") }
            return hasEnded
                ? says(.lapsed, "the issue came out after it ended at \(end)")
                : says(.none, "the issue comes out after its end at \(end)")
        }
    }

    /// Whether the account has everything, so that its response lists no issues.
    package func coversEverything(at now: Instant) -> Bool {
        subscriptions.contains { $0.plan.scope == .everything && $0.isCurrent(at: now) }
    }

    /// Whether the account's products are listed one by one: it has a plan by issue, a purchase or a gift, and does not have
    /// everything anyway.
    package func isByIssue(at now: Instant) -> Bool {
        !coversEverything(at: now)
            && (!purchases.isEmpty || subscriptions.contains { $0.plan.scope != .everything && !$0.isVoid })
    }
}
