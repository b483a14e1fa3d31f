package import CarrelBytes
package import CarrelCatalog
package import CarrelSubscription

extension Standing {
    /// What an app is told of what somebody holds.
    ///
    /// - Parameters:
    ///   - entitlement: the plans and purchases.
    ///   - catalog: the products, read only where they have to be listed one by one.
    ///   - now: the time.
    /// - Throws: when the catalog cannot be read.
    package init(of entitlement: Entitlement, _ catalog: ProductCatalog, at now: Instant) async throws {
        guard !entitlement.isSuspended else {
            self.init(.suspended, message: "Your account is suspended")
            return
        }
        let current = entitlement.subscriptions.last { $0.isCurrent(at: now) }
        let lapsed = entitlement.subscriptions.last { $0.hasEnded(at: now) }
        let message: String? =
            switch (current, lapsed) {
            case (let current?, _): "Your subscription: \(current.plan.name)"
            case (nil, .some): "Your subscription has expired"
            case (nil, nil): entitlement.purchases.isEmpty ? "You have no subscription" : nil
            }
        self.init(
            current == nil ? .inactive : .active,
            message: message,
            categories: current.map { [("plan", $0.plan.name)] } ?? []
        )
        guard entitlement.isByIssue(at: now) else { return }
        let products = try await catalog.current()
        issues = products.published.lazy.filter { product in
            if case .granted = entitlement.verdict(on: product, of: products, at: now) { true } else { false }
        }.map(\.id)
    }
}
