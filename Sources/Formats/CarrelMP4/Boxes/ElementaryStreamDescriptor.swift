// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// The descriptor in an `esds` box (ISO/IEC 14496-14 §5.6, 14496-1 §7.2.6.5).
enum ElementaryStreamDescriptor {
    /// The codec it describes; nil if it is damaged or not audio.
    static func codec(_ content: RawSpan) -> MP4Codec? {
        do throws(Malformed) {
            var box = ByteCursor(content)
            try box.skip(4)
            var stream = ByteCursor(try descriptor(3, &box))
            try stream.skip(2)
            let flags = try stream.u8()
            if flags & 0x80 != 0 { try stream.skip(2) }
            if flags & 0x40 != 0 { try stream.skip(Int(try stream.u8())) }
            if flags & 0x20 != 0 { try stream.skip(2) }
            var decoder = ByteCursor(try descriptor(4, &stream))
            let type = try decoder.u8()
            try decoder.skip(12)
            switch type {
            case 0x69, 0x6b: return .mp3
            case 0xa5: return .other("ac-3")
            case 0xa6: return .other("ec-3")
            case 0xa9: return .other("dtsc")
            case 0xdd: return .other("vorb")
            case 0x40, 0x66, 0x67, 0x68:
                let config = try AudioSpecificConfig(try descriptor(5, &decoder))
                return config.objectType == 34 ? .mp3 : .aac(config)
            default: return nil
            }
        } catch {
            return nil
        }
    }

    /// The content of the next descriptor, which must have this tag. A descriptor that is longer than its parent is truncated.
    @_lifetime(copy cursor)
    private static func descriptor(_ tag: UInt8, _ cursor: inout ByteCursor) throws(Malformed) -> RawSpan {
        guard try cursor.u8("descriptor") == tag else { throw Malformed("descriptor has another tag", at: cursor.position - 1) }
        var size = 0
        for _ in 0..<4 {
            let byte = try cursor.u8("descriptor")
            size = size << 7 | Int(byte & 0x7f)
            if byte & 0x80 == 0 { break }
        }
        return try cursor.slice(min(size, cursor.remaining), "descriptor")
    }
}
