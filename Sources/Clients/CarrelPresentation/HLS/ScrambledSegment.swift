// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHLS
import CarrelMediaSource

/// A segment of a playlist whose transport packets are scrambled (DVB-CISSA).
package enum ScrambledSegment {
    /// Whether a segment is a transport stream, by its first byte.
    package static func isTransportStream(_ head: [UInt8]) -> Bool { head.first == 0x47 }

    /// Whether packets at the beginning of a segment are scrambled, by their headers.
    package static func isScrambled(_ head: [UInt8]) -> Bool {
        let bytes = head.rawSpan
        var at = 0
        while at + 188 <= bytes.byteCount, bytes.u8(at: at) == 0x47 {
            if bytes.u8(at: at + 3) & 0xc0 != 0 { return true }
            at += 188
        }
        return false
    }

    /// Bytes in which scrambled packets are looked for, at least.
    private static let limit = 1 << 20

    /// Whether the first segment of a playlist is scrambled.
    ///
    /// - Parameters:
    ///   - held: the playlist.
    ///   - origin: the origin of the segment.
    /// - Returns: false if segments are not transport streams.
    /// - Throws: ``ProxyError``.
    static func isFirst(of held: HeldPlaylist, _ origin: MediaOrigin) async throws -> Bool {
        guard let first = held.playlist.segments.first(where: { !$0.isGap }), first.initialization == nil else { return false }
        let stream = try await origin.open(origin.resolve(first.uri, against: held.url), range: first.byteRange?.range)
        defer { stream.cancel() }
        var head: [UInt8] = []
        while head.count < limit, let piece = try await stream.next() {
            head += piece
            if isScrambled(head) { return true }
            guard isTransportStream(head) else { return false }
        }
        return false
    }
}

extension MediaSegment.ByteRange {
    /// The range in numbers of a file; nil beyond them.
    package var range: Range<Int64>? {
        guard offset < 1 << 62, length < 1 << 62 else { return nil }
        return Int64(offset)..<Int64(offset + length)
    }
}
