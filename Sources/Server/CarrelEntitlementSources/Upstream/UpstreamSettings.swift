// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
package import CarrelHTTP
import CarrelHTTPClient
import CarrelMetrics
package import CarrelSubscription
package import CarrelUpstream
import CarrelWebAPI

/// Settings of one upstream system.
package struct UpstreamSettings: Sendable {
    /// The protocol of the system.
    package enum Transport: Sendable {
        case calls(SubscriptionEndpoints)
        /// The webhook of docs/entitlement-webhook.md.
        case webhook(url: String, secret: Secret)
    }

    /// Its name in configuration, reports and the audit log.
    package var name: String
    package var transport: Transport
    package var policy = FailPolicy.closed
    /// Timeout of one call.
    package var timeout = Duration.seconds(5)
    /// Networks of its addresses; empty: any public address, or this machine if its address names it.
    package var networks: [AddressRange] = []
    /// A PEM file of the authorities to trust instead of the system's.
    package var certificateAuthorities: String?
    /// Maximum number of concurrent calls; further calls fail.
    package var concurrency = 128
    package var breaker = CircuitBreaker.Limits()

    package init(name: String, _ transport: Transport) {
        self.name = name
        self.transport = transport
    }

    /// Creates the system with a separate client, so that no other source waits for its connections.
    ///
    /// - Throws: `upstream.address` for an unusable address.
    func system() throws(UpstreamError) -> any UpstreamSystem {
        let client = HTTPClient(
            configuration: HTTPClientConfiguration(
                addresses: addresses,
                certificateAuthorities: certificateAuthorities,
                maxConnectionsPerHost: concurrency,
                maxConnections: concurrency
            )
        )
        let timeouts = ClientTimeouts(connect: timeout, total: timeout, stall: max(timeout, .seconds(1)))
        switch transport {
        case .calls(let endpoints): return try SubscriptionCalls(endpoints, client: client, timeouts: timeouts)
        case .webhook(let url, let secret):
            return try EntitlementWebhookClient(url, secret: secret, client: client, timeouts: timeouts)
        }
    }

    /// Connections go nowhere else, whatever a name resolves to.
    private var addresses: AddressRule {
        let isHere =
            switch transport {
            case .calls(let endpoints): endpoints.isOnThisMachine
            case .webhook(let url, _): UpstreamAddress.isOnThisMachine(url)
            }
        return UpstreamAddress.rule(networks, isOnThisMachine: isHere)
    }
}
