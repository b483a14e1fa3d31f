package import CarrelBytes
import CarrelCrypto
import CarrelStore
package import CarrelSubscription

/// Plans, and what accounts hold of them: made, given, ended, explained. Every change is in the audit log.
package struct Subscriptions: Sendable {
    let database: any Database
    let clock: any WallClock
    let products: ProductCatalog

    /// Makes a plan.
    ///
    /// - Throws: ``ServerError`` `conflict` when the name is taken, `invalid` for products in a plan that does not list them.
    package func createPlan(_ plan: Plan, by actor: Actor) async throws {
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

    /// Gives an account a plan, from now on where no start is given, and until it is ended where no end is.
    package func grant(
        plan name: String,
        to account: Account,
        start: Instant? = nil,
        end: Instant? = nil,
        by actor: Actor
    ) async throws -> Subscription {
        let now = clock.now
        let start = start ?? now
        if let end, end <= start { throw ServerError(.invalid, "a subscription ends after it starts") }
        let id = Random.uuid()
        let entry = actor.entry("subscription.create", on: account.id, at: now, reason: name)
        return try await database.write { transaction in
            guard let plan = try SubscriptionStore.plan(named: name, in: transaction) else {
                throw ServerError(.invalid, "there is no plan '\(name)'")
            }
            let subscription = Subscription(id: id, plan: plan, startsAt: start, endsAt: end)
            try SubscriptionStore.insert(subscription, of: account.id, at: now, in: transaction)
            try AuditStore.append(entry, in: transaction)
            return subscription
        }
    }

    /// Ends a subscription, now where no end is given; what the account's credentials opened until then, it has to ask for again.
    ///
    /// One that ends earlier already stays as it is: ending never makes a subscription longer, however often it is asked for.
    package func end(_ id: String, at end: Instant? = nil, by actor: Actor) async throws {
        let entry = actor.entry("subscription.end", on: id, at: clock.now)
        try await database.write { transaction in
            guard let known = try SubscriptionStore.subscription(id, in: transaction) else { throw Self.unknown }
            let end = max(end ?? entry.at, known.startsAt)
            guard known.revokedAt == nil, known.endsAt.map({ end < $0 }) ?? true else { return }
            try Self.setEnd(of: id, account: known.account, to: end, entry, in: transaction)
        }
    }

    /// Lets a subscription end at another time; one that is over by then voids the account's credentials.
    static func setEnd(
        of id: String,
        account: String,
        to end: Instant,
        _ entry: Audit.Entry,
        in transaction: any Transaction
    ) throws {
        try SubscriptionStore.endSubscription(id, at: end, in: transaction)
        if end <= entry.at { try RevocationStore.revoke(.account(account), at: entry.at, in: transaction) }
        try AuditStore.append(entry, in: transaction)
    }

    /// Takes a subscription back with all that it gave for good, as if it had never been, and voids the account's credentials.
    package func revoke(_ id: String, by actor: Actor) async throws {
        let entry = actor.entry("subscription.revoke", on: id, at: clock.now)
        try await database.write { transaction in
            guard let known = try SubscriptionStore.subscription(id, in: transaction) else { throw Self.unknown }
            guard known.revokedAt == nil else { return }
            try SubscriptionStore.revokeSubscription(id, at: entry.at, in: transaction)
            try RevocationStore.revoke(.account(known.account), at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    private static let unknown = ServerError(.notFound, "there is no such subscription")

    /// Gives an account a single product, bought or as a gift.
    package func give(
        _ productID: String,
        to account: Account,
        as kind: Purchase.Kind,
        end: Instant? = nil,
        by actor: Actor
    ) async throws -> Purchase {
        guard !productID.isEmpty, productID.utf8.count <= 256 else {
            throw ServerError(.invalid, "a product id has 1 to 256 bytes")
        }
        let purchase = Purchase(id: Random.uuid(), productID: productID, kind: kind, endsAt: end)
        let entry = actor.entry("purchase.create", on: account.id, at: clock.now, reason: productID)
        try await database.write { transaction in
            try SubscriptionStore.insert(purchase, of: account.id, at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return purchase
    }

    /// Takes a single product back, and voids the credentials that the account has; one that has ended stays as it is.
    package func takeBack(_ id: String, by actor: Actor) async throws {
        let entry = actor.entry("purchase.end", on: id, at: clock.now)
        try await database.write { transaction in
            guard let known = try SubscriptionStore.purchase(id, in: transaction) else {
                throw ServerError(.notFound, "there is no such purchase")
            }
            guard known.endsAt.map({ entry.at < $0 }) ?? true else { return }
            try SubscriptionStore.endPurchase(id, at: entry.at, in: transaction)
            try RevocationStore.revoke(.account(known.account), at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// What an account holds.
    package func entitlement(of account: Account) async throws -> Entitlement {
        try await database.read { try SubscriptionStore.entitlement(of: account, in: $0) }
    }

    /// Why an account may or may not read a product, rule by rule.
    package struct Explanation: Sendable {
        package let account: Account
        package let productID: String
        /// Nil when the catalog has no such product.
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
