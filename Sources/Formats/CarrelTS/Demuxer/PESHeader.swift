// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The header of a PES packet (ISO/IEC 13818-1 §2.4.3.6).
struct PESHeader: Sendable, Hashable {
    /// Number of bytes after the header; nil if the packet ends with the start of the next one.
    var dataLength: Int?
    /// `PES_scrambling_control`.
    var scrambling: UInt8 = 0
    /// The presentation timestamp, 33 bits.
    var presentationTime: UInt64?
    /// The decoding timestamp, if it differs.
    var decodeTime: UInt64?

    /// The length of the header, determined from its first bytes; nil if they do not start a PES packet.
    static func length(_ bytes: RawSpan) -> Int? {
        if bytes.byteCount >= 3, bytes.u16(at: 0) != 0 || bytes.u8(at: 2) != 1 { return nil }
        guard bytes.byteCount >= 6 else { return 6 }
        guard hasFlags(bytes.u8(at: 3)) else { return 6 }
        guard bytes.byteCount >= 9 else { return 9 }
        return bytes.u8(at: 6) & 0xc0 == 0x80 ? 9 + Int(bytes.u8(at: 8)) : nil
    }

    /// Reads a header of the length that `length` returned; nil if it is inconsistent.
    init?(_ bytes: RawSpan) {
        let packetLength = Int(bytes.u16(at: 4))
        dataLength = packetLength == 0 ? nil : packetLength - (bytes.byteCount - 6)
        if let dataLength, dataLength < 0 { return nil }
        guard bytes.byteCount >= 9 else { return }
        scrambling = bytes.u8(at: 6) >> 4 & 3
        let flags = bytes.u8(at: 7) >> 6
        guard flags & 2 != 0 else { return }
        guard bytes.byteCount >= (flags == 3 ? 19 : 14), let time = Self.timestamp(bytes, at: 9) else { return nil }
        presentationTime = time
        if flags == 3 {
            guard let time = Self.timestamp(bytes, at: 14) else { return nil }
            decodeTime = time
        }
    }

    /// Stream ids without flags and timestamps (table 2-22): maps, padding, private stream 2, ECM, EMM, DSM-CC, directories.
    private static func hasFlags(_ stream: UInt8) -> Bool {
        ![0xbc, 0xbe, 0xbf, 0xf0, 0xf1, 0xf2, 0xf8, 0xff].contains(stream)
    }

    private static func timestamp(_ bytes: RawSpan, at offset: Int) -> UInt64? {
        let word = UInt64(bytes.u8(at: offset)) << 32 | UInt64(bytes.u32(at: offset + 1))
        guard word & 0x01_0001_0001 == 0x01_0001_0001 else { return nil }
        return (word >> 33 & 7) << 30 | (word >> 17 & 0x7fff) << 15 | word >> 1 & 0x7fff
    }
}
