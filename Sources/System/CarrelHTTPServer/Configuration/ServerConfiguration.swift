// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
package import CarrelThreads

/// Addresses, trusted proxies and time limits of a server.
package struct ServerConfiguration: Sendable {
    /// Certificate and key of TLS listeners, in PEM files.
    package struct TLSFiles: Sendable, Hashable {
        /// The certificate and those that signed it, in that order.
        package var certificate: String
        /// The private key, not encrypted.
        package var key: String

        /// The paths of two PEM files.
        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The addresses to listen on.
    package var listeners: [Listener] = [.tcp(address: "127.0.0.1", port: 0)]
    /// Threads that serve connections; nil means one for each core.
    package var workers: Int?
    /// Starts the threads that accept and watch connections.
    package var threads = ThreadStarter.system
    /// Values of `Host` that are allowed besides the names of this machine's own loopback and the addresses listened on, which rebinding a
    /// foreign name to us (a page reading from us as if from its own host) cannot do. Names without ports; `*` allows all.
    package var allowedHosts: [String] = []
    /// The proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `X-Request-Id` are trusted.
    package var trustedProxies: [AddressRange] = []
    /// Listeners that request a client certificate, in addition to ``listeners``.
    package var clientCertificateListeners: [ClientCertificateListener] = []
    /// The proxies whose `Client-Cert` (RFC 9440) is trusted, on every listener; from others the field is ignored.
    package var certificateProxies: [AddressRange] = []
    /// For listeners with TLS.
    package var tls: TLSFiles?
    /// The time for which browsers use only TLS after a response over TLS (`Strict-Transport-Security`); zero sends no header.
    package var strictTransport: Duration = .zero
    /// From the first byte of a request (or the connection's start) to the end of its header.
    package var headerDeadline: Duration = .seconds(10)
    /// A body may take this long and then one second more for each `minimumBodyRate` bytes.
    package var bodyDeadline: Duration = .seconds(30)
    /// Bytes in a second.
    package var minimumBodyRate = 4096
    /// The time for which a client may read no bytes of a response, like a paused player.
    package var stalledWriter: Duration = .seconds(120)
    /// The time for which a connection may wait for its next request.
    package var keepAlive: Duration = .seconds(75)
    /// The longest exchange, from the first byte of the request to the last of the response.
    package var exchangeDeadline: Duration = .seconds(4 * 3600)
    /// More connections over the network than this are closed as they come.
    package var maximumConnections = 20000
    /// The limit for one IPv4 address or one /64 of IPv6, other than this machine and the trusted proxies; nil for a quarter of
    /// ``maximumConnections``, 0 for no limit.
    package var connectionsPerNetwork: Int?
    /// Connections of Unix sockets, which the other limits leave alone.
    static let unixConnections = 64
    /// The memory limit of all request bodies together; one network may use an eighth of it.
    package var bodyMemory = 64 << 20
    /// Bytes in a second that a client takes of a response on average over ``stalledWriter``; 0 for any number.
    package var minimumReadRate = 1024
    /// Bytes that a connection keeps, also while idle, for the start lines and header fields of a request and its response. A
    /// token of 4,096 bytes fits into the request line even if each byte is escaped, with half a kilobyte of fields. The
    /// command's allocator has a size class of exactly this size; the next one is 20 KiB.
    static let headerBytes = 14 * 1024
    /// The bytes of an unwanted body that are read, so that the client sees the answer, before the connection is cut.
    static let discardedBody = 1 << 20

    /// The defaults: any free port of 127.0.0.1.
    package init() {}
}
