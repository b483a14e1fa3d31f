// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
package import CarrelCatalog
import CarrelCrypto
import CarrelHome
package import CarrelStore
package import CarrelSubscription

/// Plans, and what accounts hold of them: made, given, ended, explained. Every change is in the audit log.
package struct Subscriptions: Sendable {
    let database: any Database
    let clock: any WallClock
    let lifecycle: AccountLifecycle
    package let products: ProductCatalogCache

    /// Makes a plan.
    ///
    /// - Throws: ``ServerError`` `conflict` if the name is taken, `invalid` for products in a plan that does not list them.
    package func createPlan(_ plan: Plan, by actor: AuditActor) async throws {
        guard !plan.name.isEmpty, plan.name.utf8.count <= 64,
            plan.name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") })
        else { throw ServerError(.invalid, "a plan's name has 1 to 64 visible ASCII characters and no slash") }
        guard plan.products.isEmpty || plan.scope == .listed else {
            throw ServerError(.invalid, "only a plan of scope 'listed' lists products")
        }
        guard plan.graceIssues >= 0, plan.graceIssues == 0 || plan.scope == .issues else {
            throw ServerError(.invalid, "only a plan of scope 'issues' has grace issues")
        }
        let entry = actor.entry("plan.create", on: plan.name, at: clock.now)
        try await database.write { transaction in
            guard try SubscriptionStore.insert(plan, at: entry.at, in: transaction) else {
                throw ServerError(.conflict, "there is a plan '\(plan.name)' already")
            }
            try SubscriptionStore.add(plan.products, to: plan.name, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    package func plans() async throws -> [Plan] {
        try await database.read { try SubscriptionStore.plans(in: $0) }
    }

    /// Grants an account a plan, by default from now and without an end.
    ///
    /// A client's number makes the call safe to repeat: the same number returns the first call's subscription, whatever
    /// its state. Without a number, a subscription that adds nothing to another of the same plan and end is refused.
    ///
    /// - Returns: the subscription, and whether this call created it.
    /// - Throws: ``ServerError`` `invalid` (no such plan, an end before the start, a number that is empty or too long) or
    ///   `conflict` (the number belongs to a different request, or the plan is already active with this end), with the id of the
    ///   existing subscription.
    package func grant(
        plan name: String,
        to account: Account,
        start: Instant? = nil,
        end: Instant? = nil,
        number: String? = nil,
        by actor: AuditActor
    ) async throws -> (subscription: Subscription, created: Bool) {
        let (now, asked) = (clock.now, (start: start, end: end))
        let start = start ?? now
        if let end, end <= start { throw ServerError(.invalid, "a subscription ends after it starts") }
        try Self.check(number)
        let id = Random.uuid()
        let entry = actor.entry("subscription.create", on: account.id, at: now, reason: name)
        return try await database.write { transaction in
            if let number,
                let earlier = try SubscriptionStore.subscription(number: number, of: account.id, in: transaction)
            {
                let known = earlier.subscription
                guard known.plan.name.utf8.elementsEqual(name.utf8), earlier.askedStart == asked.start,
                    earlier.askedEnd == asked.end
                else {
                    throw Self.otherContent(number, "subscription", known.id)
                }
                return (known, false)
            }
            guard let plan = try SubscriptionStore.plan(named: name, in: transaction) else {
                throw ServerError(.invalid, "there is no plan '\(name)'")
            }
            if number == nil {
                let repeated = try SubscriptionStore.subscriptions(of: account.id, in: transaction).first {
                    $0.plan.name.utf8.elementsEqual(name.utf8) && $0.endsAt == end && $0.startsAt <= start && !$0.isVoid
                        && !$0.hasEnded(at: now)
                }
                if let repeated { throw Self.repeated("plan", "subscription", repeated.id) }
            }
            let subscription = Subscription(id: id, plan: plan, startsAt: start, endsAt: end)
            try SubscriptionStore.insert(
                subscription,
                number: number,
                asked: asked,
                of: account.id,
                at: now,
                in: transaction
            )
            try AuditStore.append(entry, in: transaction)
            return (subscription, true)
        }
    }

    private static func check(_ number: String?) throws(ServerError) {
        if let number, number.isEmpty || number.utf8.count > 128 {
            throw ServerError(.invalid, "a number has 1 to 128 bytes")
        }
    }

    private static func otherContent(_ number: String, _ kind: String, _ id: String) -> ServerError {
        ServerError(.conflict, "number \(number) belongs to \(kind) \(id), which differs from this one", conflictingID: id)
    }

    private static func repeated(_ what: String, _ kind: String, _ id: String) -> ServerError {
        ServerError(
            .conflict,
            "the account has this \(what) with the same end already (\(kind) \(id)): send a number to create another",
            conflictingID: id
        )
    }

    /// Ends a subscription, immediately if no end is given. The account's apps must request new credentials.
    ///
    /// A subscription that already ends earlier is unchanged: ending never extends it, even if repeated.
    package func end(_ id: String, at end: Instant? = nil, by actor: AuditActor) async throws {
        let entry = actor.entry("subscription.end", on: id, at: clock.now)
        try await lifecycle.write(in: database) { transaction, changes in
            guard let known = try SubscriptionStore.subscription(id, in: transaction) else { throw Self.unknown }
            let end = max(end ?? entry.at, known.startsAt)
            guard known.revokedAt == nil, known.endsAt.map({ end < $0 }) ?? true else { return }
            try Self.setEnd(of: id, account: known.account, to: end, entry, by: actor, changes, in: transaction)
        }
    }

    /// Changes the end of a subscription; if it has ended by then, revokes the account's credentials.
    package static func setEnd(
        of id: String,
        account: String,
        to end: Instant,
        _ entry: AuditEntry,
        by actor: AuditActor,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws {
        try SubscriptionStore.endSubscription(id, at: end, in: transaction)
        if end <= entry.at { try changes.note(.holdingsReduced, of: account, by: actor, at: entry.at, in: transaction) }
        try AuditStore.append(entry, in: transaction)
    }

    /// Revokes a subscription and everything it granted, and revokes the account's credentials.
    package func revoke(_ id: String, by actor: AuditActor) async throws {
        let entry = actor.entry("subscription.revoke", on: id, at: clock.now)
        try await lifecycle.write(in: database) { transaction, changes in
            guard let known = try SubscriptionStore.subscription(id, in: transaction) else { throw Self.unknown }
            guard known.revokedAt == nil else { return }
            try SubscriptionStore.revokeSubscription(id, at: entry.at, in: transaction)
            try changes.note(.holdingsReduced, of: known.account, by: actor, at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    private static let unknown = ServerError(.notFound, "there is no such subscription")

    /// Grants an account a single product, as a purchase or a gift; a number works as for a subscription.
    ///
    /// - Returns: the purchase, and whether this call created it.
    /// - Throws: ``ServerError`` `invalid` (a product id or a number that is empty or too long) or `conflict` (the number belongs
    ///   to a different request, or the account already has the product with this end), with the id of the existing purchase.
    package func give(
        _ productID: String,
        to account: Account,
        as kind: Purchase.Kind,
        end: Instant? = nil,
        number: String? = nil,
        by actor: AuditActor
    ) async throws -> (purchase: Purchase, created: Bool) {
        guard !productID.isEmpty, productID.utf8.count <= 256 else {
            throw ServerError(.invalid, "a product id has 1 to 256 bytes")
        }
        try Self.check(number)
        let purchase = Purchase(id: Random.uuid(), productID: productID, kind: kind, endsAt: end)
        let entry = actor.entry("purchase.create", on: account.id, at: clock.now, reason: productID)
        return try await database.write { transaction in
            if let number, let earlier = try SubscriptionStore.purchase(number: number, of: account.id, in: transaction) {
                let known = earlier.purchase
                guard known.productID.utf8.elementsEqual(productID.utf8), known.kind == kind, earlier.askedEnd == end else {
                    throw Self.otherContent(number, "purchase", known.id)
                }
                return (known, false)
            }
            if number == nil {
                let repeated = try SubscriptionStore.purchases(of: account.id, in: transaction).first {
                    $0.productID.utf8.elementsEqual(productID.utf8) && $0.endsAt == end && $0.endsAt.map { entry.at < $0 } ?? true
                }
                if let repeated { throw Self.repeated("product", "purchase", repeated.id) }
            }
            try SubscriptionStore.insert(purchase, number: number, of: account.id, at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
            return (purchase, true)
        }
    }

    /// Ends a single product's grant, and revokes the account's credentials; an ended grant is not changed.
    package func endPurchase(_ id: String, by actor: AuditActor) async throws {
        let entry = actor.entry("purchase.end", on: id, at: clock.now)
        try await lifecycle.write(in: database) { transaction, changes in
            guard let known = try SubscriptionStore.purchase(id, in: transaction) else {
                throw ServerError(.notFound, "there is no such purchase")
            }
            guard known.endsAt.map({ entry.at < $0 }) ?? true else { return }
            try SubscriptionStore.endPurchase(id, at: entry.at, in: transaction)
            try changes.note(.holdingsReduced, of: known.account, by: actor, at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// The entitlements of an account.
    package func entitlement(of account: Account) async throws -> Entitlement {
        try await database.read { try SubscriptionStore.entitlement(of: account, in: $0) }
    }

    /// An explanation of an account's access to a product, rule by rule.
    package struct Explanation: Sendable {
        package let account: Account
        package let productID: String
        /// Nil if the catalog has no such product.
        package let product: Product?
        package let verdict: Entitlement.Verdict
        package let findings: [Entitlement.Finding]
    }

    package func explain(_ productID: String, to account: Account) async throws -> Explanation {
        products.forget()
        let (products, entitlement, now) = (try await products.current(), try await entitlement(of: account), clock.now)
        let product = products[productID]
        return Explanation(
            account: account,
            productID: productID,
            product: product,
            verdict: entitlement.verdict(on: product, of: products, at: now),
            findings: product.map { entitlement.findings(on: $0, of: products, at: now) } ?? []
        )
    }
}
