// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
import CarrelHTTPClient
package import CarrelRights
package import CarrelSubscription
package import CarrelTokens
import CarrelUpstream

/// Settings of one relay: a licensed server of another vendor, and the key of the messages that open it.
package struct RelaySettings: Sendable {
    /// Its name in addresses, reports and the audit log.
    package var name: String
    /// The address of the license server.
    package var url: String
    /// The address of the certificate that its players need; nil without one.
    package var certificateURL: String?
    /// The key of license messages. It is used for this relay alone, and makes no grant here.
    package var key: LicenseMessage.CommunicationKey
    /// The back-office key of the portal that may make messages; nil: staff and shops alone.
    package var portal: String?
    /// Names of further request fields that are forwarded.
    package var fields: [String] = []
    /// Timeout of one request, at most ``longestTimeout``.
    package var timeout = Self.longestTimeout
    /// Maximum number of concurrent requests; further ones fail.
    package var concurrency = 128
    /// Networks of its addresses; empty: any public address, or this machine if its address names it.
    package var networks: [AddressRange] = []
    /// A PEM file of the authorities to trust instead of the system's.
    package var certificateAuthorities: String?
    /// Longest time for which the certificate is cached.
    package var certificateLife = Duration.seconds(3600)
    package var breaker = CircuitBreaker.Limits()

    /// The timeout of a request at most.
    package static let longestTimeout = Duration.seconds(10)

    package init(name: String, url: String, key: LicenseMessage.CommunicationKey) {
        self.name = name
        self.url = url
        self.key = key
    }

    /// The id of its key, under which no message makes a grant here.
    package var keyID: KeyID { key.id }

    /// A separate client, so that no other system waits for its connections.
    func client() -> HTTPClient {
        let isHere = UpstreamAddress.isOnThisMachine(url) && (certificateURL.map { UpstreamAddress.isOnThisMachine($0) } ?? true)
        return HTTPClient(
            configuration: HTTPClientConfiguration(
                addresses: UpstreamAddress.rule(networks, isOnThisMachine: isHere),
                certificateAuthorities: certificateAuthorities,
                // one more: the certificate never waits for licenses
                maxConnectionsPerHost: concurrency + 1,
                maxConnections: concurrency + 1
            )
        )
    }

    /// Timeouts of one request.
    var timeouts: ClientTimeouts { ClientTimeouts(connect: timeout, total: timeout, stall: max(timeout, .seconds(1))) }
}
