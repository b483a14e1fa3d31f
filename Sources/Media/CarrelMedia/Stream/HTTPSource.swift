// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A resource of an HTTP server as a source, read by byte ranges (RFC 9110 §14). Where the server does not serve
/// them, opening throws `media.no-ranges`.
public final class HTTPSource: MediaSource {
    /// The facts of the first response.
    private struct Resource {
        var information: MediaSourceInformation
        /// Names this content of the resource: a strong `ETag`, else `Last-Modified`.
        var validator: String?
        /// The first bytes.
        var head: [UInt8]
    }

    private let url: String
    /// The address in errors.
    private var shownURL: String { KeyAddress.withoutSecrets(url) }
    private let client: any MediaHTTPClient
    private let fields: [MediaHTTPField]
    private let resource = Locked<Resource?>(nil)

    /// Size of the first request in bytes: it contains the headers of most files.
    private static let headLength: Int64 = 1 << 16

    /// Creates a source that reads a URL by byte ranges.
    ///
    /// - Parameters:
    ///   - url: absolute.
    ///   - client: sends the requests.
    ///   - fields: further header fields of each request.
    public init(_ url: String, client: any MediaHTTPClient, fields: [MediaHTTPField] = []) {
        self.url = url
        self.client = client
        self.fields = fields
    }

    public func open() async throws -> MediaSourceInformation {
        let response = try await request(0..<Self.headLength, validator: nil)
        if response.status == 416, Self.totalLength(response.field("Content-Range")) == 0 {
            // an empty resource has no ranges
            return keep(
                Resource(information: .init(length: 0, contentType: response.field("Content-Type")), validator: nil, head: [])
            )
        }
        let (range, length) = try partial(response)
        guard range.lowerBound == 0, range.upperBound == min(length, Self.headLength) else { throw otherRange }
        let tag = response.field("ETag").flatMap { $0.hasPrefix("\"") ? $0 : nil }
        return keep(
            Resource(
                information: MediaSourceInformation(length: length, contentType: response.field("Content-Type")),
                validator: tag ?? response.field("Last-Modified"),
                head: response.body
            )
        )
    }

    private func keep(_ new: Resource) -> MediaSourceInformation {
        let information = new.information
        resource.withLock { $0 = new }
        return information
    }

    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        guard let known = resource.withLock({ $0 }) else { throw MediaError(.closed, "the stream is closed") }
        if range.isEmpty { return [] }
        if range.upperBound <= Int64(known.head.count) { return Array(known.head[Int(range.lowerBound)..<Int(range.upperBound)]) }
        let response = try await request(range, validator: known.validator)
        guard response.status != 200 || known.validator == nil else {
            throw MediaError(.unavailable, "\(shownURL) has changed while it was read")
        }
        let (got, length) = try partial(response)
        guard length == known.information.length else {
            throw MediaError(.unavailable, "\(shownURL) has changed while it was read")
        }
        guard got == range else { throw otherRange }
        return response.body
    }

    public func close() { resource.withLock { $0 = nil } }

    private func request(_ range: Range<Int64>, validator: String?) async throws -> MediaHTTPResponse {
        var all = fields
        all.append(MediaHTTPField("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        // a range of compressed bytes would not be one of the resource
        all.append(MediaHTTPField("Accept-Encoding", "identity"))
        if let validator { all.append(MediaHTTPField("If-Range", validator)) }
        return try await client.get(url, fields: all, limit: range.count)
    }

    private var otherRange: MediaError {
        MediaError(.unavailable, "\(shownURL): the server returned another range than requested")
    }

    /// The range and the total length of a partial response; its body must match the range.
    private func partial(_ response: MediaHTTPResponse) throws(MediaError) -> (Range<Int64>, Int64) {
        guard response.status != 200 else {
            throw MediaError(.noRanges, "\(shownURL): the server does not serve byte ranges")
        }
        guard response.status == 206 else {
            throw MediaError(.unavailable, "\(shownURL): the server returned status \(response.status)")
        }
        guard let text = response.field("Content-Range"), let length = Self.totalLength(text), let range = Self.range(text),
            range.upperBound <= length, range.count == response.body.count
        else { throw otherRange }
        return (range, length)
    }

    /// The length in `bytes 0-99/1234` or `bytes */1234`.
    package static func totalLength(_ text: String?) -> Int64? {
        guard let text, text.lowercased().hasPrefix("bytes "), let slash = text.lastIndex(of: "/") else { return nil }
        return number(text[text.index(after: slash)...])
    }

    /// The range in `bytes 0-99/1234`.
    package static func range(_ text: String) -> Range<Int64>? {
        guard text.lowercased().hasPrefix("bytes "), let slash = text.lastIndex(of: "/") else { return nil }
        let parts = text.dropFirst(6)[..<slash].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = number(parts[0]), let last = number(parts[1]), first <= last, last < .max else {
            return nil
        }
        return first..<last + 1
    }

    /// Digits and nothing else.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
