package import CarrelBytes
import CarrelCrypto
package import CarrelHTTP
package import CarrelHTTPServer
package import CarrelStore
import CarrelThreads

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
    package let orders: Orders
    package let listening: Listening
    package let streaming: Streaming
    package let tickets: TicketKeyring
    package let metrics: MetricsRegistry
    package let router: Router
    private let draining: Locked<Bool>

    /// What the operator decides, beyond where things are.
    package struct Settings: Sendable {
        package var stream = StreamSettings()
        /// The account that visitors without a session read as; nil means that they have to sign in.
        package var guestAccount: String?

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
        let master = try MasterKeyring.Shared(of: home)
        tickets = try await TicketKeyring(database: database, master: master, clock: clock)
        accounts = Accounts(database: database, clock: clock)
        titles = Titles(database: database, blobs: blobs, clock: clock)
        ingesting = Ingesting(titles: titles, home: home)
        orders = Orders(database: database, clock: clock, master: master)
        listening = Listening(database: database, clock: clock)
        let bookmarks = Bookmarks(database: database, clock: clock)
        let grants = Grants(orders: orders, database: database, blobs: blobs)
        streaming = Streaming(settings: settings.stream, orders: orders, grants: grants, tickets: tickets, clock: clock)
        let draining = Locked(false)
        self.draining = draining

        let callers = Callers(accounts: accounts, guestAccount: settings.guestAccount)
        var router = Router()
        PageRoutes(accounts: accounts, callers: callers).add(to: &router)
        ShelfRoutes(
            orders: orders,
            titles: titles,
            listening: listening,
            bookmarks: bookmarks,
            grants: grants,
            callers: callers,
            clock: clock
        ).add(to: &router)
        StreamRoutes(streaming: streaming, titles: titles, callers: callers).add(to: &router)
        SampleRoutes(titles: titles).add(to: &router)
        ListeningRoutes(listening: listening, streaming: streaming, callers: callers).add(to: &router)
        OrderRoutes(orders: orders, accounts: accounts, callers: callers, clock: clock).add(to: &router)
        TitleRoutes(titles: titles, ingesting: ingesting, callers: callers).add(to: &router)
        AdminRoutes(
            home: home,
            database: database,
            accounts: accounts,
            master: master,
            tickets: tickets,
            callers: callers
        ).add(to: &router)
        OperationRoutes(
            database: database,
            metrics: metrics,
            isDraining: { draining.withLock { $0 } },
            callers: callers
        ).add(to: &router)
        self.router = router
        let leases = streaming.leases
        metrics.gauge("carrel_listeners", "Listeners with a lease.") { Double(leases.count(at: clock.now)) }
    }

    /// Lets `/readyz` say that no new requests should come.
    package func drain() {
        draining.withLock { $0 = true }
    }
}
