// SPDX-License-Identifier: Apache-2.0

/// One route of a router.
public final class Route: Sendable {
    /// A handler: takes the request and the matched parts of its path, returns a response. Throws ``HTTPError``, an
    /// ``HTTPProblemConvertible`` error, or anything else, which the client sees as 500 and nothing more.
    public typealias Action = @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse

    /// The method of the route.
    public let method: HTTPMethod
    /// The pattern as it was given.
    public let pattern: String
    /// Path parameters that are never logged.
    public let secret: [String]
    /// Whether a body may be a form or plain text, which any web page can make a browser send.
    public let acceptsForms: Bool
    /// Whether a page of another origin may change state through it.
    public let acceptsOtherOrigins: Bool
    /// Whether a body may come in chunks, without a length.
    public let acceptsChunks: Bool
    /// Whether pages of ``Router/otherOrigins`` may use it and read its responses.
    public let isOpenToOtherOrigins: Bool
    /// Whether a GET route also handles HEAD.
    public let answersHead: Bool
    let parts: [RoutePattern.Part]
    let action: Action

    init(
        _ method: HTTPMethod,
        _ pattern: String,
        _ parts: [RoutePattern.Part],
        secret: [String],
        acceptsForms: Bool,
        acceptsOtherOrigins: Bool,
        acceptsChunks: Bool,
        isOpenToOtherOrigins: Bool,
        answersHead: Bool,
        action: @escaping Action
    ) {
        self.method = method
        self.pattern = pattern
        self.parts = parts
        self.secret = secret
        self.acceptsForms = acceptsForms
        self.acceptsOtherOrigins = acceptsOtherOrigins
        self.acceptsChunks = acceptsChunks
        self.isOpenToOtherOrigins = isOpenToOtherOrigins
        self.answersHead = answersHead
        self.action = action
    }

    /// The path for logs: every secret parameter is `*`.
    public func redacted(_ path: RequestPath) -> String {
        guard !secret.isEmpty else { return path.raw }
        var raw = path.raw
        var out: [UInt8] = []
        out.reserveCapacity(raw.utf8.count + 16)
        raw.withUTF8 { bytes in
            var (start, i) = (1, 0)
            while start <= bytes.count {
                var end = start
                while end < bytes.count, unsafe bytes[end] != UInt8(ascii: "/") { end += 1 }
                out.append(UInt8(ascii: "/"))
                switch i < parts.count ? parts[i] : parts.last {
                case .parameter(let name, let prefix, let suffix) where secret.contains(name):
                    out += prefix.utf8
                    out.append(UInt8(ascii: "*"))
                    out += suffix.utf8
                case .rest(let name) where secret.contains(name):
                    out.append(UInt8(ascii: "*"))
                    return
                default: unsafe out += UnsafeBufferPointer(rebasing: bytes[start..<end])
                }
                (start, i) = (end + 1, i + 1)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
