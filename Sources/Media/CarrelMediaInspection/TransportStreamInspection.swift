// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelJSON
import CarrelMP4
import CarrelTS

/// The contents of a transport stream as JSON.
struct TransportStreamInspection {
    private static let packetLength = TransportStream.packetLength
    private static let blockPackets = 4096
    /// Packets at the beginning and at the end of a stream that is not read whole.
    private static let (headPackets, tailPackets) = (8192, 4096)
    /// Key messages that are listed.
    private static let messageLimit = 1000

    private var demuxer = TransportStreamDemuxer()
    private var program: ProgramMap?
    private var streams: [StreamFacts] = []
    private var streamIndices: [UInt16: Int] = [:]
    private var clock: (first: UInt64, last: UInt64)?
    private var parities: [String] = []
    private var messages: [KeyMessage] = []
    private var faults: [FaultFacts] = []
    /// The offset in the file of the demuxer's first byte, and bytes in front of each packet.
    private var layout: Layout

    /// The place of packets in a file.
    private struct Layout {
        /// Bytes in front of each packet: the time of Blu-ray discs, 4 or none.
        var lead: Int
        /// Packets of the file that the demuxer has not seen.
        var skipped = 0

        var distance: Int { lead + packetLength }

        /// The offset in the file of an offset in the demuxer's bytes.
        func offset(_ demuxerOffset: Int) -> Int {
            (demuxerOffset / packetLength + skipped) * distance + lead + demuxerOffset % packetLength
        }
    }

    /// One kind of fault.
    private struct FaultFacts {
        var kind: String
        var count: Int
        var offset: Int
    }

    private init(lead: Int) {
        layout = Layout(lead: lead)
    }

    static func describe(_ reader: any ByteReader, _ file: MediaFile, _ extent: InspectionExtent) throws -> JSON {
        let first = try reader.readAll(0..<1)
        var inspection = TransportStreamInspection(lead: first[0] == TransportPacket.syncByte ? 0 : 4)
        let distance = inspection.layout.distance
        let packets = Int(clamping: reader.length / Int64(distance))
        var isWhole = true
        if extent == .ends, packets > headPackets + tailPackets {
            isWhole = false
            try inspection.read(0..<headPackets, reader)
            try inspection.demuxer.finish()
            inspection.drain()
            inspection.layout.skipped = packets - headPackets - tailPackets
            try inspection.read(packets - tailPackets..<packets, reader)
        } else {
            try inspection.read(0..<packets, reader)
            // bytes after the last packet
            if inspection.layout.lead == 0, reader.length % Int64(distance) != 0 {
                let remainder = try reader.readAll(Int64(packets * distance)..<reader.length)
                try inspection.demuxer.consume(remainder.rawSpan)
            }
        }
        try inspection.demuxer.finish()
        inspection.drain()
        return inspection.json(reader.length, file, isWhole: isWhole)
    }

    private mutating func read(_ range: Range<Int>, _ reader: any ByteReader) throws {
        var at = range.lowerBound
        while at < range.upperBound {
            let end = min(range.upperBound, at + Self.blockPackets)
            let bytes = try reader.readAll(Int64(at * layout.distance)..<Int64(end * layout.distance))
            if layout.lead == 0 {
                try demuxer.consume(bytes.rawSpan)
            } else {
                for packet in 0..<end - at {
                    let start = packet * layout.distance + layout.lead
                    try demuxer.consume(bytes.rawSpan.extracting(start..<start + Self.packetLength))
                }
            }
            drain()
            at = end
        }
    }

    private mutating func drain() {
        while let event = demuxer.next() {
            switch event {
            case .program(let map):
                program = program ?? map
                for stream in map.streams { plan(stream) }
            case .unit(let unit): if let index = streamIndices[unit.pid] { streams[index].add(unit) }
            case .clock(_, let time, _): clock = (clock?.first ?? time, time)
            case .section(let pid, let bytes): readMessage(pid, bytes)
            case .fault(let fault): add(fault)
            }
        }
    }

    private mutating func plan(_ stream: ElementaryStream) {
        if let index = streamIndices[stream.pid] {
            streams[index].stream = stream
        } else {
            streamIndices[stream.pid] = streams.count
            streams.append(StreamFacts(stream: stream))
        }
    }

    private mutating func readMessage(_ pid: UInt16, _ bytes: [UInt8]) {
        guard let index = streamIndices[pid], streams[index].stream.hasKeyMessages, messages.count < Self.messageLimit else {
            return
        }
        guard let section = try? TableSection(bytes.rawSpan), let message = try? KeyMessage(section) else { return }
        if !messages.contains(message) { messages.append(message) }
    }

    private mutating func add(_ fault: TransportStreamFault) {
        if case .scrambled(let control) = fault.kind {
            // not a fault in a stream that mixes clear and scrambled packets
            if control != 0 { ProtectionFacts.add(control == 2 ? "even" : control == 3 ? "odd" : "reserved", to: &parities) }
            return
        }
        let name = fault.kind.name
        if let index = faults.firstIndex(where: { $0.kind == name }) {
            faults[index].count += 1
        } else {
            faults.append(FaultFacts(kind: name, count: 1, offset: layout.offset(fault.offset)))
        }
    }

    // MARK: - Facts

    private func json(_ size: Int64, _ file: MediaFile, isWhole: Bool) -> JSON {
        var facts: JSONObject = ["kind": "ts", "size": .integer(size), "packetSize": .integer(layout.distance)]
        // for a remote stream, faults and units are counted at its beginning and its end only
        if !isWhole { facts["readWhole"] = false }
        if let duration { facts["duration"] = .real(duration) }
        if let program {
            var object: JSONObject = ["number": .integer(program.number)]
            if program.clockPID != 0x1fff { object["clockPid"] = .integer(program.clockPID) }
            facts["program"] = .object(object)
        }
        facts["streams"] = .array(streams.map(\.json))
        if !parities.isEmpty || mode != nil {
            var object: JSONObject = ["keys": .texts(parities)]
            if let mode { object["mode"] = .string(mode == 0x10 ? "DVB-CISSA" : "0x" + Hex.encode([mode])) }
            facts["scrambling"] = .object(object)
        }
        if !messages.isEmpty { facts["keyMessages"] = .array(messages.map(Self.json)) }
        facts["faults"] = .integer(faults.reduce(0) { $0 + $1.count })
        facts["faultKinds"] = .array(
            faults.map { ["kind": .string($0.kind), "count": .integer($0.count), "firstOffset": .integer($0.offset)] }
        )
        var protection = ProtectionFacts(file)
        if !parities.isEmpty {
            ProtectionFacts.add(MediaProtection.scrambledTransportStream.description, to: &protection.kinds)
        }
        protection.isClear = protection.kinds.isEmpty
        if let mode, mode != 0x10 { protection.isSupported = false }
        for message in messages {
            ProtectionFacts.add(message.contentID, to: &protection.contentIDs)
            for id in [message.evenKeyID, message.oddKeyID] {
                if let id { ProtectionFacts.add(Hex.encode(id), to: &protection.keyIDs) }
            }
        }
        facts["protection"] = protection.json
        return .object(facts)
    }

    /// `scrambling_mode` of the program (ETSI EN 300 468 §6.2.32).
    private var mode: UInt8? {
        let descriptors = (program?.descriptors ?? []) + streams.flatMap(\.stream.descriptors)
        return descriptors.first { $0.tag == 0x65 }?.content.first
    }

    /// Seconds from the first to the last presentation time; by the program clock if no presentation time can be read.
    private var duration: Double? {
        let times = streams.compactMap(\.times)
        if let first = times.map(\.lowerBound).min(), let last = times.map(\.upperBound).max() {
            return Double(last - first) / Double(MediaTime.ticksPerSecond)
        }
        guard let clock else { return nil }
        let modulus = MediaTime.modulus * 300
        return Double((clock.last + modulus - clock.first) % modulus) / 27_000_000
    }

    private static func json(_ message: KeyMessage) -> JSON {
        var object: JSONObject = ["contentId": .string(message.contentID), "current": .string("\(message.current)")]
        if let id = message.evenKeyID { object["evenKeyId"] = .string(Hex.encode(id)) }
        if let id = message.oddKeyID { object["oddKeyId"] = .string(Hex.encode(id)) }
        return .object(object)
    }
}

extension TransportStreamFault.Kind {
    /// The name in JSON.
    fileprivate var name: String {
        switch self {
        case .lostSync: "lost-sync"
        case .damagedPacket: "damaged-packet"
        case .discontinuity: "discontinuity"
        case .damagedSection: "damaged-section"
        case .damagedHeader: "damaged-header"
        case .shortPacket: "short-packet"
        case .lostFrameSync: "lost-frame-sync"
        case .truncatedUnit: "truncated-unit"
        case .longUnit: "long-unit"
        case .untimedUnit: "untimed-unit"
        case .scrambled: "scrambled"
        }
    }
}
