// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAdministration
package import CarrelAudit
package import CarrelAuthority
package import CarrelBytes
package import CarrelCatalog
import CarrelClearKey
import CarrelKeyStore
import CarrelCrypto
package import CarrelEditionDelivery
package import CarrelEntitlementSources
package import CarrelEntitlements
import CarrelFeeds
package import CarrelHTTP
package import CarrelHome
import CarrelKeyExchange
package import CarrelLicensing
package import CarrelListening
package import CarrelMetrics
package import CarrelOrders
package import CarrelPasswordHash
package import CarrelRelay
package import CarrelSignOn
package import CarrelStore
package import CarrelStreaming
import CarrelThreads
import CarrelThrottling
package import CarrelWebAPI
import CarrelWebsite

/// The service on one home: a list of capabilities, and their router.
///
/// The server connects it to sockets; a command on a home without a running server calls the router directly, so both behave in
/// the same way.
package final class CarrelService: Sendable {
    private let context: ServiceContext
    package let blobs: any BlobStore
    /// All that the service does, lowest first.
    package let capabilities: [any Capability]
    package let router: Router
    private let draining: Locked<Bool>
    private let accountsCapability: AccountsCapability
    private let auditCapability: AuditCapability
    package let catalog: CatalogCapability
    private let ordersCapability: OrdersCapability
    private let entitlements: EntitlementsCapability
    private let authorityCapability: AuthorityCapability
    private let licensingCapability: LicensingCapability
    private let streaming: StreamingCapability
    private let listeningCapability: ListeningCapability
    private let delivery: EditionDeliveryCapability
    private let administration: AdministrationCapability

    /// The operator's settings, apart from paths.
    package struct Settings: Sendable {
        package var stream = StreamSettings()
        package var subscription = SubscriptionSettings()
        package var editions = EditionSettings()
        package var signOn = SignOnSettings()
        package var receipts = ReceiptSettings()
        package var players = Personalizations.Settings()
        package var licenses = LicenseSettings()
        /// The license servers of other vendors, in the order of their names.
        package var relays: [RelaySettings] = []
        /// Host and port of the listener that asks players for their certificate, where its port is known beforehand.
        package var rightsListener: String?
        /// Maximum sign-in attempts per minute and network; at least 1.
        package var signInNetworkLimit = SignInThrottle.usualNetworkLimit
        /// The cost of hashing a password.
        package var passwordCost = Argon2id.Parameters.standard
        /// The other origins whose pages may stream, report, sign in and read feeds and editions.
        package var otherOrigins = OtherOrigins()
        /// Days after an order's end during which reports of earlier listening are accepted.
        package var lateDays = Listening.usualLateDays
        /// The account that visitors without a session read as; nil means that they have to sign in.
        package var guestAccount: String?
        /// Whether a loopback address proves that a client is on this machine. A public address in ``stream`` says that it does not.
        package var trustsLoopback = true
        /// Time for which archived audit entries are kept; nil: forever.
        package var auditRetention: Duration?
        /// Whether the first sweep may move more than a tenth of the media to the trash.
        package var sweepsEverything = false
        /// The version of the running program.
        package var version = ""
        /// Called with every error that a client sees only as a 500.
        package var onFailure: (@Sendable (any Error, HTTPRequest) -> Void)?

        package init() {}
    }

    /// - Parameters:
    ///   - home: the home with media and keys.
    ///   - database: the database.
    ///   - blobs: the media.
    ///   - settings: the operator's settings.
    ///   - clock: the clock.
    ///   - metrics: the metrics.
    ///   - isLeftOut: whether a capability is left out of the list, with its routes, jobs, metrics and personal data.
    /// - Throws: ``ServerError`` for the home and its keys, errors of the database.
    package init(
        home: Home,
        database: any Database,
        blobs: any BlobStore,
        settings: Settings = Settings(),
        clock: any WallClock = SystemClock(),
        metrics: MetricsRegistry = MetricsRegistry(),
        leavingOut isLeftOut: (any Capability) -> Bool = { _ in false }
    ) async throws {
        let context = try await ServiceContext(home: home, database: database, clock: clock, metrics: metrics)
        let draining = Locked(false)
        let signOnLabel = settings.signOn.provider == nil ? nil : settings.signOn.label
        let audit = try AuditCapability(context, retention: settings.auditRetention) {
            try EditionStore.isProduct($0, in: $1)
        }
        let accounts = try AccountsCapability(
            context,
            settings.accounts(signOnLabel: signOnLabel),
            audit: audit.audit.fold
        )
        let catalog = CatalogCapability(
            context,
            blobs: blobs,
            sweepsEverything: settings.sweepsEverything,
            callers: accounts.callers
        )
        let orders = OrdersCapability(context, accounts)
        let entitlements = try await EntitlementsCapability(
            context,
            accounts,
            products: catalog.products,
            audit: audit.audit.fold
        )
        let deviceLimits = settings.subscription.devices
        var players = settings.players
        players.publicURL = settings.stream.publicURL
        let authority = try await AuthorityCapability(context, players, accounts) {
            try deviceLimits.applied(to: $0, at: $1, in: $2)
        }
        let contentKeys = KeyStoreCapability(context, accounts)
        let keys = contentKeys.keys
        catalog.editions.makeKeys { try keys.requireTitleKey($0, $1, isForContents: $2, by: $3, at: $4, in: $5) }
        let exchange = KeyExchangeCapability(context, keys, accounts, settings.stream.publicURL, version: settings.version)
        let leases = Leases(limit: settings.stream.concurrency, mode: settings.stream.mode)
        var licenses = settings.licensing
        // Where an order's id is enough, listeners have no account.
        licenses.licenses.countsOrders = settings.stream.access == .orderURL
        licenses.licenses.rotatesKeys = settings.stream.keyRotation > 0
        let licensing = try await LicensingCapability(
            context,
            licenses,
            accounts,
            catalog,
            orders,
            authority,
            contentKeys,
            leases: leases,
            audit: audit.audit
        )
        let clearKey = ClearKeyCapability(context, contentKeys, licensing, audit: audit.audit)
        let relay = RelayCapability(context, settings.relays, accounts, audit: audit.audit)
        let sources = try EntitlementSourcesCapability(
            context,
            accounts,
            products: catalog.products,
            receipts: settings.receipts
        ) { try settings.subscription.sources(context, accounts, entitlements, audit: audit.audit.fold, receipts: $0) }
        let signOn = try SignOnCapability(
            context,
            accounts,
            settings.signOn,
            audit: audit.audit.fold,
            onFailure: settings.onFailure
        )
        let streaming = try await StreamingCapability(context, settings.stream, catalog, orders.orders, leases, accounts.callers)
        let listening = ListeningCapability(context, accounts, streaming.streaming, lateDays: settings.lateDays)
        let delivery = try await EditionDeliveryCapability(
            context,
            settings.delivery,
            accounts,
            catalog,
            contentKeys,
            sources,
            audit: audit.audit
        )
        let feeds = try FeedsCapability(
            context,
            delivery,
            accounts.callers,
            parameters: settings.subscription.names,
            needSignIn: settings.editions.feedsNeedSignIn
        )
        let others: [any Capability] = [
            audit, accounts, catalog, orders, entitlements, authority, contentKeys, exchange, licensing, clearKey, relay,
            sources, signOn, streaming, listening, delivery, feeds,
        ].filter { !isLeftOut($0) }
        let administration = AdministrationCapability(
            context,
            beside: others,
            accounts,
            audit.audit,
            explanations: Explanations(
                context,
                sources: sources.sources,
                products: catalog.products,
                access: settings.stream.access,
                leases: leases
            ),
            version: settings.version,
            isDraining: { draining.withLock(\.self) }
        )
        let website = WebsiteCapability(
            context,
            accounts,
            catalog,
            orders.orders,
            streaming.grants,
            listening,
            entitlements.subscriptions,
            feeds.shelf,
            administration,
            authority,
            signOnLabel: signOnLabel
        )
        capabilities = others + [administration, website].filter { !isLeftOut($0) }

        var router = Router()
        router.unexpectedError = settings.onFailure
        router.otherOrigins = settings.otherOrigins
        for capability in capabilities {
            capability.addRoutes(to: &router)
            capability.addMetrics(to: metrics)
        }
        if let database = database as? SQLiteDatabase { StoreMeter.add(database, to: metrics) }
        self.router = router
        self.context = context
        self.blobs = blobs
        self.draining = draining
        accountsCapability = accounts
        auditCapability = audit
        self.catalog = catalog
        ordersCapability = orders
        self.entitlements = entitlements
        authorityCapability = authority
        licensingCapability = licensing
        self.streaming = streaming
        listeningCapability = listening
        self.delivery = delivery
        self.administration = administration
    }

    /// All capabilities, lowest first: each reads its own tables and the tables of earlier ones.
    package static let layers: [any Capability.Type] = [
        AuditCapability.self, AccountsCapability.self, CatalogCapability.self, OrdersCapability.self, EntitlementsCapability.self,
        AuthorityCapability.self, KeyStoreCapability.self, KeyExchangeCapability.self, LicensingCapability.self,
        ClearKeyCapability.self, RelayCapability.self, EntitlementSourcesCapability.self, SignOnCapability.self,
        StreamingCapability.self, ListeningCapability.self, EditionDeliveryCapability.self, FeedsCapability.self,
        AdministrationCapability.self, WebsiteCapability.self,
    ]

    /// A router with only the rights location, for the listener that requests client certificates.
    package var rightsRouter: Router {
        var router = Router()
        router.unexpectedError = self.router.unexpectedError
        if capabilities.contains(where: { $0 is LicensingCapability }) { licensingCapability.addRights(to: &router) }
        return router
    }

    /// Makes `/readyz` refuse new requests.
    package func drain() {
        draining.withLock { $0 = true }
    }
}

// What commands and tests use of the capabilities.
extension CarrelService {
    package var home: Home { context.home }
    package var database: any Database { context.database }
    package var metrics: MetricsRegistry { context.metrics }
    package var accounts: Accounts { accountsCapability.accounts }
    package var desk: AccountAdministration { accountsCapability.desk }
    package var devices: Devices { accountsCapability.devices }
    package var staff: Staff { accountsCapability.staff }
    package var appPasswords: AppPasswords { accountsCapability.appPasswords }
    package var audit: Audit { auditCapability.audit }
    package var titles: Titles { catalog.titles }
    package var editions: Editions { catalog.editions }
    package var ingesting: IngestService { catalog.ingesting }
    package var blobSweep: BlobSweep { catalog.blobSweep }
    package var orders: Orders { ordersCapability.orders }
    package var subscriptions: Subscriptions { entitlements.subscriptions }
    package var authority: Authority { authorityCapability.authority }
    package var licenses: Licenses { licensingCapability.licenses }
    package var rightsLocation: RightsLocation { licensingCapability.rightsLocation }
    package var businessTokens: Tokens { licensingCapability.tokens }
    package var players: Players { authorityCapability.players }
    package var personalizations: Personalizations { authorityCapability.personalizations }
    package var links: LinkCodes { authorityCapability.links }
    package var leases: Leases { streaming.streaming.leases }
    package var tickets: TicketKeyring { streaming.tickets }
    package var listening: Listening { listeningCapability.listening }
    package var credentials: CredentialKeyring { delivery.credentials }
    package var feedPasswords: FeedPasswords { delivery.feedPasswords }
    package var erasure: Erasure { administration.erasure }
    package var register: PersonalRegister { administration.register }
    package var housekeeping: Housekeeping { administration.housekeeping }
    package var nodes: Nodes { administration.nodes }
}

extension CarrelService.Settings {
    fileprivate func accounts(signOnLabel: String?) -> AccountsCapability.Settings {
        var made = AccountsCapability.Settings()
        made.signInNetworkLimit = signInNetworkLimit
        made.passwordCost = passwordCost
        made.guestAccount = guestAccount
        made.trustsLoopback = trustsLoopback && stream.publicURL == nil
        made.hasCannedUsers = subscription.hasCannedUsers
        made.signOnLabel = signOnLabel
        return made
    }

    fileprivate var licensing: LicensingCapability.Settings {
        var made = LicensingCapability.Settings()
        made.publicURL = stream.publicURL
        made.rightsListener = rightsListener
        made.licenses = licenses
        made.relayKeys = Set(relays.map(\.keyID))
        made.refusesQuerySecrets = subscription.refusesQuerySecrets
        return made
    }

    fileprivate var delivery: EditionDeliveryCapability.Settings {
        var made = EditionDeliveryCapability.Settings()
        made.editions = editions
        made.publicURL = stream.publicURL
        made.credentialLife = subscription.credentialLife
        made.alsoValue = subscription.alsoValue
        made.names = subscription.names
        made.refusesQuerySecrets = subscription.refusesQuerySecrets
        made.saysWhatWasAsked = subscription.saysWhatWasAsked
        made.sha1 = subscription.sha1
        made.cannedProduct = subscription.hasCannedUsers ? subscription.cannedIssues.first : nil
        return made
    }
}
