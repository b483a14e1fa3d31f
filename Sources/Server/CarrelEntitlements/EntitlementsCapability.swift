// SPDX-License-Identifier: Apache-2.0

import CarrelSubscription
package import CarrelAccounts
package import CarrelAudit
import CarrelBytes
package import CarrelCatalog
package import CarrelHTTP
package import CarrelHome
package import CarrelStore
package import CarrelWebAPI

/// The holdings of accounts: plans, subscriptions and purchases.
package struct EntitlementsCapability: Capability {
    package let subscriptions: Subscriptions
    package let known: EntitlementCache
    private let accounts: AccountsCapability
    private let context: ServiceContext
    private let audit: AuditFold

    package init(
        _ context: ServiceContext,
        _ accounts: AccountsCapability,
        products: ProductCatalogCache,
        audit: AuditFold
    ) async throws {
        self.audit = audit
        self.context = context
        self.accounts = accounts
        subscriptions = Subscriptions(
            database: context.database,
            clock: context.clock,
            lifecycle: accounts.lifecycle,
            products: products
        )
        known = EntitlementCache(database: context.database, clock: context.clock)
        try await known.begin()
        accounts.lifecycle.join(HoldingsErasure())
    }

    /// The source of entitlements of Carrel's own accounts.
    ///
    /// - Parameters:
    ///   - devices: the default device limit for accounts for which neither staff nor a plan set a limit.
    ///   - givesFeedPasswords: whether to issue a second credential for feeds with a token.
    /// - Returns: the source.
    package func source(devices: DevicePolicy, givesFeedPasswords: Bool) -> any EntitlementSource {
        LocalAccountSource(
            database: context.database,
            clock: context.clock,
            sessions: accounts.accounts.sessions,
            check: accounts.check,
            products: subscriptions.products,
            subscriptions: subscriptions,
            known: known,
            audit: audit,
            devicePolicy: devices,
            givesFeedPasswords: givesFeedPasswords
        )
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "plans": .nothing("what is on offer"), "plan_products": .nothing("what is on offer"),
        "subscriptions": .kept(exportedAs: "subscriptions", because: PersonalData.accounting),
        "purchases": .kept(exportedAs: "purchases", because: PersonalData.accounting),
    ]
    package static let statements = SubscriptionStore.statements

    package func addRoutes(to router: inout Router) {
        PlanRoutes(subscriptions: subscriptions, desk: accounts.desk, callers: accounts.callers).add(to: &router)
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("subscriptions", holdsSubjects: true) {
                try SubscriptionStore.exportedSubscriptions(of: $0.account, in: $1)
            },
            PersonalData.Member("purchases", holdsSubjects: true) {
                try SubscriptionStore.exportedPurchases(of: $0.account, in: $1)
            },
        ]
    }
}
