// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS
import CarrelVideo
import Testing

/// Units that begin and do not end, in several streams: each stays below the bound of one unit.
struct `Units that do not end` {
    @Test func `are dropped if all streams together hold more than 64 MiB`() throws {
        let streams = (0..<6).map { ElementaryStream.video(.h264, pid: UInt16(0x100 + $0)) }
        let muxer = try TransportStreamMuxer(streams)
        var tables = PacketBuffer(capacity: 1 << 12)
        var writer = muxer
        writer.beginSegment(into: &tables)
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(tables.bytes)
        // a PES header without a length, with a time stamp, and the beginning of a slice
        let head: [UInt8] = [0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1, 0, 0, 0, 1, 0x65]
        let body = [UInt8](repeating: 0x55, count: 184)
        var counters = [UInt8](repeating: 0, count: streams.count)
        var faults = 0
        // 12 MiB for each of six streams are 72 MiB
        let block = 1 << 16
        for number in 0..<(12 << 20) / block {
            for (place, stream) in streams.enumerated() {
                var packets: [UInt8] = []
                packets.reserveCapacity((block / 184 + 1) * 188)
                for packet in 0...block / 184 {
                    let starts = number == 0 && packet == 0
                    packets += [
                        0x47, UInt8(stream.pid >> 8) | (starts ? 0x40 : 0), UInt8(stream.pid & 255), 0x10 | counters[place],
                    ]
                    packets += starts ? head + body.prefix(184 - head.count) : body[...]
                    counters[place] = (counters[place] + 1) & 15
                }
                try demuxer.consume(packets.rawSpan)
                while let event = demuxer.next() {
                    if case .fault(let fault) = event, fault.kind == .longUnit { faults += 1 }
                }
            }
        }
        // one of them makes room for the others
        #expect(faults == 1)
    }
}
