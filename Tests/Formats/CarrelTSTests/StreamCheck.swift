// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS

/// The rules of a transport stream that a decoder relies on, checked packet by packet without the code under test.
struct StreamCheck {
    private struct Source {
        var counter: UInt8
        var startsUnits = 0
    }

    private(set) var faults: [String] = []
    /// Packets of each packet identifier.
    private(set) var packets: [UInt16: Int] = [:]
    /// Clock references in ticks of 90 kHz, in order.
    private(set) var clocks: [UInt64] = []
    /// Presentation and decoding times of each PES packet by packet identifier.
    private(set) var times: [UInt16: [(presentation: UInt64, decode: UInt64)]] = [:]
    private var sources: [UInt16: Source] = [:]
    private let tables: Set<UInt16>
    private static let mask: UInt64 = (1 << 33) - 1

    /// Checks whole segments in order.
    ///
    /// - Parameters:
    ///   - bytes: the segments.
    ///   - clockPID: the packets that carry the clock.
    ///   - interval: most ticks between two clock references.
    ///   - sections: packets that carry sections, not PES packets.
    init(_ bytes: [UInt8], clockPID: UInt16, interval: UInt64 = 9000, sections: Set<UInt16> = []) {
        tables = sections.union([0, 0x1000])
        if bytes.isEmpty || bytes.count % 188 != 0 { faults.append("\(bytes.count) bytes are not whole packets") }
        for start in stride(from: 0, to: bytes.count - 187, by: 188) {
            read(Array(bytes[start..<start + 188]), start, clockPID: clockPID, interval: interval)
        }
    }

    private mutating func fault(_ text: String, _ start: Int) { faults.append("\(text) at \(start)") }

    private mutating func read(_ packet: [UInt8], _ start: Int, clockPID: UInt16, interval: UInt64) {
        let pid = UInt16(packet[1] & 0x1f) << 8 | UInt16(packet[2])
        if packet[0] != 0x47 { fault("sync byte is missing", start) }
        if packet[1] & 0xa0 != 0 || packet[3] & 0xc0 != 0 { fault("error, priority or scrambling bits are set", start) }
        let hasField = packet[3] & 0x20 != 0
        let hasPayload = packet[3] & 0x10 != 0
        let counter = packet[3] & 15
        packets[pid, default: 0] += 1
        if start == 0, pid != 0 { fault("the first packet is not the association", start) }
        if start == 188, pid != 0x1000 { fault("the second packet is not the map", start) }
        // null packets have any counter, and no more than a header
        if pid == TransportPacket.nullPID { return }
        if let source = sources[pid] {
            let expected = hasPayload ? (source.counter + 1) & 15 : source.counter
            if counter != expected { fault("counter of \(pid) is \(counter), not \(expected),", start) }
        }
        sources[pid, default: Source(counter: 0)].counter = counter
        var payload = 4
        if hasField {
            let length = Int(packet[4])
            payload = 5 + length
            if length > (hasPayload ? 182 : 183) || (!hasPayload && length != 183) {
                fault("adaptation field has \(length) bytes", start)
            }
            if length > 0 {
                var fixed = 6
                if packet[5] & 0x10 != 0 {
                    fixed = 12
                    var field: UInt64 = 0
                    for byte in packet[6..<12] { field = field << 8 | UInt64(byte) }
                    if field & 0x7fff != 0x7e00 { fault("clock extension or reserved bits are wrong", start) }
                    if pid != clockPID { fault("a clock reference is on \(pid)", start) }
                    if let last = clocks.last {
                        let step = ((field >> 15) &- last) & Self.mask
                        if step == 0 || step > interval { fault("\(step) ticks between clock references", start) }
                    }
                    clocks.append(field >> 15)
                }
                if packet[5] & 0x2f != 0 { fault("unexpected adaptation flags", start) }
                if packet[fixed..<payload].contains(where: { $0 != 0xff }) { fault("stuffing is not 0xff", start) }
            }
        }
        guard hasPayload else { return }
        if payload >= 188 { fault("a packet has no payload", start) }
        guard packet[1] & 0x40 != 0, !tables.contains(pid), payload + 9 <= 188 else { return }
        readTimes(Array(packet[payload...]), pid, start)
    }

    private mutating func readTimes(_ header: [UInt8], _ pid: UInt16, _ start: Int) {
        if Array(header.prefix(3)) != [0, 0, 1] { return fault("PES start code is missing", start) }
        guard header[7] & 0x80 != 0 else { return }
        func stamp(_ at: Int) -> UInt64 {
            let high = UInt64(header[at] >> 1 & 7)
            let middle = UInt64(header[at + 1]) << 7 | UInt64(header[at + 2] >> 1)
            return high << 30 | middle << 15 | UInt64(header[at + 3]) << 7 | UInt64(header[at + 4] >> 1)
        }
        let presentation = stamp(9)
        let decode = header[7] & 0x40 != 0 ? stamp(14) : presentation
        if (presentation &- decode) & Self.mask > 1 << 32 { fault("a unit is shown before it is decoded", start) }
        if let last = times[pid]?.last {
            let step = (decode &- last.decode) & Self.mask
            if step == 0 || step > 1 << 32 { fault("decoding times of \(pid) go back", start) }
        }
        if let clock = clocks.last {
            let ahead = (decode &- clock) & Self.mask
            if ahead > 1 << 32 { fault("a unit of \(pid) comes after its time", start) }
        }
        times[pid, default: []].append((presentation, decode))
    }
}
