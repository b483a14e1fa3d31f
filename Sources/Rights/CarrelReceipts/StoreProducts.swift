// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The mapping of store products to plans and products.
package struct StoreProducts: Sendable {
    /// A rule that grants a plan for a store product.
    package struct PlanRule: Sendable, Equatable {
        /// The store's product, or with `*` at its end, all that begin so.
        package let pattern: String
        package let plan: String
        /// The validity from the purchase on, if the store gives no end; nil to use only the store's.
        package let life: Duration?

        package init(pattern: String, plan: String, life: Duration? = nil) {
            self.pattern = pattern
            self.plan = plan
            self.life = life
        }
    }

    /// The grant of a transaction.
    package struct Grant: Sendable, Equatable {
        package enum Thing: Sendable, Equatable {
            case plan(String)
            /// One product of ours.
            case product(String)
        }

        package let thing: Thing
        package let startsAt: Instant
        /// The end of the entitlement; nil if unlimited.
        package let endsAt: Instant?
    }

    package let plans: [PlanRule]
    /// Products of the store that are called otherwise here.
    package let products: [String: String]

    /// - Parameters:
    ///   - plans: the rules for plans; the longest matching pattern wins.
    ///   - products: our product for a store's; all other store products map to the product of the same name.
    package init(plans: [PlanRule] = [], products: [String: String] = [:]) {
        self.plans = plans
        self.products = products
    }

    /// The grant of a transaction, with its start and its end.
    ///
    /// - Returns: nil for a revoked transaction: a refund ends its grant.
    /// - Throws: `receipt.unmapped` for a consumable, and for one without a known end.
    package func grant(of transaction: StoreTransaction) throws(ReceiptError) -> Grant? {
        guard transaction.revokedAt == nil else { return nil }
        guard let rule = rule(for: transaction.productID) else {
            let named = products[transaction.productID]
            guard named != nil || transaction.kind == .nonConsumable || transaction.kind == .autoRenewable else {
                throw ReceiptError(.unmapped, "no plan is set for the store's product '\(transaction.productID)'")
            }
            let product = named ?? transaction.productID
            return Grant(thing: .product(product), startsAt: transaction.purchasedAt, endsAt: end(of: transaction, nil))
        }
        let end = end(of: transaction, rule.life)
        guard end != nil || transaction.kind == .nonConsumable else {
            throw ReceiptError(.unmapped, "how long the store's product '\(transaction.productID)' runs is not set")
        }
        return Grant(thing: .plan(rule.plan), startsAt: transaction.purchasedAt, endsAt: end)
    }

    private func end(of transaction: StoreTransaction, _ life: Duration?) -> Instant? {
        let end = transaction.expiresAt ?? life.map { transaction.purchasedAt + $0 }
        // Its successor was bought before the store signed this.
        guard transaction.isUpgraded else { return end }
        return end.map { min($0, transaction.signedAt) } ?? transaction.signedAt
    }

    /// The rule with the longest pattern; one without an asterisk before all others.
    private func rule(for product: String) -> PlanRule? {
        if let exact = plans.first(where: { $0.pattern == product }) { return exact }
        let fitting = plans.filter { $0.pattern.hasSuffix("*") && product.hasPrefix($0.pattern.dropLast()) }
        return fitting.max { $0.pattern.utf8.count < $1.pattern.utf8.count }
    }
}
