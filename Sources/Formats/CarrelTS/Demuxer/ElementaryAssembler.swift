// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Joins the PES packets of one stream and passes their bytes to the splitter of its coding.
struct ElementaryAssembler {
    private let pid: UInt16
    private var video: VideoSplitter?
    private var audio: AudioSplitter?
    private var packets: PacketSplitter?

    private enum State {
        /// No PES packet has begun, or its bytes are all there.
        case outside
        case header
        case data
    }

    private var state = State.outside
    private var header: [UInt8] = []
    /// Remaining bytes; nil if the packet ends with the start of the next one.
    private var remaining: Int?

    init(_ stream: ElementaryStream) {
        pid = stream.pid
        switch stream.coding {
        case .video(let codec): video = VideoSplitter(codec, pid: pid)
        case .mpegAudio: audio = AudioSplitter(.mpeg, pid: pid)
        case .aac: audio = AudioSplitter(.adts, pid: pid)
        case .ac3, .enhancedAC3: audio = AudioSplitter(.ac3, pid: pid)
        case .timedID3: packets = PacketSplitter(isID3: true, pid: pid)
        case .latm, .other, .privateSections: packets = PacketSplitter(isID3: false, pid: pid)
        }
    }

    /// Bytes that wait for the end of their unit.
    var heldCount: Int { video?.heldCount ?? audio?.heldCount ?? packets?.heldCount ?? 0 }

    /// Drops the unit that has begun: all streams together hold too much.
    mutating func dropUnit(_ stream: ElementaryStream, _ events: inout EventQueue) {
        events.report(.longUnit, pid: pid)
        self = ElementaryAssembler(stream)
    }

    /// Takes the payload of a packet.
    mutating func consume(
        _ payload: RawSpan,
        startsUnit: Bool,
        _ clock: inout ClockUnroller,
        _ events: inout EventQueue
    ) {
        if startsUnit {
            endPacket(&events)
            state = .header
            header.removeAll(keepingCapacity: true)
        }
        var at = 0
        if state == .header { at = readHeader(payload, &clock, &events) }
        guard state == .data else { return }
        var count = payload.byteCount - at
        if let remaining { count = min(count, remaining) }
        if count > 0 {
            let bytes = payload.extracting(at..<at + count)
            video?.append(bytes, &events)
            audio?.append(bytes, &events)
            packets?.append(bytes, &events)
        }
        guard let remaining else { return }
        self.remaining = remaining - count
        if remaining == count {
            state = .outside
            packets?.end(&events)
        }
    }

    /// A packet of the stream is missing.
    mutating func reportGap(_ events: inout EventQueue) {
        // bytes are missing, so the end of the packet is unknown
        if state == .header { state = .outside }
        remaining = nil
        video?.reportGap()
        audio?.reportGap(&events)
        packets?.reportGap()
    }

    /// The rest of the PES packet cannot be read.
    mutating func abandon() {
        state = .outside
    }

    /// Emits all buffered data.
    mutating func finish(_ events: inout EventQueue) {
        endPacket(&events)
        state = .outside
        video?.finish(&events)
        audio?.finish(&events)
        packets?.finish(&events)
    }

    private mutating func endPacket(_ events: inout EventQueue) {
        switch state {
        case .outside: break
        case .header: events.report(.damagedHeader, pid: pid)
        case .data:
            if let remaining, remaining > 0 { events.report(.shortPacket, pid: pid) }
            packets?.end(&events)
        }
    }

    /// Reads as much of the header as there is; returns the bytes that belong to it.
    private mutating func readHeader(_ payload: RawSpan, _ clock: inout ClockUnroller, _ events: inout EventQueue) -> Int {
        var at = 0
        while true {
            guard let length = PESHeader.length(header.rawSpan) else { break }
            if header.count == length, length >= 6 {
                guard let pesHeader = PESHeader(header.rawSpan) else { break }
                begin(pesHeader, &clock, &events)
                return at
            }
            let count = min(length - header.count, payload.byteCount - at)
            guard count > 0 else { return at }
            header.append(copying: payload.extracting(at..<at + count))
            at += count
        }
        events.report(.damagedHeader, pid: pid)
        state = .outside
        return at
    }

    private mutating func begin(_ header: PESHeader, _ clock: inout ClockUnroller, _ events: inout EventQueue) {
        guard header.scrambling == 0 else {
            events.report(.scrambled(control: header.scrambling), pid: pid)
            state = .outside
            return
        }
        state = .data
        remaining = header.dataLength
        var times: (presentation: Int64, decode: Int64)?
        if let presentation = header.presentationTime {
            // the decoding times come in order
            let decode = clock.time(of: header.decodeTime ?? presentation)
            times = (decode + Self.difference(presentation, header.decodeTime ?? presentation), decode)
        }
        if let times {
            video?.mark(presentationTime: times.presentation, decodeTime: times.decode)
            audio?.mark(presentationTime: times.presentation)
        }
        packets?.begin(times, &events)
    }

    /// `one - other` modulo 2^33, between -2^32 and 2^32.
    private static func difference(_ one: UInt64, _ other: UInt64) -> Int64 {
        let step = Int64((one &- other) & (MediaTime.modulus &- 1))
        return step >= Int64(MediaTime.modulus / 2) ? step - Int64(MediaTime.modulus) : step
    }
}
