// SPDX-License-Identifier: Apache-2.0

package import CarrelThreads

/// Settings that all requests of one client share.
public struct HTTPClientConfiguration: Sendable {
    /// The addresses that requests without their own rule (``ClientRequest/addresses``) may connect to. Default: all, which is
    /// right for addresses that the operator configured. For untrusted addresses (a manifest, a license, a caller) it must be
    /// ``AddressRule/publicOnly``.
    public var addresses: AddressRule
    /// A PEM file of the certificate authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// Root certificates in DER (X.509) to trust instead of the system's and ``certificateAuthorities``, such as the root of one
    /// service. Default: none.
    public var trustedRoots: [[UInt8]]
    /// Whether a server may show a certificate for another name. For tests only: anyone with a trusted certificate can pass for any server.
    /// Default: no.
    public var acceptsOtherHostsForTesting: Bool
    /// Whether any certificate for the server's name is accepted, such as a self-signed one. For tests only: any server can be
    /// impersonated. Default: no.
    public var acceptsAnyCertificateForTesting: Bool
    /// Whether HTTP/2 is offered on encrypted connections. Default: yes.
    public var allowsHTTP2: Bool
    /// The maximum number of connections to one host; further requests wait. Default: 32.
    public var maxConnectionsPerHost: Int
    /// The maximum number of connections in total, and of idle connections. Default: 256.
    public var maxConnections: Int
    /// Whether `http_proxy`, `https_proxy` and `no_proxy` of the environment count. Never for loopback hosts, and not with
    /// any rule but ``AddressRule/any``, because a rule cannot see through a proxy. Default: no.
    public var usesEnvironmentProxy: Bool
    /// The `User-Agent` of requests without their own. Default: `carrel`.
    public var userAgent: String
    /// Starts the thread of the client.
    package var threads = ThreadStarter.system

    /// Creates a configuration; each parameter is the property of its name.
    public init(
        addresses: AddressRule = .any,
        certificateAuthorities: String? = nil,
        trustedRoots: [[UInt8]] = [],
        acceptsOtherHostsForTesting: Bool = false,
        acceptsAnyCertificateForTesting: Bool = false,
        allowsHTTP2: Bool = true,
        maxConnectionsPerHost: Int = 32,
        maxConnections: Int = 256,
        usesEnvironmentProxy: Bool = false,
        userAgent: String = "carrel"
    ) {
        self.addresses = addresses
        self.certificateAuthorities = certificateAuthorities
        self.trustedRoots = trustedRoots
        self.acceptsOtherHostsForTesting = acceptsOtherHostsForTesting
        self.acceptsAnyCertificateForTesting = acceptsAnyCertificateForTesting
        self.allowsHTTP2 = allowsHTTP2
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.maxConnections = maxConnections
        self.usesEnvironmentProxy = usesEnvironmentProxy
        self.userAgent = userAgent
    }
}
