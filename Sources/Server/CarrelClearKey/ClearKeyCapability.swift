// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelKeyStore
package import CarrelHTTP
package import CarrelHome
package import CarrelLicensing
import CarrelMetrics
import CarrelThrottling
import CarrelWebAPI

/// Keys in the clear for stock players (ClearKey), and the license address that all players share.
package struct ClearKeyCapability: Capability {
    private let routes: ClearKeyRoutes

    /// The limit of requests per network and minute.
    private static let networkLimit = 1200

    package init(
        _ context: ServiceContext,
        _ contentKeys: KeyStoreCapability,
        _ licensing: LicensingCapability,
        audit: Audit
    ) {
        func counter(_ outcome: String) -> Counter {
            context.metrics.counter(
                "carrel_clear_key_requests_total",
                "Requests of ClearKey players, by outcome.",
                [("outcome", outcome)]
            )
        }
        routes = ClearKeyRoutes(
            clearKeys: ClearKeys(
                tokens: licensing.tokens,
                keys: contentKeys.keys,
                clock: context.clock,
                audit: audit.fold,
                counters: ClearKeys.Counters(issued: counter("issued"), denied: counter("denied"))
            ),
            licenses: licensing.licenses,
            clock: context.clock,
            limiter: TokenBucketLimiter(perMinute: Self.networkLimit)
        )
    }

    package func addRoutes(to router: inout Router) { routes.add(to: &router) }
}
