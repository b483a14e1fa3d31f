import CarrelBytes

/// Follows the clear packets of a program: its tables, as packets to be repeated, and its key messages.
///
/// Tables and messages are never scrambled, so a range of a scrambled stream tells them without a key.
package struct ProgramTracker: Sendable {
    /// The map of the program; nil before the first.
    package private(set) var map: ProgramMap?
    /// The last key message; nil before the first.
    package private(set) var message: KeyMessage?

    private var association = Table()
    private var mapTable = Table()
    private var messages = SectionAssembler()
    private var mapPID: UInt16?

    /// A table, and the packets that brought it.
    private struct Table: Sendable {
        private var assembler = SectionAssembler()
        private var pending: [UInt8] = []
        /// The packets of the last whole one.
        private(set) var packets: [UInt8] = []

        /// Packets of a table, at most: it has 1,021 bytes.
        private static let limit = 16 * TransportStream.packetLength

        /// The sections that end in a packet.
        mutating func consume(_ packet: TransportPacket, _ bytes: RawSpan) -> [[UInt8]] {
            if packet.startsUnit { pending.removeAll(keepingCapacity: true) }
            if pending.count < Self.limit { pending.append(copying: bytes) }
            let sections = assembler.consume(bytes.extracting(packet.payload), startsUnit: packet.startsUnit)
            if !sections.isEmpty { packets = pending }
            return sections
        }
    }

    package init() {}

    /// The packets of the last association and of the last map.
    package var tables: [UInt8] { association.packets + mapTable.packets }

    /// The packet identifier of the key messages; nil of a program that has none.
    package var messagePID: UInt16? { map?.streams.first(where: \.hasKeyMessages)?.pid }

    /// The stream whose random access points a segment may begin with: that of pictures, else that of the clock.
    package var leadingPID: UInt16? { map.map { map in map.streams.first(where: \.isVideo)?.pid ?? map.clockPID } }

    /// Forgets the message, but not the tables.
    package mutating func forgetMessage() {
        message = nil
        messages.reset()
    }

    /// Whether a segment may begin with a packet: what begins in it can be decoded alone, as its clear header says (ISO/IEC 13818-1
    /// §2.4.3.5).
    package func isRandomAccess(_ packet: TransportPacket) -> Bool {
        guard packet.pid == leadingPID, packet.startsUnit, packet.isRandomAccess else { return false }
        return packet.clock != nil || packet.pid != map?.clockPID
    }

    /// Takes the next packet; scrambled ones are passed over.
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
                    let read = try? ProgramAssociation(table)
                else { continue }
                mapPID = read.programs.first { $0.number != 0 }?.pid
            }
        case mapPID:
            for section in mapTable.consume(packet, bytes) {
                guard let table = try? TableSection(section.rawSpan), let read = try? ProgramMap(table) else { continue }
                map = read
            }
        case messagePID:
            for section in messages.consume(bytes.extracting(packet.payload), startsUnit: packet.startsUnit) {
                guard let table = try? TableSection(section.rawSpan), let read = try? KeyMessage(table) else { continue }
                message = read
            }
        default: break
        }
    }
}
