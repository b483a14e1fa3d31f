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

    /// Opens a resource that is saved. A response that may be incomplete, or another resource, is an error.
    ///
    /// - Parameters:
    ///   - reference: a resolved address, or a path of a local origin.
    ///   - range: the requested range; nil for all.
    ///   - continuation: the part that is present; unused if the resource has changed since (RFC 9110 §13.1.5, §15.3.7.3).
    ///   - limits: the limits of the transfer.
    ///   - name: the resource, as errors show it: its path may contain a ticket.
    /// - Returns: the bytes, and the number of bytes of the continuation that they follow: its offset, or 0.
    /// - Throws: ``ProxyError``.
    package func openTransfer(
        _ reference: String,
        range: Range<Int64>?,
        continuing continuation: Continuation? = nil,
        limits: [BandwidthLimit] = [],
        named name: String
    ) async throws(ProxyError) -> (stream: OriginStream, offset: Int64) {
        guard case .servers(let named, let origins, let client) = place else {
            return (try await open(reference, range: range), 0)
        }
        var request: ClientRequest
        do throws(ProxyError) { request = try self.request(reference, range, named, origins, within: Self.mediaTime) } catch {
            throw ProxyError(error.code, "\(name): its address may not be used")
        }
        request.bandwidthLimits = limits
        let rest = continuation.flatMap { Self.rest(of: range, from: $0.offset) }
        if let continuation, let rest {
            request.range = rest
            request.headers["If-Range"] = continuation.validator
        }
        let stream: ClientStream
        do throws(HTTPClientError) { stream = try await client.open(request) } catch { throw ProxyError(error, in: name) }
        let response = stream.response
        let origin = OriginStream(stream, name: name)
        if let error = Self.fault(in: response, name) {
            stream.cancel()
            throw error
        }
        switch response.status {
        case .partialContent where rest != nil:
            if let continuation, Self.continues(continuation, range, origin) { return (origin, continuation.offset) }
        case .partialContent where Self.isRange(range, of: response): return (origin, 0)
        case .ok where range == nil || range?.lowerBound == 0 && response.length == range?.upperBound: return (origin, 0)
        case .ok where rest == nil:
            stream.cancel()
            throw ProxyError(.noRanges, "\(name): the server does not serve byte ranges")
        // it changed, or is shorter than the part that is present
        case .ok, .partialContent: break
        case .rangeNotSatisfiable where rest != nil: break
        default:
            stream.cancel()
            throw Self.failure(response, named: name)
        }
        stream.cancel()
        guard rest != nil else {
            throw ProxyError(.wrongLength, "\(name): the server returned another range than requested")
        }
        return try await openTransfer(reference, range: range, limits: limits, named: name)
    }

    /// A fault of a successful response, for which its body is not the resource, or would not be known to be complete.
    private static func fault(in response: ClientResponse, _ name: String) -> ProxyError? {
        guard response.status == .ok || response.status == .partialContent else { return nil }
        var problem: String?
        if response.headers["Content-Type"]?.lowercased().hasPrefix("text/html") == true { problem = "returned a web page" }
        let coding = response.headers["Content-Encoding"]?.lowercased() ?? "identity"
        if coding != "identity" { problem = "returned a compressed response" }
        // HTTP/1 marks the end by closing the connection, which looks the same when the connection breaks (RFC 9112 §6.3)
        if response.version.hasPrefix("1"), response.length == nil, response.headers["Transfer-Encoding"] == nil {
            problem = "returned a response without a length"
        }
        return problem.map { problem in
            var error = ProxyError(.unavailable, "\(name): the server \(problem)")
            error.isTransient = true
            return error
        }
    }

    /// Whether a response has all the bytes after a part that is present, of the same version.
    private static func continues(_ part: Continuation, _ range: Range<Int64>?, _ stream: OriginStream) -> Bool {
        guard let found = stream.range, stream.validator == part.validator else { return false }
        let end = range?.upperBound ?? stream.totalLength
        return found.lowerBound == (range?.lowerBound ?? 0) + part.offset && found.upperBound == end
    }

    /// The bytes of a range that follow an offset in it; nil if there are none.
    private static func rest(of range: Range<Int64>?, from offset: Int64) -> ClientRange? {
        guard offset > 0 else { return nil }
        guard let range else { return .from(offset) }
        guard offset < range.count else { return nil }
        return .bytes(range.lowerBound + offset...range.upperBound - 1)
    }
}
