// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelBytes
package import CarrelCatalog
package import CarrelHTTP
package import CarrelHome
package import CarrelMetrics
package import CarrelJSON
package import CarrelOrders
import CarrelWebAPI

/// Delivery of audio: playlists, keys and segments.
package struct StreamingCapability: Capability {
    package let tickets: TicketKeyring
    package let streaming: Streaming
    package let grants: PlaybackGrantCache
    private let catalog: CatalogCapability
    private let callers: RequestAuthenticator
    private let activity: Activity
    private let clock: any WallClock

    package init(
        _ context: ServiceContext,
        _ settings: StreamSettings,
        _ catalog: CatalogCapability,
        _ orders: Orders,
        _ leases: Leases,
        _ callers: RequestAuthenticator
    ) async throws {
        self.catalog = catalog
        self.callers = callers
        activity = context.activity
        clock = context.clock
        tickets = try await TicketKeyring(database: context.database, master: context.master, clock: context.clock)
        grants = PlaybackGrantCache(orders: orders, database: context.database, blobs: catalog.coldBlobs)
        streaming = Streaming(
            settings: settings,
            orders: orders,
            grants: grants,
            tickets: tickets,
            blobs: catalog.coldBlobs,
            leases: leases,
            clock: context.clock
        )
    }

    package func addRoutes(to router: inout Router) {
        StreamRoutes(streaming: streaming, titles: catalog.titles, callers: callers, activity: activity).add(to: &router)
        TicketKeyRoutes(tickets: tickets, callers: callers).add(to: &router)
    }

    package func addMetrics(to registry: MetricsRegistry) {
        let (leases, clock) = (streaming.leases, clock)
        registry.gauge("carrel_listeners", "Listeners with a lease.") { Double(leases.count(at: clock.now)) }
    }

    package func health(at now: Instant, within limit: Duration) async -> JSONObject {
        ["listeners": .integer(streaming.leases.count(at: now))]
    }
}
