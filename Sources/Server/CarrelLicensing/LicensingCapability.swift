// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelAuthority
import CarrelBytes
package import CarrelCatalog
package import CarrelKeyStore
package import CarrelHTTP
package import CarrelHome
import CarrelMetrics
package import CarrelOrders
package import CarrelRights
import CarrelThrottling
package import CarrelStore
package import CarrelWebAPI

/// Tokens and licenses.
package struct LicensingCapability: Capability {
    package let licenses: Licenses
    package let tokens: Tokens
    /// The place where streams' tokens are redeemed.
    package let rightsLocation: RightsLocation
    private let accounts: AccountsCapability
    private let keys: ContentKeys
    private let audit: Audit
    private let context: ServiceContext
    private let settings: Settings
    private let limiter: TokenBucketLimiter

    /// The limit of license requests per network and minute: a thousand streams are renewed in five minutes.
    private static let networkLimit = 1200
    /// The limit of license requests per player and minute.
    private static let playerLimit = 60

    /// The operator's settings of tokens and licenses.
    package struct Settings: Sendable {
        package var licenses = LicenseSettings()
        /// The public URL of the server, without a slash at the end.
        package var publicURL: String?
        /// Host and port of the listener that requests client certificates, if its port is known beforehand.
        package var rightsListener: String?
        /// Whether an authenticator in a query is refused.
        package var refusesQuerySecrets = false
        /// The ids of keys that open relays, and make no grant here.
        package var relayKeys: Set<KeyID> = []

        package init() {}
    }

    package init(
        _ context: ServiceContext,
        _ settings: Settings,
        _ accounts: AccountsCapability,
        _ catalog: CatalogCapability,
        _ orders: OrdersCapability,
        _ authority: AuthorityCapability,
        _ contentKeys: KeyStoreCapability,
        leases: Leases,
        audit: Audit
    ) async throws {
        tokens = try await Tokens(
            database: context.database,
            master: context.master,
            relayKeys: settings.relayKeys,
            at: context.clock.now
        )
        licenses = Licenses(
            authority: authority.authority,
            database: context.database,
            clock: context.clock,
            tokens: tokens,
            means: LicenseDesk.Means(
                personalizations: authority.personalizations,
                orders: orders.orders,
                editions: catalog.editions,
                keys: contentKeys.keys,
                leases: leases,
                master: context.master,
                settings: settings.licenses
            ),
            audit: audit.fold,
            limiter: TokenBucketLimiter(perMinute: Self.playerLimit)
        )
        limiter = TokenBucketLimiter(perMinute: Self.networkLimit)
        rightsLocation = RightsLocation(publicURL: settings.publicURL, listener: settings.rightsListener)
        self.accounts = accounts
        keys = contentKeys.keys
        self.audit = audit
        self.context = context
        self.settings = settings
        accounts.lifecycle.join(LicenseEndings())
        authority.players.onEnd { try LicenseEndings.end($0, $1, at: $2, in: $3) }
        keys.count { try LicenseLists.live(with: $0, at: $1, limit: $2, in: $3) }
        leases.count(LicenseStreams(database: context.database, countsOrders: settings.licenses.countsOrders))
        orders.orders.onEnd { try LicenseStore.endAll(ofOrder: $0, byStaff: $1, at: $2, in: $3) }
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "communication_keys": .nothing("keys that portals sign messages with"),
        "licenses": .deleted(exportedAs: "licenses"),
        "redemptions": .nothing("random ids of players and tokens; a portal should not put a name into a cookie"),
    ]
    package static let statements =
        LicenseStore.statements + LicenseLists.statements + CarriedLicenses.statements
    package static let carriedTables = CarriedLicenses.tables

    package func addRoutes(to router: inout Router) {
        let addresses = ServiceAddresses(publicURL: settings.publicURL, rights: rightsLocation)
        TokenRoutes(
            titles: TitleTokens(
                database: context.database,
                clock: context.clock,
                tokens: tokens,
                editions: licenses.means.editions,
                keys: keys
            ),
            keys: tokens.communicationKeys,
            addresses: addresses,
            callers: accounts.callers,
            clock: context.clock
        ).add(to: &router)
        LicensingRoutes(
            licenses: licenses,
            tokens: tokens,
            keys: keys,
            accounts: accounts.accounts,
            callers: accounts.callers,
            clock: context.clock,
            limiter: limiter,
            addresses: addresses,
            refusesQuerySecrets: settings.refusesQuerySecrets,
            secretsInQuery: context.metrics.counter(
                "carrel_query_secrets_total",
                "App calls with a token or a password in the query, which proxies log.",
                [("call", "token"), ("method", "GET")]
            )
        ).add(to: &router)
        LicenseListRoutes(
            licenses: licenses,
            database: context.database,
            audit: audit,
            leases: licenses.means.leases,
            orders: licenses.means.orders,
            callers: accounts.callers,
            clock: context.clock
        ).add(to: &router)
        addRights(to: &router)
    }

    /// Adds only the rights location, for the listener that requests client certificates.
    package func addRights(to router: inout Router) {
        RightsRoutes(licenses: licenses, location: rightsLocation, clock: context.clock, limiter: limiter).add(to: &router)
    }

    /// The time for which licenses and redemptions that are over are kept for records.
    private static let memory = Duration.seconds(90 * 86_400)

    package var cleanups: [Cleanup] {
        [
            Cleanup { try LicenseStore.removeOver(before: $0 - Self.memory, limit: $1, in: $2) },
            Cleanup { try LicenseStore.removeRedemptions(before: $0 - Self.memory, limit: $1, in: $2) },
        ]
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("licenses", holdsSubjects: true) { person, transaction in
                // what a device did before it was linked is its reader's too
                let players = try Players.list(of: person.account, in: transaction)
                return try ([person.account] + players.map { "player:\($0.id)" }).flatMap { subject in
                    try LicenseStore.licenses(ofSubject: subject, in: transaction).map(\.json)
                }
            }
        ]
    }

    package var wrappedKeys: [WrappedKeys] {
        [
            WrappedKeys(notUnder: LicenseStore.communicationKeysNotUnder, rewrap: LicenseStore.rewrapCommunicationKey),
            WrappedKeys(notUnder: LicenseStore.licensesNotUnder, rewrap: LicenseStore.rewrapLicense),
        ]
    }
}
