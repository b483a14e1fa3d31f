// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto

/// Descrambles the packets of a program in place, and reports the keys it needs (DVB-CISSA version 1, ETSI TS 103 127).
///
/// It reads the tables and the key messages of the stream. The map then no longer declares scrambling or lists the stream of key
/// messages, whose packets become null packets; every other packet keeps its offset. If the key of a packet is missing, it stops
/// there: the caller obtains and sets the key, and continues with the remaining bytes.
///
/// ```swift
/// var rest = 0..<bytes.byteCount
/// while case .needsKey(let parity, let message, let offset) = try descrambler.descramble(&bytes, in: rest) {
///     try descrambler.setKey(key(of: message?.keyID(parity)), for: parity)
///     rest = offset..<rest.upperBound
/// }
/// ```
package struct TransportStreamDescrambler: ~Copyable, Sendable {
    /// The end of a run of packets.
    package enum Outcome: Sendable, Hashable {
        /// All packets are in the clear.
        case finished
        /// The packet at `offset` and the following ones are not done: a key is missing. The message names it, if there is one.
        case needsKey(KeyParity, message: KeyMessage?, offset: Int)
    }

    private var even: PacketCipher?
    private var odd: PacketCipher?
    private var association = SectionAssembler()
    private var map = SectionAssembler()
    private var messages = SectionAssembler()
    private var mapPID: UInt16?
    private var messagePID: UInt16?
    private var program: UInt16?
    /// Whether the packets of the map up to the next section belong to sections that were read already.
    private var hasReadMap = false

    /// The offset of the first packet of a map section that ends after the range of the last call; nil if there is none. It is
    /// not changed: the caller may pass the packets from there on again, together with the following ones.
    package private(set) var unfinishedMap: Int?

    /// The streams of the program that consist of sections rather than PES packets.
    package private(set) var sectionPIDs: Set<UInt16> = []
    /// The key message in force.
    package private(set) var message: KeyMessage?
    /// The `scrambling_mode` of the program, if a descriptor declares it.
    package private(set) var mode: UInt8?

    /// Creates a descrambler without keys.
    package init() {}

    /// Sets the key of a parity until a message names another.
    ///
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - parity: the parity of the key in packets.
    /// - Throws: `keyLength`, or `refused` if memory is exhausted.
    package mutating func setKey(_ key: Secret, for parity: KeyParity) throws(CryptoError) {
        let cipher = try PacketCipher(.descramble, key: key)
        if parity == .even { even = consume cipher } else { odd = consume cipher }
    }

    /// Descrambles packets in place.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the packets.
    ///   - range: whole packets, in stream order. Traps if it is not within `bytes`.
    /// - Returns: whether all are done, or the missing key.
    /// - Throws: if a packet is truncated or has no sync byte, or the stream is scrambled in another mode.
    package mutating func descramble(_ bytes: inout MutableRawSpan, in range: Range<Int>) throws(Malformed) -> Outcome {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "the range lies outside the bytes")
        var at = range.lowerBound
        unfinishedMap = nil
        while at < range.upperBound {
            let packet = try TransportPacket.whole(bytes.bytes, at: at, end: range.upperBound)
            let payload = at + packet.payload.lowerBound..<at + packet.payload.upperBound
            switch packet.scrambling {
            case 0:
                if packet.pid == mapPID, packet.startsUnit { clearMap(&bytes, at: at, end: range.upperBound) }
                readTables(packet, bytes.bytes.extracting(payload))
                if packet.pid == messagePID { bytes.writeNullPacket(at: at) }
            case 1: throw Malformed("scrambling control of a packet is reserved", at: at)
            default:
                if let mode, mode != PacketCipher.mode { throw Malformed("scrambling mode \(mode) is not DVB-CISSA", at: at) }
                let parity: KeyParity = packet.scrambling == 2 ? .even : .odd
                let hasKey = parity == .even ? even != nil : odd != nil
                guard hasKey else { return .needsKey(parity, message: message, offset: at) }
                if parity == .even {
                    even?.apply(to: &bytes, payload: payload)
                } else {
                    odd?.apply(to: &bytes, payload: payload)
                }
                bytes.setScrambling(0, at: at)
            }
            at += TransportStream.packetLength
        }
        return .finished
    }

    private mutating func readTables(_ packet: TransportPacket, _ payload: RawSpan) {
        switch packet.pid {
        case 0:
            for section in association.consume(payload, startsUnit: packet.startsUnit) {
                guard let table = try? TableSection(section.rawSpan), table.table == ProgramAssociation.table else { continue }
                let first = (try? ProgramAssociation(table))?.programs.first { $0.number != 0 }
                if let first { (program, mapPID) = (first.number, first.pid) }
            }
        case mapPID:
            guard !hasReadMap else { return }
            for section in map.consume(payload, startsUnit: packet.startsUnit) { _ = readMap(section) }
        case messagePID:
            for section in messages.consume(payload, startsUnit: packet.startsUnit) {
                guard let table = try? TableSection(section.rawSpan), let next = try? KeyMessage(table) else { continue }
                // a changed ID means another key
                if let old = message {
                    if old.evenKeyID != next.evenKeyID || old.contentID != next.contentID { even = nil }
                    if old.oddKeyID != next.oddKeyID || old.contentID != next.contentID { odd = nil }
                }
                message = next
            }
        default: break
        }
    }

    /// Reads a section of the map; returns the same without scrambling, nil if nothing in it changes.
    private mutating func readMap(_ section: [UInt8]) -> [UInt8]? {
        guard let table = try? TableSection(section.rawSpan), table.table == ProgramMap.table, table.identifier == program,
            let map = try? ProgramMap(table)
        else { return nil }
        let descriptors = map.descriptors + map.streams.flatMap(\.descriptors)
        mode = descriptors.first { $0.tag == StreamDescriptor.scramblingTag }?.content.first
        messagePID = map.streams.first(where: \.hasKeyMessages)?.pid
        sectionPIDs = Set(map.streams.lazy.filter(\.hasSections).map(\.pid))
        return ProgramMap.withoutScrambling(section)
    }

    /// Changes the sections of the map that begin in a packet: they get shorter, so that they fit into the packets that hold
    /// them.
    private mutating func clearMap(_ bytes: inout MutableRawSpan, at start: Int, end: Int) {
        hasReadMap = false
        guard let pid = mapPID, let run = SectionRun(bytes.bytes, pid: pid, from: start, to: end) else {
            unfinishedMap = start
            return
        }
        hasReadMap = true
        var out: [UInt8] = []
        for section in run.sections { out += readMap(section) ?? section }
        run.write(out, to: &bytes)
    }
}
