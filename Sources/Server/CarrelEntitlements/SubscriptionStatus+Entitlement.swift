// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCatalog
package import CarrelSubscription

extension SubscriptionStatus {
    /// The status that follows from an account's entitlements.
    ///
    /// - Parameters:
    ///   - entitlement: the plans and purchases.
    ///   - catalog: the products, read only if they must be listed individually.
    ///   - now: the time.
    /// - Throws: errors of reading the catalog.
    package init(of entitlement: Entitlement, _ catalog: ProductCatalogCache, at now: Instant) async throws {
        guard !entitlement.isSuspended else {
            self.init(.suspended, message: "Your account is suspended")
            return
        }
        let subscriptions = entitlement.subscriptions
        if let current = subscriptions.lastIndex(where: { $0.isCurrent(at: now) }) {
            let plan = subscriptions[current].plan.name
            self.init(.active, message: "Your subscription: \(plan)", categories: [("plan", plan)])
        } else if subscriptions.contains(where: { $0.hasEnded(at: now) }) {
            self.init(.inactive, message: "Your subscription has expired")
        } else {
            self.init(.inactive, message: entitlement.purchases.isEmpty ? "You have no subscription" : nil)
        }
        guard entitlement.isByIssue(at: now) else { return }
        let products = try await catalog.current()
        issues = products.published.lazy.filter { product in
            if case .granted = entitlement.verdict(on: product, of: products, at: now) { true } else { false }
        }.map(\.id)
    }
}
