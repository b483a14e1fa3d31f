// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelBytes
import CarrelHome
package import CarrelStore
package import CarrelSubscription

/// The SQL of plans, subscriptions and purchases.
package enum SubscriptionStore {
    static let insertPlan = SQL(
        """
        INSERT INTO plans (name, scope, grace_issues, device_limit, created_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (name) DO NOTHING
        """
    )
    static let insertPlanProduct = SQL(
        "INSERT INTO plan_products (plan, product_id) VALUES ($1, $2) ON CONFLICT (plan, product_id) DO NOTHING"
    )
    static let plans = SQL("SELECT name, scope, grace_issues, device_limit FROM plans ORDER BY name")
    static let planByName = SQL("SELECT name, scope, grace_issues, device_limit FROM plans WHERE name = $1")
    static let productsOfPlan = SQL("SELECT product_id FROM plan_products WHERE plan = $1 ORDER BY product_id")
    static let insertSubscription = SQL(
        """
        INSERT INTO subscriptions (id, account_id, plan, starts_at, ends_at, created_at, number, asked_start, asked_end)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """
    )
    static let subscriptionByNumber = SQL(
        """
        SELECT subscriptions.id, subscriptions.starts_at, subscriptions.ends_at, plans.name, plans.scope, plans.grace_issues,
            plans.device_limit, subscriptions.revoked_at, subscriptions.asked_start, subscriptions.asked_end
        FROM subscriptions JOIN plans ON plans.name = subscriptions.plan
        WHERE subscriptions.account_id = $1 AND subscriptions.number = $2
        """
    )
    static let subscriptionsOfAccount = SQL(
        """
        SELECT subscriptions.id, subscriptions.starts_at, subscriptions.ends_at, plans.name, plans.scope, plans.grace_issues,
            plans.device_limit, subscriptions.revoked_at
        FROM subscriptions JOIN plans ON plans.name = subscriptions.plan
        WHERE subscriptions.account_id = $1 ORDER BY subscriptions.starts_at
        """
    )
    static let subscriptionByID = SQL("SELECT account_id, starts_at, ends_at, revoked_at FROM subscriptions WHERE id = $1")
    static let endSubscription = SQL("UPDATE subscriptions SET ends_at = $2 WHERE id = $1")
    static let revokeSubscription = SQL("UPDATE subscriptions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
    static let insertPurchase = SQL(
        """
        INSERT INTO purchases (id, account_id, product_id, kind, ends_at, created_at, number, asked_end)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """
    )
    static let purchaseByNumber = SQL(
        "SELECT id, product_id, kind, ends_at, asked_end FROM purchases WHERE account_id = $1 AND number = $2"
    )
    static let purchasesOfAccount = SQL(
        "SELECT id, product_id, kind, ends_at FROM purchases WHERE account_id = $1 ORDER BY created_at, id"
    )
    static let purchaseByID = SQL("SELECT account_id, ends_at FROM purchases WHERE id = $1")
    static let endPurchase = SQL("UPDATE purchases SET ends_at = $2 WHERE id = $1")

    package static let statements =
        [
            insertPlan, insertPlanProduct, plans, planByName, productsOfPlan, insertSubscription, subscriptionsOfAccount,
            subscriptionByNumber, subscriptionByID, endSubscription, revokeSubscription, insertPurchase, purchasesOfAccount,
            purchaseByNumber, purchaseByID, endPurchase,
        ] + statementsOfPersonalData + statementsOfGiven

    /// Whether the plan is new.
    static func insert(_ plan: Plan, at now: Instant, in transaction: any Transaction) throws -> Bool {
        let values: [SQLValue] = [
            .text(plan.name), .text(plan.scope.rawValue), .integer(Int64(plan.graceIssues)), SQLValue(plan.deviceLimit),
            .instant(now),
        ]
        return try transaction.run(insertPlan, values) == 1
    }

    static func add(_ products: Set<String>, to plan: String, in transaction: any Transaction) throws {
        for product in products.sorted() { _ = try transaction.run(insertPlanProduct, [.text(plan), .text(product)]) }
    }

    static func plans(in transaction: any Transaction) throws -> [Plan] {
        try transaction.rows(plans, []).map { try plan($0, from: 0, in: transaction) }
    }

    package static func plan(named name: String, in transaction: any Transaction) throws -> Plan? {
        try transaction.row(planByName, [.text(name)]).map { try plan($0, from: 0, in: transaction) }
    }

    /// The entitlements of an account.
    package static func entitlement(of account: Account, in transaction: any Transaction) throws -> Entitlement {
        Entitlement(
            isSuspended: account.isSuspended,
            subscriptions: try subscriptions(of: account.id, in: transaction),
            purchases: try purchases(of: account.id, in: transaction)
        )
    }

    package static func subscriptions(of account: String, in transaction: any Transaction) throws -> [Subscription] {
        let found = try transaction.rows(subscriptionsOfAccount, [.text(account)]).map {
            try subscription($0, in: transaction)
        }
        // Here, because the database would sort even one of them.
        return found.count < 2 ? found : found.sorted { ($0.startsAt, $0.id) < ($1.startsAt, $1.id) }
    }

    /// The subscription of a client's number, with the dates that the first request named.
    static func subscription(
        number: String,
        of account: String,
        in transaction: any Transaction
    ) throws -> (subscription: Subscription, askedStart: Instant?, askedEnd: Instant?)? {
        try transaction.row(subscriptionByNumber, [.text(account), .text(number)]).map {
            (try subscription($0, in: transaction), try $0.instantIfPresent(8), try $0.instantIfPresent(9))
        }
    }

    /// A subscription from the first eight columns of a row.
    private static func subscription(_ row: Row, in transaction: any Transaction) throws -> Subscription {
        Subscription(
            id: try row.text(0),
            plan: try plan(row, from: 3, in: transaction),
            startsAt: try row.instant(1),
            endsAt: try row.instantIfPresent(2),
            revokedAt: try row.instantIfPresent(7)
        )
    }

    /// Writes a subscription; `number` is the client's number, and `asked` has the dates of its request.
    package static func insert(
        _ subscription: Subscription,
        number: String? = nil,
        asked: (start: Instant?, end: Instant?) = (nil, nil),
        of account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .text(subscription.id), .text(account), .text(subscription.plan.name), .instant(subscription.startsAt),
            .instant(subscription.endsAt), .instant(now), SQLValue(number), .instant(asked.start), .instant(asked.end),
        ]
        _ = try transaction.run(insertSubscription, values)
    }

    /// Whom a subscription belongs to, and its dates.
    static func subscription(
        _ id: String,
        in transaction: any Transaction
    ) throws -> (account: String, startsAt: Instant, endsAt: Instant?, revokedAt: Instant?)? {
        try transaction.row(subscriptionByID, [.text(id)]).map {
            (try $0.text(0), try $0.instant(1), try $0.instantIfPresent(2), try $0.instantIfPresent(3))
        }
    }

    static func endSubscription(_ id: String, at end: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(endSubscription, [.text(id), .instant(end)])
    }

    static func revokeSubscription(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(revokeSubscription, [.text(id), .instant(now)])
    }

    /// Writes a purchase; `number` is the client's.
    static func insert(
        _ purchase: Purchase,
        number: String?,
        of account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .text(purchase.id), .text(account), .text(purchase.productID), .text(purchase.kind.rawValue),
            .instant(purchase.endsAt), .instant(now), SQLValue(number), .instant(purchase.endsAt),
        ]
        _ = try transaction.run(insertPurchase, values)
    }

    static func purchases(of account: String, in transaction: any Transaction) throws -> [Purchase] {
        try transaction.rows(purchasesOfAccount, [.text(account)]).map(purchase)
    }

    /// The purchase of a client's number, with the end that the first request named.
    static func purchase(
        number: String,
        of account: String,
        in transaction: any Transaction
    ) throws -> (purchase: Purchase, askedEnd: Instant?)? {
        try transaction.row(purchaseByNumber, [.text(account), .text(number)]).map {
            (try purchase($0), try $0.instantIfPresent(4))
        }
    }

    /// A purchase from the first four columns of a row.
    private static func purchase(_ row: Row) throws -> Purchase {
        guard let kind = Purchase.Kind(rawValue: try row.text(2)) else {
            throw ServerError(.home, "a purchase has a kind that this version does not know")
        }
        return Purchase(
            id: try row.text(0),
            productID: try row.text(1),
            kind: kind,
            endsAt: try row.instantIfPresent(3)
        )
    }

    /// Whom a purchase belongs to, and its end.
    static func purchase(_ id: String, in transaction: any Transaction) throws -> (account: String, endsAt: Instant?)? {
        try transaction.row(purchaseByID, [.text(id)]).map { (try $0.text(0), try $0.instantIfPresent(1)) }
    }

    static func endPurchase(_ id: String, at end: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(endPurchase, [.text(id), .instant(end)])
    }

    /// A plan from four columns of a row, with its products.
    private static func plan(_ row: Row, from column: Int, in transaction: any Transaction) throws -> Plan {
        guard let scope = Plan.Scope(rawValue: try row.text(column + 1)) else {
            throw ServerError(.home, "a plan has a scope that this version does not know")
        }
        let name = try row.text(column)
        let products = scope == .listed ? try transaction.rows(productsOfPlan, [.text(name)]).map { try $0.text(0) } : []
        return Plan(
            name: name,
            scope: scope,
            graceIssues: Int(try row.integer(column + 2)),
            deviceLimit: try row.integerIfPresent(column + 3).map(Int.init),
            products: Set(products)
        )
    }
}
