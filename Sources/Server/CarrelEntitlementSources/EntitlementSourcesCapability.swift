// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelBytes
package import CarrelCatalog
package import CarrelEntitlements
package import CarrelHTTP
package import CarrelHome
package import CarrelJSON
package import CarrelStore
import CarrelSubscription
package import CarrelWebAPI

/// Upstream systems and app stores as sources of entitlements.
package struct EntitlementSourcesCapability: Capability {
    package let sources: EntitlementSources
    package let receipts: Receipts
    package let receiptSource: ReceiptSource
    private let accounts: AccountsCapability
    private let readers: UpstreamReaders

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - accounts: the accounts of the purchases.
    ///   - products: the catalog's products.
    ///   - settings: the settings of app stores.
    ///   - order: returns all sources in the order of queries, given the source for app stores if one is configured.
    /// - Throws: errors of `order`; ``ServerError`` `masterKey` if a secret is missing.
    package init(
        _ context: ServiceContext,
        _ accounts: AccountsCapability,
        products: ProductCatalogCache,
        receipts settings: ReceiptSettings,
        inOrder order: (ReceiptSource?) throws -> [any EntitlementSource]
    ) throws {
        self.accounts = accounts
        receipts = Receipts(
            database: context.database,
            clock: context.clock,
            settings: settings,
            lifecycle: accounts.lifecycle
        )
        receiptSource = ReceiptSource(receipts: receipts, products: products)
        sources = EntitlementSources(inOrder: try order(settings.verifier == nil ? nil : receiptSource))
        let subjects = UpstreamSubjects(secret: try context.secret(.upstream))
        readers = UpstreamReaders(
            database: context.database,
            clock: context.clock,
            subjects: subjects,
            expunging: context.expunging
        )
        accounts.lifecycle.join(StorePurchasesErasure())
        accounts.lifecycle.join(subjects)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "store_purchases": .deleted(exportedAs: "storePurchases"),
        "store_transactions": .deleted(exportedAs: "storeTransactions"),
        "upstream_tokens": .deleted(exportedAs: "upstream"),
        "upstream_accounts": .deleted(exportedAs: "upstream"),
        "upstream_grants": .deleted(exportedAs: "upstream"),
    ]
    package static let statements = ReceiptStore.statements + UpstreamStore.statements

    package func addRoutes(to router: inout Router) {
        ReceiptRoutes(receipts: receipts, desk: accounts.desk, callers: accounts.callers).add(to: &router)
        UpstreamReaderRoutes(readers: readers, callers: accounts.callers).add(to: &router)
    }

    package var cleanups: [Cleanup] {
        [
            Cleanup { try UpstreamStore.removeOldTokens(at: $0, limit: $1, in: $2) },
            Cleanup { try UpstreamStore.removeOldAccounts(at: $0, limit: $1, in: $2) },
            Cleanup { try UpstreamStore.removeOldGrants(at: $0, limit: $1, in: $2) },
        ]
    }

    package var personalData: [PersonalData.Member] {
        let subjects = readers.subjects
        return [
            PersonalData.Member("storePurchases") { try ReceiptStore.exportedPurchases(of: $0.account, in: $1) },
            PersonalData.Member("storeTransactions") { try ReceiptStore.exportedTransactions(of: $0.account, in: $1) },
            PersonalData.Member("upstream", holdsSubjects: true) { person, transaction in
                try subjects.all(named: person.name, in: transaction).compactMap {
                    try UpstreamStore.export(of: $0, in: transaction)
                }
            },
        ]
    }

    package func health(at now: Instant, within limit: Duration) async -> JSONObject {
        ["sources": .array(sources.inOrder.map { .object(Self.json($0)) })]
    }

    /// A source with its name and, for an upstream system, its state. No source makes the server unready.
    private static func json(_ source: any EntitlementSource) -> JSONObject {
        var object: JSONObject = ["name": .string(source.name)]
        guard let health = source.health else { return object }
        var until: Instant?
        (object["state"], until) =
            switch health.state {
            case .available: ("available", nil)
            case .unavailable(let end): ("unavailable", end)
            case .probing: ("probing", nil)
            }
        object["failPolicy"] = .string(health.policy.word)
        object["asking"] = .integer(health.inFlight)
        object["unavailableUntil"] = .init(until)
        object["answeredAt"] = .init(health.answeredAt)
        object["failedAt"] = .init(health.failedAt)
        object["failure"] = .init(health.failure)
        return object
    }
}
