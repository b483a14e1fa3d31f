// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The sections that begin in one packet, and the ranges of their bytes in that packet and those that follow (ISO/IEC 13818-1 §2.4.4.1).
struct SectionRun {
    /// Whole sections, from the table id to the checksum.
    private(set) var sections: [[UInt8]] = []
    /// The ranges of the bytes of sections, in order.
    private var ranges: [Range<Int>] = []

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
        var buffer: [UInt8] = []
        var used = 0
        var at = start
        var isFirst = true
        while end - at >= TransportStream.packetLength, (at - start) / TransportStream.packetLength < Self.packetLimit {
            defer { at += TransportStream.packetLength }
            guard let packet = TransportPacket.parse(bytes, at: at), packet.pid == pid, packet.scrambling == 0,
                !packet.payload.isEmpty
            else { continue }
            var range = at + packet.payload.lowerBound..<at + packet.payload.upperBound
            var isLast = false
            if packet.startsUnit {
                let pointer = range.lowerBound + 1 + Int(bytes.u8(at: range.lowerBound))
                guard pointer <= range.upperBound else { return nil }
                range = isFirst ? pointer..<range.upperBound : range.lowerBound + 1..<pointer
                isLast = !isFirst
            }
            isFirst = false
            ranges.append(range)
            buffer.append(copying: bytes.extracting(range))
            // stuffing is 0xff, which is not a table
            while used < buffer.count, buffer[used] != 0xff {
                guard buffer.count - used >= 3 else { break }
                let length = 3 + Int(buffer.rawSpan.u16(at: used + 1) & 0xfff)
                guard buffer.count - used >= length else { break }
                sections.append(Array(buffer[used..<used + length]))
                used += length
            }
            if used == buffer.count || buffer[used] == 0xff { return }
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
            for range in ranges {
                for i in range {
                    unsafe buffer[i] = next < sections.count ? sections[next] : 0xff
                    next += 1
                }
            }
        }
    }
}
