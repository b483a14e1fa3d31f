// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHTTP
package import CarrelHTTPClient
import CarrelMP4
package import CarrelMedia
import CarrelSavedMedia
import CarrelThreads

/// The bytes of a resource, piece by piece. What is not taken makes the origin wait.
package final class OriginStream: Sendable {
    private enum Source: Sendable {
        case remote(ClientStream)
        case local(LocalFile)
        case saved(SavedBytes)
        /// A document of a package, until it is taken, with its address after redirects.
        case document(Locked<[UInt8]?>, url: String)
    }

    /// Reads local files of all sessions: pieces, which take as long as the disk does.
    static let threads = BlockingThreadPool(name: "carrel-proxy", count: 4)

    /// Bytes of one piece of a local file.
    private static let pieceLength: Int64 = 256 << 10

    private let source: Source
    /// The part of a local file that is still to come.
    private let unread: Locked<Range<Int64>>
    /// The resource, as errors show it.
    package let name: String
    /// The length of the body in bytes, if known.
    package let length: Int64?

    package init(_ stream: ClientStream, name: String) {
        source = .remote(stream)
        unread = Locked(0..<0)
        self.name = name
        length = stream.response.length
    }

    package init(_ file: LocalFile, _ range: Range<Int64>, name: String) {
        source = .local(file)
        unread = Locked(range)
        self.name = name
        length = Int64(range.count)
    }

    init(_ bytes: SavedBytes, name: String) {
        source = .saved(bytes)
        unread = Locked(0..<0)
        self.name = name
        length = bytes.length
    }

    init(_ document: SavedDocument, name: String) {
        source = .document(Locked(document.bytes), url: document.finalAddress)
        unread = Locked(0..<0)
        self.name = name
        length = Int64(document.bytes.count)
    }

    /// The address after redirects; nil for a local file, and for saved media.
    package var url: String? {
        switch source {
        case .remote(let stream): stream.response.url
        case .document(_, let url): url
        case .local, .saved: nil
        }
    }

    /// The time at which the server made the response (RFC 9110 §6.6.1), in whole seconds.
    package var date: Instant? {
        guard case .remote(let stream) = source, let field = stream.response.headers["Date"] else { return nil }
        return Instant.parse(httpDate: field)
    }

    /// Size of the whole resource in bytes, if the response to a range request reports it.
    package var totalLength: Int64? {
        guard case .remote(let stream) = source else { return nil }
        return ContentRange.totalLength(stream.response.headers["Content-Range"])
    }

    /// The range of the response, if it has a part of the resource.
    package var range: Range<Int64>? {
        guard case .remote(let stream) = source else { return nil }
        return stream.response.headers["Content-Range"].flatMap { ContentRange.range($0) }
    }

    /// Names this content of the resource: a strong `ETag`, else `Last-Modified`.
    package var validator: String? {
        guard case .remote(let stream) = source else { return nil }
        return stream.response.headers["ETag"].flatMap { $0.hasPrefix("\"") ? $0 : nil }
            ?? stream.response.headers["Last-Modified"]
    }

    /// All bytes that are still to come.
    ///
    /// - Parameter limit: bytes at most.
    /// - Returns: the bytes.
    /// - Throws: `proxy.wrong-length` when there are more; what ``next()`` throws.
    package func rest(limit: Int) async throws(ProxyError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() {
            guard bytes.count + piece.count <= limit else {
                throw ProxyError(.wrongLength, "\(name) is longer than \(limit) bytes")
            }
            if bytes.isEmpty { bytes = piece } else { bytes += piece }
        }
        return bytes
    }

    /// The next bytes, at most 256 KiB; nil at the end. One caller at a time.
    package func next() async throws(ProxyError) -> [UInt8]? {
        switch source {
        case .remote(let stream):
            do throws(HTTPClientError) { return try await stream.next() } catch {
                guard error.code == .interrupted else { throw ProxyError(error, in: name) }
                var cut = ProxyError(.wrongLength, "\(name): \(error.message)")
                cut.isTransient = true
                throw cut
            }
        case .local(let file):
            let range = unread.withLock { unread in
                let end = min(unread.upperBound, unread.lowerBound + Self.pieceLength)
                let piece = unread.lowerBound..<end
                unread = end..<unread.upperBound
                return piece
            }
            guard !range.isEmpty else { return nil }
            do { return try await Self.threads.run { try file.readAll(range) } } catch {
                throw ProxyError(error, in: name)
            }
        case .saved(let bytes):
            do { return try await Self.threads.run { try bytes.next() } } catch { throw ProxyError(error, in: name) }
        case .document(let document, _):
            let bytes = document.withLock { $0.take() }
            return bytes?.isEmpty == true ? nil : bytes
        }
    }

    /// Ends the transfer.
    package func cancel() {
        if case .remote(let stream) = source { stream.cancel() }
        unread.withLock { $0 = 0..<0 }
    }
}

extension ClientResponse {
    /// The length that the response declares.
    package var length: Int64? { headers["Content-Length"].flatMap { Int64($0) } }
}
