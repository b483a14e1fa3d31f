// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore
import CarrelSubscription

/// Subscriptions and purchases that an external source grants, changes and revokes under its own ids.
extension SubscriptionStore {
    static let putSubscription = SQL(
        """
        INSERT INTO subscriptions (id, account_id, plan, starts_at, ends_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, plan = excluded.plan,
            starts_at = excluded.starts_at, ends_at = excluded.ends_at
        """
    )
    static let putPurchase = SQL(
        """
        INSERT INTO purchases (id, account_id, product_id, kind, ends_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, product_id = excluded.product_id,
            ends_at = excluded.ends_at
        """
    )
    static let dropSubscription = SQL("DELETE FROM subscriptions WHERE id = $1")
    static let dropPurchase = SQL("DELETE FROM purchases WHERE id = $1")

    static let statementsOfGiven = [putSubscription, putPurchase, dropSubscription, dropPurchase]

    /// Gives an account a plan under an id, replacing the id's previous grant.
    package static func put(
        _ id: String,
        plan: String,
        from start: Instant,
        to end: Instant?,
        of account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        _ = try transaction.run(dropPurchase, [.text(id)])
        let values: [SQLValue] = [.text(id), .text(account), .text(plan), .instant(start), .instant(end), .instant(now)]
        _ = try transaction.run(putSubscription, values)
    }

    /// Gives an account a product under an id, replacing the id's previous grant.
    package static func put(
        _ id: String,
        product: String,
        to end: Instant?,
        of account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        _ = try transaction.run(dropSubscription, [.text(id)])
        let values: [SQLValue] = [
            .text(id), .text(account), .text(product), .text(Purchase.Kind.purchase.rawValue), .instant(end), .instant(now),
        ]
        _ = try transaction.run(putPurchase, values)
    }

    /// Deletes the subscription or purchase of an id.
    package static func drop(_ id: String, in transaction: any Transaction) throws {
        for statement in [dropSubscription, dropPurchase] { _ = try transaction.run(statement, [.text(id)]) }
    }
}
