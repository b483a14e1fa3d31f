// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The sections that begin in one packet, and the places of their bytes in that packet and those that follow (ISO/IEC 13818-1 §2.4.4.1).
struct SectionRun {
    /// Whole sections, from the table id to the checksum.
    private(set) var sections: [[UInt8]] = []
    /// The places of the bytes of sections, in order.
    private var places: [Range<Int>] = []

    /// Packets that are looked at, at most: a section ends in the packets of its program well before.
    private static let packetLimit = 1 << 16

    /// Returns nil if a section does not end before `end`.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the packets.
    ///   - pid: the packet identifier of the sections.
    ///   - start: the offset of the packet in which they begin.
    ///   - end: the end of the packets.
    init?(_ bytes: RawSpan, pid: UInt16, from start: Int, to end: Int) {
        var held: [UInt8] = []
        var used = 0
        var at = start
        var isFirst = true
        while end - at >= TransportStream.packetLength, (at - start) / TransportStream.packetLength < Self.packetLimit {
            defer { at += TransportStream.packetLength }
            guard let packet = TransportPacket.parse(bytes, at: at), packet.pid == pid, packet.scrambling == 0,
                !packet.payload.isEmpty
            else { continue }
            var place = at + packet.payload.lowerBound..<at + packet.payload.upperBound
            var isLast = false
            if packet.startsUnit {
                let pointer = place.lowerBound + 1 + Int(bytes.u8(at: place.lowerBound))
                guard pointer <= place.upperBound else { return nil }
                place = isFirst ? pointer..<place.upperBound : place.lowerBound + 1..<pointer
                isLast = !isFirst
            }
            isFirst = false
            places.append(place)
            held.append(copying: bytes.extracting(place))
            // stuffing is 0xff, which is not a table
            while used < held.count, held[used] != 0xff {
                guard held.count - used >= 3 else { break }
                let length = 3 + Int(held.rawSpan.u16(at: used + 1) & 0xfff)
                guard held.count - used >= length else { break }
                sections.append(Array(held[used..<used + length]))
                used += length
            }
            if used == held.count || held[used] == 0xff { return }
            // a section interrupted by the next one is left unchanged
            if isLast { return nil }
        }
        return nil
    }

    /// Overwrites the sections that were read, and adds stuffing after the new ones.
    ///
    /// - Parameters:
    ///   - sections: at most as many bytes as the sections that were read.
    ///   - bytes: the packets.
    func write(_ sections: [UInt8], to bytes: inout MutableRawSpan) {
        var next = 0
        unsafe bytes.withUnsafeMutableBytes { buffer in
            for place in places {
                for i in place {
                    unsafe buffer[i] = next < sections.count ? sections[next] : 0xff
                    next += 1
                }
            }
        }
    }
}
