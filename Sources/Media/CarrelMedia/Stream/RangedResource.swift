// SPDX-License-Identifier: Apache-2.0

/// A resource of an HTTP server that is read by byte ranges (RFC 9110 §14), each of which must be of the content that was opened.
///
/// Every request after the first has `If-Range` with a strong `ETag`, else with `Last-Modified`. Another length is a change too.
struct RangedResource: Sendable {
    private let url: String
    private let client: any MediaHTTPClient
    private let fields: [MediaHTTPField]
    /// Names the content of the resource: a strong `ETag`, else `Last-Modified`.
    private var validator: String?
    /// Bytes of the resource; 0 before it is opened.
    private(set) var length: Int64 = 0
    /// The error for content that changed.
    private let changed: MediaError

    /// - Parameters:
    ///   - url: absolute.
    ///   - client: sends the requests.
    ///   - fields: further header fields of each request.
    ///   - changed: the error for content that changed.
    init(_ url: String, _ client: any MediaHTTPClient, fields: [MediaHTTPField] = [], changed: MediaError) {
        self.url = url
        self.client = client
        self.fields = fields
        self.changed = changed
    }

    /// Requests a range.
    ///
    /// - Parameters:
    ///   - range: the range.
    ///   - limit: bytes of the response at most.
    /// - Returns: the response, whatever its status.
    /// - Throws: what the client throws.
    func request(_ range: Range<Int64>, limit: Int) async throws -> MediaHTTPResponse {
        var all = fields
        all.append(MediaHTTPField("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        // a range of compressed bytes would not be one of the resource
        all.append(MediaHTTPField("Accept-Encoding", "identity"))
        if let validator { all.append(MediaHTTPField("If-Range", validator)) }
        return try await client.get(url, fields: all, limit: limit)
    }

    /// Takes length and validator from the response to the first request.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - count: bytes that were requested, from the first on.
    /// - Returns: the first bytes.
    /// - Throws: `media.no-ranges` if the response is the whole resource; `media.unavailable`.
    mutating func open(with response: MediaHTTPResponse, requested count: Int64) throws(MediaError) -> [UInt8] {
        // an empty resource has no ranges
        if response.status == 416, ContentRange.totalLength(response.field("Content-Range")) == 0 { return [] }
        let (range, length) = try partial(response)
        guard range == 0..<min(length, count) else { throw otherRange }
        self.length = length
        let tag = response.field("ETag").flatMap { $0.hasPrefix("\"") ? $0 : nil }
        validator = tag ?? response.field("Last-Modified")
        return response.body
    }

    /// Reads a range of the opened resource.
    ///
    /// - Parameter range: within its length, not empty.
    /// - Returns: the bytes.
    /// - Throws: the error for changed content; `media.no-ranges`, `media.unavailable`; what the client throws.
    func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let response = try await request(range, limit: range.count)
        guard response.status != 200 || validator == nil else { throw changed }
        let (received, length) = try partial(response)
        guard length == self.length else { throw changed }
        guard received == range else { throw otherRange }
        return response.body
    }

    /// The error for a server without ranges.
    var noRanges: MediaError { MediaError(.noRanges, "\(KeyAddress.withoutSecrets(url)): the server does not serve byte ranges") }

    private var otherRange: MediaError {
        MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)): the server returned another range than requested")
    }

    /// The range and the length of a partial response, whose body has that many bytes.
    private func partial(_ response: MediaHTTPResponse) throws(MediaError) -> (Range<Int64>, Int64) {
        guard response.status != 200 else { throw noRanges }
        guard response.status == 206 else {
            throw MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)): the server returned status \(response.status)")
        }
        guard let text = response.field("Content-Range"), let length = ContentRange.totalLength(text),
            let range = ContentRange.range(text), range.upperBound <= length, range.count == response.body.count
        else { throw otherRange }
        return (range, length)
    }
}
