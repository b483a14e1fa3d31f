// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Demultiplexes a transport stream (ISO/IEC 13818-1): tables, clock, and the access units of one program.
///
/// Bytes come in pieces of any size; after each piece, `next` returns the complete events. Violations of the standard are events
/// too, and reading continues after them. Memory is bounded: 16 MiB per access unit, and 64 MiB for the partial units of all
/// streams.
///
/// ```swift
/// var demuxer = TransportStreamDemuxer()
/// try demuxer.consume(piece)
/// while let event = demuxer.next() { … }
/// ```
package struct TransportStreamDemuxer: Sendable {
    /// Maximum number of streams that are demultiplexed; further streams are only listed.
    static let maximumStreams = 64

    private let wantedProgram: UInt16?
    private var aligner = PacketAligner()
    private var events = EventQueue()
    private var clock = ClockUnroller()
    private var sources = [PacketSource(pid: 0, content: .association)]
    /// The place of each packet identifier in `sources`, one more than the index.
    private var places = [UInt8](repeating: 0, count: 8192)
    private var association = SectionAssembler()
    private var mapSections = SectionAssembler()
    private var sections: [SectionAssembler] = []
    private var assemblers: [ElementaryAssembler] = []
    /// Bytes of the units that the streams have begun, at least.
    private var heldCount = 0
    private var mapPID: UInt16?
    private var programNumber: UInt16?
    private var mapSection: TableSection?

    /// The known streams of the program.
    package private(set) var program: ProgramMap?

    /// - Parameter program: the number of the program to read; nil is the first.
    package init(program: UInt16? = nil) {
        wantedProgram = program
        places[0] = 1
    }

    /// Takes the next bytes of the stream.
    ///
    /// - Parameter bytes: any number of them.
    /// - Throws: if packets have 192 or 204 bytes, or there are none in the first 64 KiB.
    package mutating func consume(_ bytes: RawSpan) throws(Malformed) {
        var aligner = PacketAligner()
        swap(&aligner, &self.aligner)
        defer { swap(&aligner, &self.aligner) }
        try aligner.consume(bytes) { span, offset, position, skipped in read(span, offset, position, skipped) }
    }

    /// Ends the stream or a segment of it: all buffered data are emitted, and continuity counters may restart.
    ///
    /// - Throws: as `consume` does.
    package mutating func finish() throws(Malformed) {
        var aligner = PacketAligner()
        swap(&aligner, &self.aligner)
        defer { swap(&aligner, &self.aligner) }
        let lostCount = try aligner.finish { span, offset, position, skipped in read(span, offset, position, skipped) }
        events.offset = aligner.position - lostCount
        if lostCount > 0 { events.report(.lostSync(bytes: lostCount), pid: nil) }
        for i in assemblers.indices { assemblers[i].finish(&events) }
        heldCount = 0
        association.reset()
        mapSections.reset()
        for i in sections.indices { sections[i].reset() }
        for i in sources.indices { sources[i].forgetCounter() }
    }

    /// The next event, or nil until there are more bytes.
    package mutating func next() -> TransportStreamEvent? { events.next() }

    // MARK: - Packets

    private mutating func read(_ bytes: RawSpan, _ offset: Int, _ position: Int, _ skipped: Int) {
        events.offset = position
        if skipped > 0 { events.report(.lostSync(bytes: skipped), pid: nil) }
        guard let packet = TransportPacket.parse(bytes, at: offset) else { return }
        let index = Int(places[Int(packet.pid)]) - 1
        guard index >= 0 else { return }
        guard !packet.hasError else { return events.report(.damagedPacket, pid: packet.pid) }
        if let time = packet.clock, packet.pid == program?.clockPID {
            events.append(.clock(pid: packet.pid, time: time, offset: position))
        }
        guard !packet.payload.isEmpty else { return }
        let payload = bytes.extracting(offset + packet.payload.lowerBound..<offset + packet.payload.upperBound)
        let content = sources[index].content
        switch sources[index].follow(packet, payload) {
        case .next: break
        case .repeated: return
        case .gap(let isAnnounced):
            if !isAnnounced { events.report(.discontinuity, pid: packet.pid) }
            reportGap(content)
        }
        guard packet.scrambling == 0 else {
            // a scrambled stream may have clear packets among the others: those with less than a block of payload
            if packet.scrambling != sources[index].scrambling {
                events.report(.scrambled(control: packet.scrambling), pid: packet.pid)
            }
            sources[index].scrambling = packet.scrambling
            abandon(content)
            return
        }
        switch content {
        case .association:
            for section in association.consume(payload, startsUnit: packet.startsUnit) {
                readTable(section, packet.pid, isMap: false)
            }
        case .map:
            for section in mapSections.consume(payload, startsUnit: packet.startsUnit) {
                readTable(section, packet.pid, isMap: true)
            }
        case .sections(let i):
            for section in sections[i].consume(payload, startsUnit: packet.startsUnit) {
                events.append(.section(pid: packet.pid, bytes: section))
            }
        case .elementary(let i):
            let before = assemblers[i].heldCount
            assemblers[i].consume(payload, startsUnit: packet.startsUnit, &clock, &events)
            heldCount += assemblers[i].heldCount - before
            if heldCount > UnitLimits.total { dropLongest() }
        case .clock: break
        }
    }

    /// Drops the longest unit that has begun.
    private mutating func dropLongest() {
        // gaps drop bytes too
        heldCount = assemblers.reduce(0) { $0 + $1.heldCount }
        guard heldCount > UnitLimits.total,
            let longest = assemblers.indices.max(by: { assemblers[$0].heldCount < assemblers[$1].heldCount }),
            let pid = sources.first(where: { $0.content == .elementary(longest) })?.pid,
            let stream = program?.streams.first(where: { $0.pid == pid })
        else { return }
        heldCount -= assemblers[longest].heldCount
        assemblers[longest].dropUnit(stream, &events)
    }

    private mutating func reportGap(_ content: PacketSource.Content) {
        switch content {
        case .association: association.reset()
        case .map: mapSections.reset()
        case .sections(let i): sections[i].reset()
        case .elementary(let i): assemblers[i].reportGap(&events)
        case .clock: break
        }
    }

    /// Drops a partial unit, which continues in unreadable packets.
    private mutating func abandon(_ content: PacketSource.Content) {
        reportGap(content)
        if case .elementary(let i) = content { assemblers[i].abandon() }
    }

    // MARK: - Tables

    private mutating func readTable(_ bytes: [UInt8], _ pid: UInt16, isMap: Bool) {
        // other tables may share the identifier of a map
        guard bytes[0] == (isMap ? ProgramMap.table : ProgramAssociation.table) else { return }
        do throws(Malformed) {
            let section = try TableSection(bytes.rawSpan)
            guard section.isCurrent else { return }
            if isMap { try readMap(section) } else { try readAssociation(section) }
        } catch {
            events.report(.damagedSection, pid: pid)
        }
    }

    private mutating func readAssociation(_ section: TableSection) throws(Malformed) {
        let programs = try ProgramAssociation(section).programs
        let match = programs.first { wantedProgram == nil ? $0.number != 0 : $0.number == wantedProgram }
        // of a table in several sections, the program may be in another
        guard let match, section.number == 0 || wantedProgram != nil || mapPID == nil else { return }
        guard match.pid != 0, match.pid != mapPID || match.number != programNumber else { return }
        mapPID = match.pid
        programNumber = match.number
        mapSection = nil
        mapSections.reset()
        replaceStreams(nil)
    }

    private mutating func readMap(_ section: TableSection) throws(Malformed) {
        guard section.identifier == programNumber else { return }
        if let mapSection, mapSection.body == section.body { return }
        let map = try ProgramMap(section)
        mapSection = section
        replaceStreams(map)
        events.append(.program(map))
    }

    /// Ends the streams of the previous program, and begins the streams of the new one.
    private mutating func replaceStreams(_ map: ProgramMap?) {
        for i in assemblers.indices { assemblers[i].finish(&events) }
        let old = sources
        for source in sources.dropFirst() { places[Int(source.pid)] = 0 }
        sources.removeLast(sources.count - 1)
        assemblers = []
        heldCount = 0
        sections = []
        program = map
        if let mapPID { add(PacketSource(pid: mapPID, content: .map), old) }
        for stream in map?.streams.prefix(Self.maximumStreams) ?? [] where places[Int(stream.pid)] == 0 {
            if stream.coding == .privateSections {
                add(PacketSource(pid: stream.pid, content: .sections(sections.count)), old)
                sections.append(SectionAssembler())
            } else {
                add(PacketSource(pid: stream.pid, content: .elementary(assemblers.count)), old)
                assemblers.append(ElementaryAssembler(stream))
            }
        }
        if let clock = map?.clockPID, clock != TransportPacket.nullPID, places[Int(clock)] == 0 {
            add(PacketSource(pid: clock, content: .clock), old)
        }
    }

    private mutating func add(_ source: PacketSource, _ old: [PacketSource]) {
        var source = source
        if let last = old.first(where: { $0.pid == source.pid }) { source.goOn(from: last) }
        sources.append(source)
        places[Int(source.pid)] = UInt8(sources.count)
    }
}
