// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
package import CarrelHTTP
package import CarrelHome
package import CarrelJSON
import CarrelThrottling
import CarrelWebAPI

/// Relays to the license servers of other vendors. They keep nothing in the database: a relay's key is in its file.
package struct RelayCapability: Capability {
    private let relays: Relays
    private let routes: RelayRoutes

    /// The limit of requests per network and minute.
    private static let networkLimit = 1200

    package init(_ context: ServiceContext, _ settings: [RelaySettings], _ accounts: AccountsCapability, audit: Audit) {
        relays = Relays(
            inOrder: settings.map { Relay($0, context) },
            clock: context.clock,
            database: context.database,
            audit: audit
        )
        routes = RelayRoutes(
            relays: relays,
            callers: accounts.callers,
            clock: context.clock,
            limiter: TokenBucketLimiter(perMinute: Self.networkLimit)
        )
    }

    package func addRoutes(to router: inout Router) { routes.add(to: &router) }

    package func health(at now: Instant, within limit: Duration) async -> JSONObject {
        relays.inOrder.isEmpty ? [:] : ["relays": .array(relays.inOrder.map { .object($0.json) })]
    }
}
