// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The header and adaptation field of one transport packet (ISO/IEC 13818-1 §2.4.3.2, §2.4.3.4).
package struct TransportPacket: Sendable, Hashable {
    /// The byte every packet begins with.
    package static let syncByte: UInt8 = 0x47
    /// The packet identifier of packets without content.
    package static let nullPID: UInt16 = 0x1fff

    /// Whether the bytes of the packet are known to be wrong, or its adaptation field leaves it.
    package let hasError: Bool
    /// Whether a PES packet or a section starts in it.
    package let startsUnit: Bool
    /// The packet identifier, 13 bits.
    package let pid: UInt16
    /// `transport_scrambling_control`: 0 is clear, 2 the even key, 3 the odd key.
    package let scrambling: UInt8
    /// The continuity counter, 4 bits.
    package let counter: UInt8
    /// Whether the packet declares that counters or clock do not continue from the previous one.
    package let isDiscontinuous: Bool
    /// Whether decoding can start at the unit that begins in it.
    package let isRandomAccess: Bool
    /// The program clock reference, in ticks of 27 MHz modulo 300 × 2^33.
    package let clock: UInt64?
    /// The part of the 188 bytes that is payload; empty if there is none.
    package let payload: Range<Int>

    /// Reads the packet at `offset`; nil if its 188 bytes exceed the span or do not begin with the sync byte.
    package static func parse(_ bytes: RawSpan, at offset: Int = 0) -> TransportPacket? {
        guard offset >= 0, bytes.byteCount &- offset >= TransportStream.packetLength else { return nil }
        let word = bytes.u32(at: offset)
        guard word >> 24 == UInt32(syncByte) else { return nil }
        return TransportPacket(word, bytes, offset)
    }

    private init(_ word: UInt32, _ bytes: RawSpan, _ offset: Int) {
        var start = 4
        var flags: UInt8 = 0
        var clock: UInt64?
        var isTooLong = false
        if word & 0x20 != 0 {
            let length = Int(bytes.u8(at: offset &+ 4))
            start = 5 + length
            // a field without payload fills the packet
            isTooLong = start > TransportStream.packetLength
            if length > 0, !isTooLong {
                flags = bytes.u8(at: offset &+ 5)
                if flags & 0x10 != 0, length >= 7 {
                    let field = bytes.u64(at: offset &+ 4) & 0xffff_ffff_ffff
                    clock = (field >> 15) * 300 + (field & 0x1ff)
                }
            }
        }
        hasError = word & 0x0080_0000 != 0 || isTooLong
        startsUnit = word & 0x0040_0000 != 0
        pid = UInt16(word >> 8 & 0x1fff)
        scrambling = UInt8(word >> 6 & 3)
        counter = UInt8(word & 15)
        isDiscontinuous = flags & 0x80 != 0
        isRandomAccess = flags & 0x40 != 0
        self.clock = clock
        let hasPayload = word & 0x10 != 0 && !isTooLong
        payload = hasPayload ? start..<TransportStream.packetLength : TransportStream.packetLength..<TransportStream.packetLength
    }
}
