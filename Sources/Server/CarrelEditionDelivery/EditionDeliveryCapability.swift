// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelCatalog
package import CarrelKeyStore
package import CarrelEntitlementSources
package import CarrelHTTP
package import CarrelHome
package import CarrelThreads
package import CarrelWebAPI

/// The five calls of apps, the credentials of editions, and their downloads.
package struct EditionDeliveryCapability: Capability {
    package let credentials: CredentialKeyring
    package let feedPasswords: FeedPasswords
    package let readers: ReaderEntitlement
    package let document: AuthenticationDocument
    package let gate: EditionAuthorizer
    private let settings: Settings
    private let context: ServiceContext
    private let accounts: AccountsCapability
    private let catalog: CatalogCapability
    private let sources: EntitlementSourcesCapability
    private let service: SubscriptionService
    private let licensed: LicensedFiles
    /// Computes the tags of protected files. A short queue: a client is told to come back rather than to wait for many other files.
    package let tagThread = BlockingThreadPool(name: "dcf-tags", count: 1, limit: 32)

    /// The operator's settings of the calls and the downloads.
    package struct Settings: Sendable {
        package var editions = EditionSettings()
        /// The server's public base URL, if it differs from the request's host.
        package var publicURL: String?
        /// Lifetime of edition credentials.
        package var credentialLife = Duration.seconds(24 * 3600)
        /// Whether categories say their term as `value` too, which some apps read.
        package var alsoValue = false
        /// Parameter names of the five calls.
        package var names = ParameterNames()
        /// Whether calls with a token or a password in the query are refused.
        package var refusesQuerySecrets = false
        /// Whether responses end with a comment about the request, for debugging apps.
        package var saysWhatWasAsked = false
        /// Credentials of the field's old scheme that are let in; nil for none.
        package var sha1: SHA1Credentials?
        /// The product that the canned users are checked with; nil if there are none.
        package var cannedProduct: String?

        package init() {}
    }

    package init(
        _ context: ServiceContext,
        _ settings: Settings,
        _ accounts: AccountsCapability,
        _ catalog: CatalogCapability,
        _ contentKeys: KeyStoreCapability,
        _ sources: EntitlementSourcesCapability,
        audit: Audit
    ) async throws {
        self.settings = settings
        self.context = context
        self.accounts = accounts
        self.catalog = catalog
        self.sources = sources
        licensed = LicensedFiles(context, catalog, contentKeys.keys, thread: tagThread)
        credentials = try await CredentialKeyring(
            database: context.database,
            master: context.master,
            clock: context.clock,
            sha1: settings.sha1,
            metrics: context.metrics
        )
        feedPasswords = FeedPasswords(secret: try context.secret(.feed))
        service = SubscriptionService(
            sources: sources.sources,
            credentials: credentials,
            feedPasswords: feedPasswords,
            audit: audit.fold,
            activity: context.activity,
            credentialLife: settings.credentialLife
        )
        readers = ReaderEntitlement(
            database: context.database,
            clock: context.clock,
            products: catalog.products,
            sources: sources.sources,
            feedPasswords: feedPasswords,
            signIn: BasicAuthenticator(database: context.database, clock: context.clock, check: accounts.check),
            callers: accounts.callers
        )
        gate = EditionAuthorizer(credentials: credentials, readers: readers, metrics: context.metrics)
        document = AuthenticationDocument(title: settings.editions.catalogTitle, publicURL: settings.publicURL)
    }

    package func addRoutes(to router: inout Router) {
        let calls = SubscriptionRoutes(
            service: service,
            names: settings.names,
            alsoValue: settings.alsoValue,
            refusesQuerySecrets: settings.refusesQuerySecrets,
            saysWhatWasAsked: settings.saysWhatWasAsked,
            metrics: context.metrics
        )
        calls.add(to: &router)
        var callsAlone = Router()
        calls.add(to: &callsAlone)
        CannedUserRoutes(
            check: settings.cannedProduct.map { CannedUserCheck(router: callsAlone, product: $0) },
            callers: accounts.callers
        ).add(to: &router)
        CredentialRoutes(credentials: credentials, accounts: accounts.accounts, callers: accounts.callers).add(to: &router)
        let downloads = EditionDownloads(
            open: catalog.openEditions,
            titles: catalog.titles,
            licensed: licensed,
            clock: context.clock
        )
        let routes = DownloadRoutes(downloads: downloads, gate: gate, settings: settings.editions, document: document)
        routes.add(to: &router)
        EdgeRoutes(downloads: downloads, gate: gate, routes: routes).add(to: &router)
        ReceiptValidator(source: sources.receiptSource, service: service).add(to: &router)
    }

    package var jobs: [BackgroundJob] {
        let credentials = credentials
        return [
            BackgroundJob(every: CredentialKeyring.life, trouble: "cannot read revocations; edition downloads are refused") {
                try await credentials.refresh()
            }
        ]
    }
}
