// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS

/// All that a demuxer finds in a stream.
struct Demuxed: Equatable {
    var programs: [ProgramMap] = []
    var units: [AccessUnit] = []
    var clocks: [(pid: UInt16, time: UInt64, offset: Int)] = []
    var sections: [[UInt8]] = []
    var faults: [TransportStreamFault] = []

    static func == (one: Demuxed, other: Demuxed) -> Bool {
        one.programs == other.programs && one.units == other.units && one.sections == other.sections && one.faults == other.faults
            && one.clocks.elementsEqual(other.clocks, by: ==)
    }

    init() {}

    /// Reads a whole stream that comes in pieces of the given lengths, over and over.
    init(_ bytes: [UInt8], pieces: [Int] = [.max]) throws(Malformed) {
        var demuxer = TransportStreamDemuxer()
        var at = 0
        var turn = 0
        while at < bytes.count {
            let count = min(pieces[turn % pieces.count], bytes.count - at)
            try demuxer.consume(bytes.rawSpan.extracting(at..<at + count))
            take(from: &demuxer)
            at += count
            turn += 1
        }
        try demuxer.finish()
        take(from: &demuxer)
    }

    mutating func take(from demuxer: inout TransportStreamDemuxer) {
        while let event = demuxer.next() {
            switch event {
            case .program(let map): programs.append(map)
            case .unit(let unit): units.append(unit)
            case .clock(let pid, let time, let offset): clocks.append((pid, time, offset))
            case .section(_, let bytes): sections.append(bytes)
            case .fault(let fault): faults.append(fault)
            }
        }
    }

    /// The units of one stream.
    func units(_ pid: UInt16) -> [AccessUnit] { units.filter { $0.pid == pid } }

    /// The streams of the last program.
    var streams: [ElementaryStream] { programs.last?.streams ?? [] }
}
