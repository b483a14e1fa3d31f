// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTS
import CarrelVideo

/// Decrypts a transport stream of SAMPLE-AES segments: its units are extracted, decrypted and multiplexed again with their times.
///
/// Each segment may have its own key and initialization vector; the continuity counters of the stream continue.
struct ClearTransportStream: ~Copyable {
    private var demuxer = TransportStreamDemuxer()
    private var muxer: TransportStreamMuxer?
    private var program: ProgramMap?
    /// The place in the multiplex of each packet identifier.
    private var places: [UInt16: Int] = [:]
    private var cipher: SampleAES?
    private var packets = PacketBuffer()
    /// The number of the only segment to write; nil if one stream writes all of them.
    private let number: UInt64?
    /// The streams whose units are encrypted, by packet identifier.
    private var encrypted: Set<UInt16> = []
    private var checksums = FrameChecksums()
    /// Takes note of the keys.
    private let evidence: KeyEvidence?
    private var digest: [UInt8] = []

    /// - Parameters:
    ///   - number: the number of the only segment to write, so that its counters continue from the previous segment, which
    ///     another stream writes; nil if this one writes all of them.
    ///   - evidence: records the use of keys.
    init(segment number: UInt64? = nil, evidence: KeyEvidence? = nil) {
        self.number = number
        self.evidence = evidence
    }

    /// Begins a segment.
    ///
    /// - Parameters:
    ///   - key: 16 bytes; nil for a clear segment.
    ///   - iv: its vector.
    /// - Throws: `crypto.key-length`, `crypto.refused`.
    mutating func beginSegment(key: Secret?, iv: AESBlock) throws {
        demuxer = TransportStreamDemuxer()
        cipher = try key.map { try SampleAES(.decrypt, key: $0, iv: iv) }
        checksums = FrameChecksums()
        if let key, let evidence { digest = evidence.use(key, "the samples of the transport stream") }
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
        encrypted = Self.encrypted(map)
        guard streams != program?.streams.map(\.clear) else { return }
        program = map
        places = [:]
        for (i, stream) in streams.enumerated() { places[stream.pid] = i }
        muxer?.endSegment(into: &packets)
        muxer = try TransportStreamMuxer(streams)
        if let number { muxer?.counters = ContinuityCounters(segment: Int(number & 15), streams: streams.count) }
        muxer?.beginSegment(into: &packets)
    }

    /// The streams whose type declares encryption. Some packagers keep the clear types: if no stream has an encrypted type, all
    /// streams of the four codings that the format protects are treated as encrypted.
    private static func encrypted(_ map: ProgramMap) -> Set<UInt16> {
        let named = map.streams.filter(\.isSampleEncrypted)
        let codings: [ElementaryStream.Coding] = [.video(.h264), .aac, .ac3, .enhancedAC3]
        return Set((named.isEmpty ? map.streams.filter { codings.contains($0.coding) } : named).map(\.pid))
    }

    private mutating func write(_ unit: AccessUnit) throws {
        guard let place = places[unit.pid], let coding = muxer?.program.streams[place].coding else { return }
        var data = unit.data
        if cipher != nil, encrypted.contains(unit.pid) {
            try cipher?.apply(to: &data, coding: coding)
            try checksums.add(data.rawSpan, coding)
            if checksums.isVerified { evidence?.verify(digest) }
        }
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
