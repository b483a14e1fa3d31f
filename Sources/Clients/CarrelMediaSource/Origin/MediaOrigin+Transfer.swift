// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
package import CarrelHTTPClient
import CarrelMedia

extension MediaOrigin {
    /// The part of a resource that an earlier transfer left.
    package struct Continuation: Sendable {
        /// Bytes that are present.
        package var offset: Int64
        /// The strong `ETag`, or the `Last-Modified` date, of the response that they are from.
        package var validator: String

        package init(offset: Int64, validator: String) {
            self.offset = offset
            self.validator = validator
        }
    }

    /// Opens a resource that is saved.
    ///
    /// - Parameters:
    ///   - reference: a resolved address, or a path of a local origin.
    ///   - range: the requested range; nil for all.
    ///   - continuation: the part that is present; unused if the resource has changed since (RFC 9110 §13.1.5).
    ///   - limits: the limits of the transfer.
    /// - Returns: the bytes, and the number of bytes of the continuation that they follow: its offset, or 0.
    /// - Throws: ``ProxyError``.
    package func openTransfer(
        _ reference: String,
        range: Range<Int64>?,
        continuing continuation: Continuation? = nil,
        limits: [BandwidthLimit] = []
    ) async throws(ProxyError) -> (stream: OriginStream, offset: Int64) {
        guard case .servers(let named, let origins, let client) = place else { return (try await open(reference, range: range), 0) }
        var request = try request(reference, range, named, origins, within: Self.mediaTime)
        request.bandwidthLimits = limits
        let rest = continuation.flatMap { Self.rest(of: range, from: $0.offset) }
        if let continuation, let rest {
            request.range = rest
            request.headers["If-Range"] = continuation.validator
        }
        let stream: ClientStream
        do throws(HTTPClientError) { stream = try await client.open(request) } catch {
            throw ProxyError(error, in: Self.shown(reference))
        }
        let name = Self.shown(reference)
        let response = stream.response
        switch response.status {
        case .partialContent where rest != nil:
            let begin = (range?.lowerBound ?? 0) + (continuation?.offset ?? 0)
            let found = response.headers["Content-Range"].flatMap { ContentRange.range($0) }
            if let found, found.lowerBound == begin, range == nil || found.upperBound == range?.upperBound {
                return (OriginStream(stream, name: name), continuation?.offset ?? 0)
            }
        case .partialContent where Self.isRange(range, of: response): return (OriginStream(stream, name: name), 0)
        case .ok where range == nil || range?.lowerBound == 0 && response.length == range?.upperBound:
            guard response.headers["Content-Type"]?.lowercased().hasPrefix("text/html") != true else {
                stream.cancel()
                var error = ProxyError(.unavailable, "\(name): the server returned a web page")
                error.isTransient = true
                throw error
            }
            return (OriginStream(stream, name: name), 0)
        case .ok where rest == nil:
            stream.cancel()
            throw ProxyError(.noRanges, "\(name): the server does not serve byte ranges")
        // it changed, or is shorter than the part that is present
        case .ok, .partialContent: break
        case .rangeNotSatisfiable where rest != nil: break
        default:
            stream.cancel()
            throw Self.failure(response, of: reference)
        }
        stream.cancel()
        guard rest != nil else {
            throw ProxyError(.wrongLength, "\(name): the server returned another range than requested")
        }
        return try await openTransfer(reference, range: range, limits: limits)
    }

    /// The bytes of a range that follow an offset in it; nil if there are none.
    private static func rest(of range: Range<Int64>?, from offset: Int64) -> ClientRange? {
        guard offset > 0 else { return nil }
        guard let range else { return .from(offset) }
        guard offset < range.count else { return nil }
        return .bytes(range.lowerBound + offset...range.upperBound - 1)
    }
}
