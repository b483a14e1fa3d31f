package import CarrelBytes
package import CarrelCrypto
package import CarrelHTTP
import CarrelHTTPClient
package import CarrelHTTPServer
package import CarrelStore
import CarrelThreads
import CarrelUpstream

/// The service on one home: its capabilities, and the router that answers for them.
///
/// The server runs it behind sockets; a command on a home where no server runs calls the router directly, so that both do the
/// same thing in the same way.
package final class CarrelService: Sendable {
    package let home: Home
    package let database: any Database
    package let blobs: any BlobStore
    package let accounts: Accounts
    package let titles: Titles
    package let ingesting: Ingesting
    package let blobSweep: BlobSweep
    package let orders: Orders
    package let listening: Listening
    package let tickets: TicketKeyring
    package let desk: AccountDesk
    package let devices: Devices
    package let staff: Staff
    package let appPasswords: AppPasswords
    package let subscriptions: Subscriptions
    package let editions: Editions
    package let audit: Audit
    package let erasure: Erasure
    package let housekeeping: Housekeeping
    package let nodes: Nodes
    package let credentials: CredentialKeyring
    package let feedPasswords: FeedPasswords
    package let metrics: MetricsRegistry
    package let router: Router
    private let draining: Locked<Bool>

    /// What the operator decides, beyond where things are.
    package struct Settings: Sendable {
        package var stream = StreamSettings()
        package var subscription = SubscriptionSettings()
        package var editions = EditionSettings()
        package var signOn = SignOnSettings()
        package var receipts = ReceiptSettings()
        /// How many attempts a minute to sign in come from one network before it is slowed down; at least 1.
        package var signInNetworkLimit = SignInThrottle.usualNetworkLimit
        /// What hashing a password costs.
        package var passwordCost = Argon2id.Parameters.standard
        /// The other origins whose pages may stream, report, sign in and read feeds and editions.
        package var otherOrigins = OtherOrigins()
        /// For how many days after an order's end reports of what was heard before it are taken.
        package var lateDays = Listening.usualLateDays
        /// The account that visitors without a session read as; nil means that they have to sign in.
        package var guestAccount: String?
        /// Whether a loopback address proves that a client is on this machine. A public address in ``stream`` says that it does not.
        package var trustsLoopback = true
        /// Which version of the program runs.
        package var version = ""
        /// Told of every error that a client sees only as a 500.
        package var onFailure: (@Sendable (any Error, HTTPRequest) -> Void)?

        package init() {}
    }

    package init(
        home: Home,
        database: any Database,
        blobs: any BlobStore,
        settings: Settings = Settings(),
        clock: any WallClock = SystemClock(),
        metrics: MetricsRegistry = MetricsRegistry()
    ) async throws {
        self.home = home
        self.database = database
        self.blobs = blobs
        self.metrics = metrics
        let activity = Activity(clock: clock)
        let keyring = try await MasterKeys.settle(try MasterKeyring(of: home), in: database, at: clock.now)
        let master = MasterKeyring.Shared(of: home, keyring)
        nodes = Nodes(home: home, database: database, clock: clock, master: master)
        tickets = try await TicketKeyring(database: database, master: master, clock: clock)
        let secrets = try await SecretStore.ownSecrets(master, in: database)
        func secret(_ purpose: SecretStore.Purpose) throws -> Secret {
            guard let secret = secrets[purpose] else {
                throw ServerError(.masterKey, "the secret '\(purpose.rawValue)' is missing from the database")
            }
            return secret
        }
        let sessions = Sessions(database: database, clock: clock, renewalSecret: try secret(.renewal))
        accounts = Accounts(database: database, clock: clock, sessions: sessions)
        let coldBlobs = ColdBlobs(blobs)
        titles = Titles(database: database, blobs: blobs, coldBlobs: coldBlobs, clock: clock)
        let ingestWork = IngestWork(home: home, blobs: blobs)
        blobSweep = BlobSweep(
            database: database,
            blobs: blobs,
            clock: clock,
            thread: ingestWork.disk,
            home: home
        )
        orders = Orders(database: database, clock: clock, master: master)
        listening = Listening(database: database, clock: clock, lateDays: settings.lateDays)
        let bookmarks = Bookmarks(database: database, clock: clock)
        let grants = Grants(orders: orders, database: database, blobs: coldBlobs)
        let streaming = Streaming(
            settings: settings.stream,
            orders: orders,
            grants: grants,
            tickets: tickets,
            blobs: coldBlobs,
            clock: clock
        )
        let passwords = PasswordHashing(settings.passwordCost)
        desk = AccountDesk(database: database, clock: clock, passwords: passwords, orders: orders)
        devices = Devices(database: database, clock: clock)
        appPasswords = AppPasswords(database: database, clock: clock)
        let subjects = UpstreamSubjects(secret: try secret(.upstream))
        audit = Audit(database: database, clock: clock, key: try secret(.audit), head: AuditHead(path: home.auditHeadPath))
        let export = PersonalExport(database: database, clock: clock, upstream: subjects, audit: audit.group)
        erasure = Erasure(database: database, clock: clock, orders: orders, upstream: subjects)
        housekeeping = Housekeeping(database: database, clock: clock, erasure: erasure)
        credentials = try await CredentialKeyring(
            database: database,
            master: master,
            clock: clock,
            sha1: settings.subscription.sha1,
            metrics: metrics
        )
        feedPasswords = FeedPasswords(secret: try secret(.feed))
        let products = ProductCatalog(clock: clock) { known in
            try await database.read { try EditionStore.products(unless: known, in: $0) }
        }
        try await EditionIndex.complete(database)
        let openEditions = OpenEditions(database: database, blobs: coldBlobs)
        editions = Editions(database: database, clock: clock, products: products, open: openEditions)
        ingesting = Ingesting(work: ingestWork, titles: titles, editions: editions)
        subscriptions = Subscriptions(database: database, clock: clock, products: products)
        let throttle = SignInThrottle(
            database: database,
            clock: clock,
            secret: try secret(.throttle),
            networkLimit: settings.signInNetworkLimit
        )
        let check = PasswordCheck(database: database, clock: clock, passwords: passwords, throttle: throttle)
        staff = Staff(database: database, clock: clock, passwords: passwords, check: check)
        let receipts = Receipts(database: database, clock: clock, settings: settings.receipts)
        let known = KnownHoldings(database: database, clock: clock)
        try await known.begin()
        let receiptSource = ReceiptSource(receipts: receipts, products: products)
        let sources = try settings.subscription.sources(
            database: database,
            clock: clock,
            sessions: sessions,
            check: check,
            products: products,
            known: known,
            receipts: settings.receipts.verifier == nil ? nil : receiptSource,
            secret: try secret(.upstream),
            metrics: metrics
        )
        let authorisation = SubscriptionService(
            sources: sources,
            credentials: credentials,
            feedPasswords: feedPasswords,
            audit: audit.fold,
            activity: activity,
            credentialLife: settings.subscription.credentialLife
        )
        let draining = Locked(false)
        self.draining = draining

        let callers = Callers(
            accounts: accounts,
            appPasswords: appPasswords,
            staff: staff,
            guestAccount: settings.guestAccount,
            trustsLoopback: settings.trustsLoopback && settings.stream.publicURL == nil
        )
        var router = Router()
        router.unexpectedError = settings.onFailure
        router.otherOrigins = settings.otherOrigins
        let signOnLabel = settings.signOn.provider == nil ? nil : settings.signOn.label
        let signIn = SignInRoutes(
            accounts: accounts,
            desk: desk,
            check: check,
            callers: callers,
            activity: activity,
            signOnLabel: signOnLabel
        )
        PageRoutes(callers: callers, signIn: signIn).add(to: &router)
        signIn.add(to: &router)
        ShelfRoutes(
            database: database,
            orders: orders,
            titles: titles,
            listening: listening,
            bookmarks: bookmarks,
            grants: grants,
            callers: callers,
            clock: clock
        ).add(to: &router)
        StreamRoutes(streaming: streaming, titles: titles, callers: callers, activity: activity).add(to: &router)
        SampleRoutes(titles: titles).add(to: &router)
        ListeningRoutes(listening: listening, streaming: streaming, callers: callers, activity: activity).add(to: &router)
        OrderRoutes(orders: orders, accounts: accounts, callers: callers, clock: clock).add(to: &router)
        TitleRoutes(titles: titles, ingesting: ingesting, callers: callers).add(to: &router)
        BlobRoutes(database: database, callers: callers).add(to: &router)
        AccessionRoutes(titles: titles, editions: editions, callers: callers).add(to: &router)
        AdminRoutes(
            home: home,
            database: database,
            accounts: accounts,
            master: master,
            nodes: nodes,
            tickets: tickets,
            callers: callers
        ).add(to: &router)
        let calls = SubscriptionRoutes(
            service: authorisation,
            names: settings.subscription.names,
            alsoValue: settings.subscription.alsoValue,
            refusesQuerySecrets: settings.subscription.refusesQuerySecrets,
            saysWhatWasAsked: settings.subscription.saysWhatWasAsked,
            metrics: metrics
        )
        calls.add(to: &router)
        var callsAlone = Router()
        calls.add(to: &callsAlone)
        CannedUserRoutes(
            check: settings.subscription.hasCannedUsers
                ? CannedUserCheck(router: callsAlone, product: settings.subscription.cannedIssues.first) : nil,
            callers: callers
        ).add(to: &router)
        AccountRoutes(accounts: accounts, desk: desk, devices: devices, appPasswords: appPasswords, callers: callers)
            .add(to: &router)
        let history = ListeningHistory(database: database, clock: clock)
        PrivacyRoutes(desk: desk, export: export, erasure: erasure, history: history, callers: callers).add(to: &router)
        OwnerRoutes(
            accounts: accounts,
            desk: desk,
            check: check,
            devices: devices,
            appPasswords: appPasswords,
            subscriptions: subscriptions,
            history: history,
            export: export,
            erasure: erasure,
            callers: callers
        ).add(to: &router)
        StaffRoutes(
            staff: staff,
            desk: desk,
            callers: callers,
            activity: activity,
            hasCannedUsers: settings.subscription.hasCannedUsers,
            signOnLabel: signOnLabel
        ).add(to: &router)
        let orderExplanations = OrderExplanations(
            database: database,
            clock: clock,
            access: settings.stream.access,
            leases: streaming.leases
        )
        ExplanationRoutes(
            sources: sources,
            products: products,
            orders: orderExplanations,
            audit: audit.group,
            callers: callers
        ).add(to: &router)
        PlanRoutes(subscriptions: subscriptions, desk: desk, callers: callers).add(to: &router)
        ThrottleRoutes(throttle: throttle, accounts: accounts, callers: callers).add(to: &router)
        CredentialRoutes(credentials: credentials, accounts: accounts, callers: callers).add(to: &router)
        let readers = ReaderEntitlement(
            database: database,
            clock: clock,
            products: products,
            sources: sources,
            feedPasswords: feedPasswords,
            signIn: ReaderSignIn(database: database, clock: clock, check: check),
            callers: callers
        )
        let gate = EditionGate(credentials: credentials, readers: readers, metrics: metrics)
        let document = AuthenticationDocument(title: settings.editions.catalogTitle, publicURL: settings.stream.publicURL)
        let downloads = EditionDownloads(open: openEditions, titles: titles, clock: clock)
        let downloadRoutes = DownloadRoutes(downloads: downloads, gate: gate, settings: settings.editions, document: document)
        downloadRoutes.add(to: &router)
        EdgeRoutes(downloads: downloads, gate: gate, routes: downloadRoutes).add(to: &router)
        let catalogID = CatalogID.text(try secret(.audit))
        let feedGate = FeedGate(readers: readers, document: document, needsSignIn: settings.editions.feedsNeedSignIn)
        FeedRoutes(
            database: database,
            document: document,
            catalogID: catalogID,
            parameters: settings.subscription.names,
            callers: callers,
            gate: feedGate
        )
        .add(to: &router)
        let editionShelf = EditionShelf(database: database, readers: readers)
        ShelfFeedRoutes(shelf: editionShelf, gate: feedGate, document: document, catalogID: catalogID).add(to: &router)
        EditionShelfRoutes(shelf: editionShelf, callers: callers).add(to: &router)
        EditionRoutes(editions: editions, ingesting: ingesting, callers: callers).add(to: &router)
        ReceiptRoutes(receipts: receipts, desk: desk, callers: callers).add(to: &router)
        ReceiptValidator(source: receiptSource, service: authorisation).add(to: &router)
        AuditRoutes(audit: audit, accounts: accounts, callers: callers).add(to: &router)
        HealthRoutes(
            home: home,
            database: database,
            clock: clock,
            passwords: passwords,
            leases: streaming.leases,
            activity: activity,
            version: settings.version,
            startedAt: clock.now,
            sources: sources,
            audit: audit.group,
            isDraining: { draining.withLock { $0 } },
            callers: callers
        ).add(to: &router)
        IdentityRoutes(identities: Identities(database: database, clock: clock), desk: desk, callers: callers).add(to: &router)
        if let provider = settings.signOn.provider {
            let client = HTTPClient(
                configuration: HTTPClientConfiguration(certificateAuthorities: settings.signOn.certificateAuthorities)
            )
            let signOn = SignOn(
                client: OpenIDClient(provider, client: client, clock: clock),
                settings: settings.signOn,
                database: database,
                clock: clock,
                sessions: sessions,
                key: HMACSHA256(key: try secret(.signOn))
            )
            SignOnRoutes(signOn: signOn, callers: callers, activity: activity, onFailure: settings.onFailure).add(to: &router)
        }
        OperationRoutes(
            database: database,
            metrics: metrics,
            isDraining: { draining.withLock { $0 } },
            callers: callers
        ).add(to: &router)
        self.router = router
        let leases = streaming.leases
        metrics.gauge("carrel_listeners", "Listeners with a lease.") { Double(leases.count(at: clock.now)) }
        QueueMeter.add(to: metrics)
        if let database = database as? SQLiteDatabase { StoreMeter.add(database, to: metrics) }
    }

    /// Lets `/readyz` say that no new requests should come.
    package func drain() {
        draining.withLock { $0 = true }
    }
}
