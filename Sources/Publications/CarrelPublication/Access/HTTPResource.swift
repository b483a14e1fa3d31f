// SPDX-License-Identifier: Apache-2.0

public import CarrelHTTP
public import CarrelHTTPClient
import CarrelThreads

/// A resource of a server that supports range requests (RFC 9110 §14).
///
/// The length comes from a request for the last bytes, which are kept: they contain an archive's directory, which then takes one
/// request. A server that sends the whole resource instead of a range is refused, because it may exceed the memory.
public final class HTTPResource: Resource {
    public let link: Link
    private let url: String
    private let client: HTTPClient
    private let headers: @Sendable () async throws(ResourceError) -> HTTPFields
    private let end = AsyncLazy<End>()

    /// The facts of the first response.
    private struct End: Sendable {
        let length: Int64
        /// The last bytes of the resource.
        let bytes: [UInt8]
        let tag: String?
    }

    /// The size of the first request: the longest end of a ZIP archive with its comment, and the directory of a small archive.
    private static let endSize: Int64 = 66 << 10

    /// Creates a resource that a server has.
    ///
    /// - Parameters:
    ///   - link: the resource's link.
    ///   - url: an absolute URL.
    ///   - client: sends the requests.
    ///   - headers: returns the fields of each request, such as a token that is renewed meanwhile.
    public init(
        _ link: Link,
        url: String,
        client: HTTPClient,
        headers: @escaping @Sendable () async throws(ResourceError) -> HTTPFields = { () throws(ResourceError) in HTTPFields() }
    ) {
        self.link = link
        self.url = url
        self.client = client
        self.headers = headers
    }

    public func length() async throws(ResourceError) -> Int64 { try await learn().length }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let end = try await learn()
        let range = range.clamped(to: 0..<end.length)
        guard !range.isEmpty else { return }
        let kept = end.length - Int64(end.bytes.count)
        if range.lowerBound >= kept {
            buffer += end.bytes[Int(range.lowerBound - kept)..<Int(range.upperBound - kept)]
            return
        }
        let response = try await ask(
            .bytes(range.lowerBound...range.upperBound - 1),
            tag: end.tag,
            limit: Int64(range.count)
        )
        guard response.status == .partialContent, response.body.count == range.count else { throw refused(response) }
        if let tag = end.tag, let now = response.headers["ETag"], now != tag { throw changed }
        buffer += response.body
    }

    private func learn() async throws(ResourceError) -> End {
        try await end.value { [self] () async throws(ResourceError) in
            let response = try await ask(.last(Self.endSize), tag: nil, limit: Self.endSize)
            let tag = response.headers["ETag"]
            // a resource that is shorter may come whole
            if response.status == .ok { return End(length: Int64(response.body.count), bytes: response.body, tag: tag) }
            guard response.status == .partialContent, let field = response.headers["Content-Range"],
                let slash = field.lastIndex(of: "/"), let length = Int64(field[field.index(after: slash)...]),
                length >= Int64(response.body.count)
            else { throw refused(response) }
            return End(length: length, bytes: response.body, tag: tag)
        }
    }

    private func ask(_ range: ClientRange, tag: String?, limit: Int64) async throws(ResourceError) -> ClientResponse {
        var request = ClientRequest(url, headers: try await headers(), maxResponseBytes: limit)
        if let tag, !tag.hasPrefix("W/") { request.headers["If-Match"] = tag }
        request.range = range
        request.maxRedirects = 5
        do throws(HTTPClientError) {
            return try await client.send(request)
        } catch {
            switch error.code {
            case .tooLarge: throw ResourceError(.unavailable, "the server of \"\(link.href)\" does not send ranges")
            case .cancelled: throw ResourceError(.cancelled, "reading \"\(link.href)\" was cancelled")
            default: throw ResourceError(.unavailable, "\"\(link.href)\" cannot be had: \(error)")
            }
        }
    }

    private func refused(_ response: ClientResponse) -> ResourceError {
        switch response.status.rawValue {
        case 401, 402, 403, 407: ResourceError(.forbidden, "the server does not give \"\(link.href)\" to this reader")
        case 404, 410: ResourceError(.notFound, "the server has no \"\(link.href)\"")
        case 412: changed
        case 200..<300: ResourceError(.unavailable, "the server of \"\(link.href)\" does not send ranges")
        default: ResourceError(.unavailable, "the server answered \(response.status.rawValue) for \"\(link.href)\"")
        }
    }

    private var changed: ResourceError { ResourceError(.unavailable, "\"\(link.href)\" changed while it was read") }
}
