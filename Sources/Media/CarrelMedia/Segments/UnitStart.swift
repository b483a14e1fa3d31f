// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS

/// The first packet of a scrambled unit: after the descrambling, a unit or a section begins in it (ISO/IEC 13818-1 §2.4.3.6, §2.4.4).
struct UnitStart {
    /// The offset of the packet.
    let offset: Int
    /// The key that it is scrambled with.
    let parity: KeyParity

    /// The first packets of scrambled units in a range of packets.
    static func all(in bytes: RawSpan, before end: Int) -> [UnitStart] {
        var starts: [UnitStart] = []
        for at in stride(from: 0, to: end, by: TransportStream.packetLength) {
            let control = bytes.u8(at: at + 3) & 0xc0
            guard control >= 0x80, bytes.u8(at: at + 1) & 0x40 != 0 else { continue }
            starts.append(UnitStart(offset: at, parity: control == 0x80 ? .even : .odd))
        }
        return starts
    }

    /// Checks the packet after its descrambling.
    ///
    /// - Parameters:
    ///   - bytes: the packet.
    ///   - sections: the section streams in the map.
    /// - Returns: whether it contains a unit that only the right key produces; false if the packet proves nothing.
    /// - Throws: `wrongKey`.
    func check(_ bytes: RawSpan, sections: Set<UInt16>) throws(MediaError) -> Bool {
        let hasAdaptation = bytes.u8(at: offset + 3) & 0x20 != 0
        let payload = offset + 4 + (hasAdaptation ? 1 + Int(bytes.u8(at: offset + 4)) : 0)
        let end = offset + TransportStream.packetLength
        // a packet that is still scrambled had no payload; a prefix that ends in the next packet is not looked at
        guard bytes.u8(at: offset + 3) & 0xc0 == 0, bytes.u8(at: offset + 3) & 0x10 != 0, payload + 3 <= end else { return false }
        if bytes.u8(at: payload) == 0, bytes.u8(at: payload + 1) == 0, bytes.u8(at: payload + 2) == 1 {
            // less than a block of payload is in the clear
            return end - payload >= 16
        }
        // a section begins after a pointer, which is zero outside the streams of sections
        let pid = bytes.u16(at: offset + 1) & 0x1fff
        let pointer = Int(bytes.u8(at: payload))
        guard pointer == 0 || sections.contains(pid) && payload + 1 + pointer < end else {
            throw MediaError(
                .wrongKey,
                "no unit begins after the descrambling: the \(parity) key is another, or the stream is damaged"
            )
        }
        return false
    }
}
