// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Follows the clear packets of a program: its tables, as packets to be repeated, and its key messages.
///
/// Tables and messages are never scrambled, so they can be read from a range of a scrambled stream without a key.
package struct ProgramTracker: Sendable {
    /// The map of the program; nil before the first.
    package private(set) var map: ProgramMap?
    /// The last key message; nil before the first.
    package private(set) var message: KeyMessage?

    private var association = Table()
    private var mapTable = Table()
    private var messages = SectionAssembler()
    private var mapPID: UInt16?

    /// A table, with the packets that contained it.
    private struct Table: Sendable {
        private var assembler = SectionAssembler()
        private var pending: [UInt8] = []
        /// The packets of the last whole one.
        private(set) var packets: [UInt8] = []
        /// The sections that ended in the last of them.
        private(set) var sections: [[UInt8]] = []
        /// The counter of the last packet of its packet identifier.
        private(set) var counter: UInt8 = 0

        /// The packets so far of a section that has not ended.
        var unfinished: [UInt8] { assembler.isInside ? pending : [] }

        /// Forgets the section that has not ended.
        mutating func reset() { assembler.reset() }

        /// Packets of a table, at most: it has 1,021 bytes.
        private static let limit = 16 * TransportStream.packetLength

        /// The sections that end in a packet.
        mutating func consume(_ packet: TransportPacket, _ bytes: RawSpan) -> [[UInt8]] {
            counter = packet.counter
            if packet.startsUnit { pending.removeAll(keepingCapacity: true) }
            if pending.count < Self.limit { pending.append(copying: bytes) }
            let sections = assembler.consume(bytes.extracting(packet.payload), startsUnit: packet.startsUnit)
            if !sections.isEmpty { (packets, self.sections) = (pending, sections) }
            return sections
        }
    }

    package init() {}

    /// The packets of the last association and of the last map.
    package var tables: [UInt8] { association.packets + mapTable.packets }

    /// The packets so far of a map that has not ended.
    package var unfinishedMap: [UInt8] { mapTable.unfinished }

    /// The last association and the last map without scrambling, in packets that may be inserted before the next packet.
    ///
    /// The next packets of their identifiers continue their counters. The first packet of each table signals a discontinuity of
    /// its counter (ISO/IEC 13818-1 §2.4.3.5).
    package var clearTables: [UInt8] {
        guard let mapPID else { return [] }
        let map = mapTable.sections.flatMap { ProgramMap.withoutScrambling($0) ?? $0 }
        return Self.packets(Array(association.sections.joined()), pid: 0, upTo: association.counter)
            + Self.packets(map, pid: mapPID, upTo: mapTable.counter)
    }

    /// Writes sections to separate packets.
    ///
    /// - Parameters:
    ///   - sections: concatenated sections.
    ///   - pid: the packet identifier.
    ///   - counter: the counter of the last packet.
    /// - Returns: whole packets; empty without sections.
    private static func packets(_ sections: [UInt8], pid: UInt16, upTo counter: UInt8) -> [UInt8] {
        guard !sections.isEmpty else { return [] }
        // the first section starts immediately
        let content = [0] + sections
        // the first packet has two bytes of adaptation field
        let count = 1 + max(0, content.count - 182 + 183) / 184
        var out: [UInt8] = []
        out.reserveCapacity(count * TransportStream.packetLength)
        var at = 0
        for number in 0..<count {
            out.append(TransportPacket.syncByte)
            out.append(bigEndian: (number == 0 ? 0x4000 : 0) | pid & 0x1fff)
            out.append((number == 0 ? 0x30 : 0x10) | UInt8(truncatingIfNeeded: Int(counter) - (count - 1 - number)) & 15)
            if number == 0 { out += [1, 0x80] }
            let room = number == 0 ? 182 : 184
            let part = content[at..<min(content.count, at + room)]
            out += part
            out += [UInt8](repeating: 0xff, count: room - part.count)
            at += part.count
        }
        return out
    }

    /// The packet identifier of the key messages; nil for a program that has none.
    package var messagePID: UInt16? { map?.streams.first(where: \.hasKeyMessages)?.pid }

    /// The stream whose random access points may begin a segment: the video stream, or the stream of the program clock.
    package var leadingPID: UInt16? { map.map { map in map.streams.first(where: \.isVideo)?.pid ?? map.clockPID } }

    /// Continues at another offset of the stream: drops the message and partial sections, but keeps the tables.
    package mutating func forgetMessage() {
        message = nil
        messages.reset()
        association.reset()
        mapTable.reset()
    }

    /// Takes the message of another place of the stream.
    package mutating func takeMessage(of other: ProgramTracker) { message = other.message }

    /// Whether a segment may begin with a packet, because its clear header declares a random access point (ISO/IEC 13818-1
    /// §2.4.3.5).
    package func isRandomAccess(_ packet: TransportPacket) -> Bool {
        guard packet.pid == leadingPID, packet.startsUnit, packet.isRandomAccess else { return false }
        return packet.clock != nil || packet.pid != map?.clockPID
    }

    /// Reads the next packet; scrambled ones are ignored.
    ///
    /// - Parameters:
    ///   - packet: the packet.
    ///   - bytes: its 188 bytes.
    package mutating func take(_ packet: TransportPacket, _ bytes: RawSpan) {
        guard packet.scrambling == 0, !packet.payload.isEmpty else { return }
        switch packet.pid {
        case 0:
            for section in association.consume(packet, bytes) {
                guard let table = try? TableSection(section.rawSpan), table.table == ProgramAssociation.table,
                    let programs = try? ProgramAssociation(table)
                else { continue }
                mapPID = programs.programs.first { $0.number != 0 }?.pid
            }
        case mapPID:
            for section in mapTable.consume(packet, bytes) {
                guard let table = try? TableSection(section.rawSpan), let programMap = try? ProgramMap(table) else { continue }
                map = programMap
            }
        case messagePID:
            for section in messages.consume(bytes.extracting(packet.payload), startsUnit: packet.startsUnit) {
                guard let table = try? TableSection(section.rawSpan), let keyMessage = try? KeyMessage(table) else { continue }
                message = keyMessage
            }
        default: break
        }
    }
}
