// SPDX-License-Identifier: Apache-2.0

public import CarrelHTTP

/// A request to send.
public struct ClientRequest: Sendable {
    /// 16 MiB.
    public static let defaultMaxResponseBytes: Int64 = 16 << 20

    /// The method (RFC 9110 §9).
    public var method: HTTPMethod
    /// Absolute, http or https. Dots in the path and percent-encoding are sent unchanged. A user name and password are sent as
    /// Basic authentication.
    public var url: String
    /// `Content-Length` and `Transfer-Encoding` are the client's to write.
    public var headers: HTTPFields
    /// The body; none by default.
    public var body: ClientRequestBody
    /// Time limits of connecting, of silence and of the whole exchange.
    public var timeouts: ClientTimeouts
    /// A longer response, after decompression, is an error (`client.tooLarge`), as soon as that is known.
    public var maxResponseBytes: Int64
    /// The maximum number of redirects to follow. Default: none, the redirect is the response. Secret fields are not sent to
    /// another origin, and https is not downgraded to http.
    public var maxRedirects: Int
    /// The range of bytes to request. The status shows whether the server honored it.
    public var range: ClientRange?
    /// Whether to request a compressed response, and decompress it. Not together with a range. Default: no.
    public var acceptsCompression: Bool
    /// The addresses that the request and its redirects may go to. Default: nil, the client's
    /// (``HTTPClientConfiguration/addresses``).
    public var addresses: AddressRule?
    /// Whether a redirect may lead to an `http` URL of another origin. Default: yes; from https it never may.
    public var allowsPlainRedirects: Bool
    /// Limits on the rate of the response's body, each shared with the other requests that have it. Default: none.
    public var bandwidthLimits: [BandwidthLimit]
    /// The path of a Unix socket to connect to instead of the URL's host.
    public var unixSocketPath: String?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: the method, sent verbatim.
    ///   - url: absolute, http or https.
    ///   - headers: in this order.
    ///   - body: the body.
    ///   - timeouts: 10 s to connect, 60 s in all and 30 s without progress by default.
    ///   - maxResponseBytes: 16 MiB by default.
    public init(
        _ method: HTTPMethod,
        _ url: String,
        headers: HTTPFields = [:],
        body: ClientRequestBody = .none,
        timeouts: ClientTimeouts = ClientTimeouts(),
        maxResponseBytes: Int64 = defaultMaxResponseBytes
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeouts = timeouts
        self.maxResponseBytes = maxResponseBytes
        maxRedirects = 0
        range = nil
        acceptsCompression = false
        addresses = nil
        allowsPlainRedirects = true
        bandwidthLimits = []
        unixSocketPath = nil
    }

    /// A GET request.
    ///
    /// - Parameters:
    ///   - url: absolute, http or https.
    ///   - headers: in this order.
    ///   - timeouts: 10 s to connect, 60 s in all and 30 s without progress by default.
    ///   - maxResponseBytes: 16 MiB by default.
    public init(
        _ url: String,
        headers: HTTPFields = [:],
        timeouts: ClientTimeouts = ClientTimeouts(),
        maxResponseBytes: Int64 = defaultMaxResponseBytes
    ) {
        self.init(.get, url, headers: headers, timeouts: timeouts, maxResponseBytes: maxResponseBytes)
    }
}
