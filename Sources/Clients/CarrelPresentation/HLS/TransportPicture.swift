// SPDX-License-Identifier: Apache-2.0

import CarrelFileSegments
import CarrelHLS
import CarrelMedia
import CarrelMediaSource

/// An I-frame of a transport stream, with the tables that its playlist does not name.
///
/// They are its initialization section, or precede the first I-frame of the resource (RFC 8216 §4.3.3.6).
struct TransportPicture: Sendable {
    let segment: MediaSegment
    /// Resolved.
    let url: String
    let range: Range<Int64>?
    /// The initialization section; empty if the playlist has none.
    let tables: [UInt8]
    /// The pixels of the picture; nil if they are not known.
    let pixels: Int?

    /// Bytes of tables in front of a picture, at most.
    private static let limit = 64 << 10

    /// Returns the clear I-frame.
    ///
    /// - Parameters:
    ///   - origin: the origin of the resource.
    ///   - playlist: the playlist with the segment.
    ///   - key: the key line of the samples; nil if packets are clear, or scrambled.
    ///   - number: the number of the segment.
    ///   - keys: the key source.
    /// - Returns: the tables and the I-frame.
    /// - Throws: ``ProxyError``.
    func media(
        _ origin: MediaOrigin,
        _ playlist: MediaPlaylist,
        _ key: EncryptionKey?,
        _ number: UInt64,
        _ keys: any ContentKeySource
    ) async throws -> ServedMedia {
        var tables = tables
        let offsets = playlist.segments.lazy.filter { $0.uri == segment.uri }.compactMap { $0.byteRange?.offset }
        if tables.isEmpty, let first = offsets.min(), 188...UInt64(Self.limit) ~= first {
            tables = try await origin.load(url, range: 0..<Int64(first), limit: Self.limit).bytes
        }
        let stream = try await SegmentOpening(origin: origin).open(url, range: range).behind(tables)
        guard let key else {
            return ServedMedia(.transportStream, DescrambledBytes(stream, keys: keys, pixels: pixels))
        }
        do {
            let decrypter = try await MediaSegmentDecrypter(key, segment: number, keys: keys, pixels: pixels)
            return ServedMedia(.transportStream, DecryptedBytes(stream, decrypter))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }
}
