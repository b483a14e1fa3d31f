// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Packed audio segments: encoded frames after an ID3 tag with their presentation time (RFC 8216 §3.4).
package enum PackedAudio {
    /// Bytes of the tag that `timestampTag` makes.
    package static let timestampTagLength = 73

    /// Returns the tag with the presentation time of the segment's first sample.
    ///
    /// - Parameter timestamp: 90 kHz ticks on the MPEG-2 timeline; only the low 33 bits are used.
    /// - Returns: an ID3v2.4 tag with one PRIV frame.
    package static func timestampTag(_ timestamp: UInt64) -> [UInt8] {
        let owner = Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0]
        let frameLength = owner.count + 8
        var tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(10 + frameLength)]
        tag += Array("PRIV".utf8) + [0, 0, 0, UInt8(frameLength), 0, 0]
        tag += owner
        tag.append(bigEndian: timestamp & (1 << 33 - 1))
        return tag
    }

    /// The presentation time in a segment's tag.
    ///
    /// - Parameter tag: a whole ID3 tag.
    /// - Returns: 33 bits of 90 kHz ticks; nil if the tag has no such frame.
    package static func timestamp(_ tag: RawSpan) -> UInt64? {
        let owner: StaticString = "com.apple.streaming.transportStreamTimestamp\u{0}"
        let length = owner.utf8CodeUnitCount
        guard tag.byteCount >= length + 8 else { return nil }
        guard let start = (0...tag.byteCount - length - 8).first(where: { tag.matches(owner, at: $0) }) else { return nil }
        return tag.u64(at: start + length) & (1 << 33 - 1)
    }
}
