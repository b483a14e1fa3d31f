import CarrelBytes
import CarrelCrypto
import CarrelTS

/// Decrypts a transport stream of SAMPLE-AES segments: its units are taken out, decrypted and multiplexed again with their times.
///
/// Each segment may have its own key and vector; the stream's counters go on.
struct ClearTransportStream: ~Copyable {
    private var demuxer = TransportStreamDemuxer()
    private var muxer: TransportStreamMuxer?
    private var program: ProgramMap?
    /// The place in the multiplex of each packet identifier.
    private var places: [UInt16: Int] = [:]
    private var cipher: SampleAES?
    private var packets = PacketBuffer()
    /// The number of the one segment that is written; nil where one stream writes all of them.
    private let number: UInt64?

    /// - Parameter number: of the one segment that is written, so that its counters go on from those of the segment before, which another
    ///   stream writes; nil where this one writes all of them.
    init(segment number: UInt64? = nil) {
        self.number = number
    }

    /// Begins a segment.
    ///
    /// - Parameters:
    ///   - key: 16 bytes; nil of a clear segment.
    ///   - iv: its vector.
    /// - Throws: `crypto.key-length`, `crypto.refused`.
    mutating func beginSegment(key: Secret?, iv: AESBlock) throws {
        demuxer = TransportStreamDemuxer()
        cipher = try key.map { try SampleAES(.decrypt, key: $0, iv: iv) }
        if muxer != nil { muxer?.beginSegment(into: &packets) }
    }

    mutating func take(_ piece: RawSpan, to sink: inout some MediaSink) throws {
        try demuxer.consume(piece)
        try drain(to: &sink)
    }

    mutating func endSegment(to sink: inout some MediaSink) throws {
        try demuxer.finish()
        try drain(to: &sink)
        muxer?.endSegment(alignsCounters: number != nil, into: &packets)
        try flush(to: &sink)
    }

    private mutating func drain(to sink: inout some MediaSink) throws {
        while let event = demuxer.next() {
            switch event {
            case .program(let map): try plan(map)
            case .unit(let unit): try write(unit)
            case .clock, .section, .fault: continue
            }
            if packets.count >= 1 << 19 { try flush(to: &sink) }
        }
    }

    private mutating func plan(_ map: ProgramMap) throws {
        let streams = map.streams.map(\.clear)
        guard streams != program?.streams.map(\.clear) else { return }
        program = map
        places = [:]
        for (i, stream) in streams.enumerated() { places[stream.pid] = i }
        muxer?.endSegment(into: &packets)
        muxer = try TransportStreamMuxer(streams)
        if let number { muxer?.counters = ContinuityCounters(segment: Int(number & 15), streams: streams.count) }
        muxer?.beginSegment(into: &packets)
    }

    private mutating func write(_ unit: AccessUnit) throws {
        guard let place = places[unit.pid], let coding = muxer?.program.streams[place].coding else { return }
        var data = unit.data
        try cipher?.apply(to: &data, coding: coding)
        try muxer?.write(
            place,
            prefix: RawSpan(),
            body: data.rawSpan,
            presentationTime: unit.presentationTime,
            decodeTime: unit.decodeTime,
            isSync: unit.isRandomAccess,
            into: &packets
        )
    }

    private mutating func flush(to sink: inout some MediaSink) throws {
        guard packets.count > 0 else { return }
        try sink.write(packets.bytes)
        packets.removeAll()
    }
}
