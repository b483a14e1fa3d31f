// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A transport-stream segment taken apart again, with every rule that a demultiplexer relies on checked on the way.
struct ReadSegment {
    struct PES {
        var timestamp: UInt64
        var data: [UInt8]
        var packets: Int
        var clocks: [UInt64]
    }

    var audio: [PES] = []
    var tables: [[UInt8]] = []
    var firstCounters: [UInt16: UInt8] = [:]
    var lastCounters: [UInt16: UInt8] = [:]
    /// One line a packet.
    var dump: [String] = []
    var faults: [String] = []

    init(_ bytes: [UInt8]) {
        if bytes.isEmpty || bytes.count % 188 != 0 { faults.append("\(bytes.count) bytes are not whole packets") }
        for start in stride(from: 0, to: bytes.count - 187, by: 188) { read(Array(bytes[start..<start + 188])) }
        for (i, pes) in audio.enumerated() {
            let declared = pes.data.count >= 6 ? Int(pes.data[4]) << 8 | Int(pes.data[5]) : -1
            if declared + 6 != pes.data.count { faults.append("PES \(i) declares \(declared), holds \(pes.data.count)") }
            if pes.data.prefix(4) != [0, 0, 1, 0xc0] { faults.append("PES \(i) has no start code") }
            audio[i].data.removeFirst(min(14, pes.data.count))
        }
    }

    private mutating func read(_ packet: [UInt8]) {
        let word = packet.rawSpan.u32(at: 0)
        let pid = UInt16(word >> 8 & 0x1fff)
        let counter = UInt8(word & 15)
        let starts = word & 0x0040_0000 != 0
        if word >> 24 != 0x47 { faults.append("sync byte is missing") }
        if word & 0x00a0_00c0 != 0 { faults.append("error, priority or scrambling bits are set") }
        if let last = lastCounters[pid], counter != (last + 1) & 15 { faults.append("continuity of PID \(pid) breaks") }
        if firstCounters[pid] == nil { firstCounters[pid] = counter }
        lastCounters[pid] = counter
        var payload = 4
        var line = "\(pid) \(counter)\(starts ? " start" : "")"
        var clock: UInt64?
        if word & 0x20 != 0 {
            let length = Int(packet[4])
            payload = 5 + length
            line += " af \(length)"
            if length > 0 {
                if packet[5] & 0x10 != 0 {
                    let field = packet.rawSpan.u64(at: 4) & 0xffff_ffff_ffff
                    clock = field >> 15
                    if field & 0x7fff != 0x7e00 { faults.append("clock extension or reserved bits are wrong") }
                    line += " pcr \(field >> 15)"
                }
                if packet[5] & 0x40 != 0 { line += " random" }
                if packet[5] & 0xaf != 0 { faults.append("unexpected adaptation flags") }
                let fixed = clock == nil ? 6 : 12
                if packet[fixed..<payload].contains(where: { $0 != 0xff }) { faults.append("stuffing is not 0xff") }
            }
        }
        if word & 0x10 == 0 || payload >= 188 {
            faults.append("a packet has no payload")
            return
        }
        if pid == 0x100 {
            if starts {
                let stamp = packet.rawSpan.u64(at: payload + 6)
                let time = (stamp >> 33 & 7) << 30 | (stamp >> 17 & 0x7fff) << 15 | stamp >> 1 & 0x7fff
                audio.append(PES(timestamp: time, data: [], packets: 0, clocks: []))
                line += " pts \(time)"
                if stamp >> 40 != 0x848005 || stamp & 0xf1_0001_0001 != 0x21_0001_0001 { faults.append("PES flags are wrong") }
            }
            guard let last = audio.indices.last else {
                faults.append("audio begins in the middle of a PES packet")
                return
            }
            audio[last].data += packet[payload...]
            audio[last].packets += 1
            if let clock { audio[last].clocks.append(clock) }
        } else {
            tables.append(packet)
        }
        dump.append(line + " payload \(188 - payload)")
    }
}
