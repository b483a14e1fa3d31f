// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Makes a transport stream of video, audio and timed ID3 tags (ISO/IEC 13818-1), as HTTP Live Streaming requires.
///
/// Units are written in decode order, in consecutive segments. A picture is copied once, from the caller's memory into packets;
/// audio frames are collected until their PES packet is worth its header. The program clock runs ahead of the decoding times, on
/// the packets of the first video stream, or of the first audio stream if there is no video.
///
/// ```swift
/// var muxer = try TransportStreamMuxer([.video(.h264, pid: 0x100), .aac(pid: 0x101)])
/// try muxer.beginSegment(into: &buffer)
/// try muxer.write(0, prefix: …, body: …, presentationTime: 90_000, decodeTime: 87_000, isSync: true, into: &buffer)
/// muxer.endSegment(into: &buffer)
/// ```
package struct TransportStreamMuxer: Sendable {
    /// The packet identifier of the program map.
    package static let mapPID: UInt16 = 0x1000
    /// Most ticks between two clock references: 100 ms (§2.7.2), less one tick of rounding.
    private static let clockInterval: Int64 = 8_999

    /// The program, as described by its map.
    package let program: ProgramMap
    /// The counters of the packets that come next, to be carried from one muxer to another.
    package var counters: ContinuityCounters
    /// Ticks by which the clock is ahead of the decoding times.
    package let clockLead: Int64

    private let clockStream: Int
    private let streamIDs: [UInt8]
    private let tables: [[UInt8]]
    /// The version of the map, one more with each stream that is added.
    private let mapVersion: UInt8
    private var pending: [PendingPES]
    /// The last clock reference.
    private var clock: Int64?
    private var lead: [UInt8] = []

    /// Plans a multiplex.
    ///
    /// - Parameters:
    ///   - streams: 1 to 32 streams with unique packet identifiers, from 0x20 to 0x1ffe without 0x1000.
    ///   - descriptors: descriptors of the program.
    ///   - clockLead: ticks by which the clock is ahead of the decoding times; half a second by default.
    /// - Throws: if an identifier is not available, or the map does not fit into a packet.
    package init(
        _ streams: [ElementaryStream],
        descriptors: [StreamDescriptor] = [],
        clockLead: Int64 = Int64(MediaTime.origin)
    ) throws(Malformed) {
        try self.init(streams, descriptors, clockLead, mapVersion: 0)
    }

    private init(
        _ streams: [ElementaryStream],
        _ descriptors: [StreamDescriptor],
        _ clockLead: Int64,
        mapVersion: UInt8
    ) throws(Malformed) {
        let pids = Set(streams.map(\.pid))
        guard (1...32).contains(streams.count), pids.count == streams.count, !pids.contains(Self.mapPID),
            pids.allSatisfy({ (0x20..<TransportPacket.nullPID).contains($0) })
        else { throw Malformed("packet identifiers of the streams are not free", at: 0) }
        var descriptors = descriptors
        let pointer = ElementaryStream.metadataPointer(program: 1)
        if streams.contains(where: { $0.coding == .timedID3 }), !descriptors.contains(pointer) { descriptors.append(pointer) }
        clockStream = streams.firstIndex(where: \.isVideo) ?? streams.firstIndex(where: \.isAudio) ?? 0
        program = ProgramMap(number: 1, clockPID: streams[clockStream].pid, descriptors: descriptors, streams: streams)
        let association = ProgramAssociation(programs: [ProgramAssociation.Program(number: 1, pid: Self.mapPID)])
        var counter: UInt8 = 0
        var mapCounter: UInt8 = 0
        var map = try program.section()
        map.version = mapVersion
        tables = [
            association.section.packets(pid: 0, counter: &counter),
            map.packets(pid: Self.mapPID, counter: &mapCounter),
        ]
        self.mapVersion = mapVersion
        guard tables[1].count == TransportStream.packetLength else {
            throw Malformed("program map is longer than a packet", at: 0)
        }
        var video: UInt8 = 0xe0
        var audio: UInt8 = 0xc0
        streamIDs = streams.map { stream in
            switch stream.coding {
            case .video:
                defer { video = video < 0xef ? video + 1 : video }
                return video
            case .aac, .mpegAudio, .latm:
                defer { audio = audio < 0xdf ? audio + 1 : audio }
                return audio
            default: return 0xbd  // private stream 1
            }
        }
        counters = ContinuityCounters(segment: 0, streams: streams.count)
        pending = [PendingPES](repeating: PendingPES(), count: streams.count)
        self.clockLead = clockLead
    }

    /// Appends a stream. The tables that list it are written with the next `beginSegment`, with a new version of the map.
    ///
    /// - Parameter stream: timed ID3 tags or another stream without the clock, with a unique packet identifier.
    /// - Throws: as `init`; the streams are then unchanged.
    package mutating func add(_ stream: ElementaryStream) throws(Malformed) {
        var next = try TransportStreamMuxer(
            program.streams + [stream],
            program.descriptors,
            clockLead,
            mapVersion: (mapVersion + 1) & 31
        )
        next.counters = ContinuityCounters(segment: Int(counters.tables), streams: 0)
        next.counters.streams = counters.streams + [0]
        next.pending = pending + [PendingPES()]
        next.clock = clock
        self = next
    }

    /// Begins a segment with the association and the map.
    package mutating func beginSegment(into out: inout PacketBuffer) {
        for table in tables {
            var packet = table
            packet[3] |= counters.tables & 15
            out.append(packet.rawSpan)
        }
        counters.tables = (counters.tables + 1) & 15
    }

    /// Writes one unit: a picture, an audio frame with its header, or a tag.
    ///
    /// - Parameters:
    ///   - stream: the index of its stream.
    ///   - prefix: the bytes in front of it, such as a delimiter, parameter sets or an ADTS header.
    ///   - body: the unit; together with the prefix not empty.
    ///   - presentationTime: in 90 kHz ticks; only 33 bits are written.
    ///   - decodeTime: the same for decoding; ignored for audio and tags.
    ///   - isSync: whether decoding can start at it.
    ///   - out: gets whole packets; audio may come later.
    /// - Throws: if an audio frame or tag is longer than a PES packet, or there are no bytes.
    package mutating func write(
        _ stream: Int,
        prefix: RawSpan,
        body: RawSpan,
        presentationTime: Int64,
        decodeTime: Int64,
        isSync: Bool,
        into out: inout PacketBuffer
    ) throws(Malformed) {
        let count = prefix.byteCount + body.byteCount
        guard count > 0 else { throw Malformed("unit is empty", at: 0) }
        guard program.streams[stream].coding != .privateSections else { throw Malformed("stream carries sections only", at: 0) }
        let time = program.streams[stream].isVideo ? decodeTime : presentationTime
        // frames that would otherwise come after their time
        for other in pending.indices where other != stream && !pending[other].data.isEmpty {
            if time &- pending[other].presentationTime >= groupLimit(other) { flush(other, extra: 0, into: &out) }
        }
        if program.streams[stream].isVideo {
            writeClocks(upTo: decodeTime, into: &out)
            let first = beginPES(stream, dataLength: nil, presentationTime, decodeTime, isSync: isSync)
            lead.append(copying: prefix)
            emit(stream, body, field: first, extra: 0, into: &out)
            return
        }
        guard count <= PendingPES.capacity else {
            throw Malformed("unit does not fit into a PES packet", at: PendingPES.capacity)
        }
        if !pending[stream].takes(count, at: presentationTime, limit: groupLimit(stream)) { flush(stream, extra: 0, into: &out) }
        if pending[stream].data.isEmpty { pending[stream].presentationTime = presentationTime }
        pending[stream].lastTime = presentationTime
        pending[stream].data.append(copying: prefix)
        pending[stream].data.append(copying: body)
    }

    /// Writes a section, such as a key message.
    ///
    /// - Parameters:
    ///   - section: the section.
    ///   - stream: the index of a stream of private sections.
    ///   - out: gets whole packets.
    /// - Throws: if the stream carries no sections.
    package mutating func writeSection(_ section: TableSection, stream: Int, into out: inout PacketBuffer) throws(Malformed) {
        guard program.streams[stream].coding == .privateSections else { throw Malformed("stream carries no sections", at: 0) }
        let packets = section.packets(pid: program.streams[stream].pid, counter: &counters.streams[stream])
        out.append(packets.rawSpan)
        pending[stream].section = section
    }

    /// Ends a segment: writes the pending frames.
    ///
    /// - Parameters:
    ///   - alignsCounters: whether each stream gets packets, at most 15, until its next counter is zero. A segment made by
    ///     another muxer, which begins with `ContinuityCounters(segment:streams:)`, then continues this one. Streams without a
    ///     unit since their counter was last zero get none.
    ///   - out: gets whole packets.
    package mutating func endSegment(alignsCounters: Bool = false, into out: inout PacketBuffer) {
        for stream in program.streams.indices {
            flush(stream, extra: alignsCounters ? .max : 0, into: &out)
            guard alignsCounters, counters.streams[stream] != 0 else { continue }
            if let section = pending[stream].section {
                // sent again, each time with the same number of packets
                while counters.streams[stream] != 0 {
                    let packets = section.packets(pid: program.streams[stream].pid, counter: &counters.streams[stream])
                    out.append(packets.rawSpan)
                }
                continue
            }
            // zero bytes after a picture are part of the byte stream; other streams get here with a short last unit, or none
            let filler: [UInt8] = program.streams[stream].isVideo ? [0] : []
            while counters.streams[stream] != 0 { pad(stream, filler, into: &out) }
        }
    }

    // MARK: - Packets

    /// Most ticks of audio in one PES packet: on the clock's packets no more than between two references.
    private func groupLimit(_ stream: Int) -> Int64 {
        guard program.streams[stream].isAudio else { return 0 }
        return stream == clockStream ? Self.clockInterval : min(2 * Self.clockInterval, clockLead / 2)
    }

    /// Starts a PES header in `lead` and returns the adaptation field of its first packet.
    private mutating func beginPES(
        _ stream: Int,
        dataLength: Int?,
        _ presentationTime: Int64,
        _ decodeTime: Int64,
        isSync: Bool
    ) -> PacketWriter.Field {
        lead.removeAll(keepingCapacity: true)
        let mask = MediaTime.modulus - 1
        PESHeader.append(
            stream: streamIDs[stream],
            dataLength: dataLength,
            presentationTime: UInt64(bitPattern: presentationTime) & mask,
            decodeTime: UInt64(bitPattern: decodeTime) & mask,
            to: &lead
        )
        guard stream == clockStream else { return PacketWriter.Field(isRandomAccess: isSync && dataLength == nil) }
        let clock = decodeTime &- clockLead
        self.clock = clock
        return PacketWriter.Field(clock: UInt64(bitPattern: clock) & mask, isRandomAccess: isSync)
    }

    private mutating func emit(
        _ stream: Int,
        _ body: RawSpan,
        field: PacketWriter.Field,
        extra: Int,
        into out: inout PacketBuffer
    ) {
        let bytes = lead.count + body.byteCount
        let needed = PacketWriter.packetCount(bytes, field: field)
        let packets = needed + min(extra, bytes - needed)
        let pid = program.streams[stream].pid
        var counter = counters.streams[stream]
        unsafe out.reserve(packets * TransportStream.packetLength) { to in
            unsafe lead.withUnsafeBytes { lead in
                unsafe body.withUnsafeBytes { body in
                    unsafe PacketWriter.write(
                        lead: lead,
                        body: body,
                        pid: pid,
                        counter: &counter,
                        field: field,
                        packets: packets,
                        to: to
                    )
                }
            }
        }
        counters.streams[stream] = counter
    }

    /// Writes the frames that wait; `extra` packets more than needed, or as many as align the counter.
    private mutating func flush(_ stream: Int, extra: Int, into out: inout PacketBuffer) {
        guard !pending[stream].data.isEmpty else { return }
        let time = pending[stream].presentationTime
        if stream == clockStream { writeClocks(upTo: time, into: &out) }
        var data: [UInt8] = []
        swap(&data, &pending[stream].data)
        let field = beginPES(stream, dataLength: data.count, time, time, isSync: true)
        var more = extra
        if extra == .max {
            let packets = PacketWriter.packetCount(lead.count + data.count, field: field)
            more = (16 - (Int(counters.streams[stream]) + packets) & 15) & 15
        }
        emit(stream, data.rawSpan, field: field, extra: more, into: &out)
        data.removeAll(keepingCapacity: true)
        swap(&data, &pending[stream].data)
    }

    /// Writes clock references in separate packets if units are further apart than the maximum interval.
    private mutating func writeClocks(upTo decodeTime: Int64, into out: inout PacketBuffer) {
        guard var clock else { return }
        let next = decodeTime &- clockLead
        // a jump of more than ten seconds is not filled
        guard next &- clock > Self.clockInterval, next &- clock < 900_000 else { return }
        let pid = program.streams[clockStream].pid
        // a packet without payload repeats the previous counter
        let counter = (counters.streams[clockStream] &- 1) & 15
        while next &- clock > Self.clockInterval {
            clock &+= Self.clockInterval
            let field = PacketWriter.Field(clock: UInt64(bitPattern: clock) & (MediaTime.modulus - 1))
            unsafe out.reserve(TransportStream.packetLength) { to in
                let word: UInt32 = 0x4700_0020 | UInt32(pid) << 8 | UInt32(counter)
                unsafe to.storeBytes(of: word.bigEndian, as: UInt32.self)
                unsafe PacketWriter.writeField(to + 4, field, length: 184)
            }
        }
        self.clock = clock
    }

    /// Writes a packet that only moves the counter on.
    private mutating func pad(_ stream: Int, _ filler: [UInt8], into out: inout PacketBuffer) {
        lead.removeAll(keepingCapacity: true)
        var filler = filler
        var word: UInt32 = 0x4700_0030 | UInt32(program.streams[stream].pid) << 8 | UInt32(counters.streams[stream])
        if filler.isEmpty {
            // a PES packet without data
            filler = [0, 0, 1, streamIDs[stream], 0, 3, 0x80, 0, 0]
            word |= 0x0040_0000
        }
        unsafe out.reserve(TransportStream.packetLength) { to in
            unsafe to.storeBytes(of: word.bigEndian, as: UInt32.self)
            unsafe PacketWriter.writeField(to + 4, PacketWriter.Field(), length: 184 - filler.count)
            unsafe filler.withUnsafeBytes {
                unsafe (to + (188 - $0.count)).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(to), byteCount: $0.count)
            }
        }
        counters.streams[stream] = (counters.streams[stream] + 1) & 15
    }
}
