// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// A resource of an HTTP server as a source, read by byte ranges (RFC 9110 §14). Where the server does not serve
/// them, opening throws `media.no-ranges`.
public final class HTTPSource: MediaSource {
    /// The opened resource, and its first bytes.
    private struct Opened {
        var resource: RangedResource
        var head: [UInt8]
    }

    private let url: String
    private let client: any MediaHTTPClient
    private let fields: [MediaHTTPField]
    private let opened = Locked<Opened?>(nil)

    /// Size of the first request in bytes: it contains the headers of most files.
    private static let headLength: Int64 = 1 << 16

    /// Creates a source for a URL.
    ///
    /// - Parameters:
    ///   - url: absolute.
    ///   - client: sends the requests.
    ///   - fields: additional header fields of each request.
    public init(_ url: String, client: any MediaHTTPClient, fields: [MediaHTTPField] = []) {
        self.url = url
        self.client = client
        self.fields = fields
    }

    public func open() async throws -> MediaSourceInformation {
        let changed = MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)) has changed while it was read")
        var resource = RangedResource(url, client, fields: fields, changed: changed)
        let response = try await resource.request(0..<Self.headLength, limit: Int(Self.headLength))
        let head = try resource.open(with: response, requested: Self.headLength)
        let new = Opened(resource: resource, head: head)
        opened.withLock { $0 = new }
        return MediaSourceInformation(length: resource.length, contentType: response.field("Content-Type"))
    }

    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        guard let opened = opened.withLock({ $0 }) else { throw MediaError(.closed, "the stream is closed") }
        if range.isEmpty { return [] }
        if range.upperBound <= Int64(opened.head.count) {
            return Array(opened.head[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        return try await opened.resource.read(range)
    }

    public func close() { opened.withLock { $0 = nil } }
}
