// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension TransportPacket {
    /// Reads the packet at `offset`, which has to end before `end`.
    static func whole(_ bytes: RawSpan, at offset: Int, end: Int) throws(Malformed) -> TransportPacket {
        guard end - offset >= TransportStream.packetLength else { throw Malformed("transport packet is cut off", at: offset) }
        guard let packet = parse(bytes, at: offset) else { throw Malformed("sync byte of a packet is missing", at: offset) }
        return packet
    }
}

extension MutableRawSpan {
    /// Writes `transport_scrambling_control` of the packet at `offset`, which is within the span.
    @_lifetime(self: copy self)
    mutating func setScrambling(_ control: UInt8, at offset: Int) {
        unsafe withUnsafeMutableBytes { buffer in
            unsafe buffer[offset + 3] = buffer[offset + 3] & 0x3f | control << 6
        }
    }

    /// Makes the packet at `offset`, which is within the span, a null packet (ISO/IEC 13818-1 §2.4.3.3).
    @_lifetime(self: copy self)
    mutating func writeNullPacket(at offset: Int) {
        unsafe withUnsafeMutableBytes { buffer in
            for i in 0..<TransportStream.packetLength { unsafe buffer[offset + i] = 0xff }
            unsafe buffer[offset] = TransportPacket.syncByte
            unsafe buffer[offset + 1] = UInt8(TransportPacket.nullPID >> 8)
            unsafe buffer[offset + 3] = 0x10
        }
    }
}
