// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation
import CarrelThreads

/// The content of a DCF as a plain stream of bytes with ranges.
struct ByteContent: Sendable {
    private let stream: MediaStream
    private let contentType: String
    private let tag: String
    /// The keys that were requested when it was opened.
    private let use: KeyUse
    private let origin: MediaOrigin
    private let threads: SessionThreads

    /// Bytes of one read.
    private static let pieceLength: Int64 = 256 << 10

    /// Opens the first object of a DCF.
    ///
    /// - Throws: ``ProxyError``: `proxy.output-control` unless the grant of the key relaxes the controls of the output; `proxy.no-ranges`
    ///   when the origin has none.
    init(_ origin: MediaOrigin, _ settings: SessionSettings, _ use: KeyUse) async throws(ProxyError) {
        self.use = use
        do {
            self.origin = origin
            threads = settings.threads
            stream = try await MediaStream.open(
                OriginSource(origin),
                as: .dcf(),
                keys: settings.keys.keys(for: use),
                clock: settings.clock
            )
            // the padding reveals a wrong key while an error status is still possible
            if stream.size > 0 { _ = try await stream.read(stream.size - 1..<stream.size) }
        } catch let error as Malformed where Self.isCutOff(error) {
            throw ProxyError(.wrongLength, "\(MediaOrigin.shown(origin.source)) is shorter than it says: \(error.description)")
        } catch {
            throw ProxyError(error, in: MediaOrigin.shown(origin.address))
        }
        contentType = settings.parameters.contentType ?? stream.contentType ?? "application/octet-stream"
        let random = Random.bytes(12)
        tag = Base64URL.encode(random)
    }

    /// How the file is protected.
    ///
    /// - Returns: each protection once.
    /// - Throws: ``ProxyError``.
    func protections() async throws -> [MediaProtection] {
        let reader = try await origin.reader()
        return try await threads.run { try MediaFile(reader).protections }
    }

    /// Whether the only fault of a file is its length: a box ends after it.
    private static func isCutOff(_ error: Malformed) -> Bool {
        ["past the end of the file", "file ended early", "box header is cut off"].contains { error.what.hasSuffix($0) }
    }

    /// The response to GET or HEAD: whole, or in parts.
    ///
    /// - Parameters:
    ///   - request: the request for it.
    ///   - watched: its body, which ends with the keys.
    /// - Returns: the response.
    /// - Throws: ``ProxyError``: `proxy.expired-key`.
    func response(to request: HTTPRequest, _ watched: WatchedBody) async throws -> HTTPResponse {
        let stream = stream
        watched.use.join([use])
        // reads nothing, but detects an expired key while an error status is still possible
        _ = try await stream.read(0..<0)
        return .serving(
            Representation(length: stream.size, contentType: contentType, etag: EntityTag(tag).description) { range in
                .stream(length: range.count) { writer in
                    try await watched.send {
                        var at = range.lowerBound
                        while at < range.upperBound {
                            let piece: [UInt8]
                            do { piece = try await stream.read(at..<min(range.upperBound, at + Self.pieceLength)) } catch {
                                throw ProxyError(error, in: "the content")
                            }
                            guard !piece.isEmpty else {
                                throw ProxyError(.wrongLength, "the content is shorter than its header says")
                            }
                            try await writer.write(piece)
                            at += Int64(piece.count)
                        }
                    }
                }
            },
            for: request
        )
    }
}
