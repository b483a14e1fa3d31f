// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
package import CarrelBytes
package import CarrelMP4
package import CarrelTS
import CarrelVideo

/// Turns samples of MP4 tracks into an MPEG-2 transport stream: H.264 and H.265 video; AAC, MP3, AC-3 and E-AC-3 audio.
///
/// The presentation begins at `origin`; audio and video stay in sync, by edit lists and composition offsets. Length fields of
/// video units become start codes in place; a sample is copied once, into packets.
package struct TransportRemuxer: ~Copyable {
    /// The beginning of the presentation in 90 kHz ticks: ten seconds, so that earlier decode times are positive.
    package static let origin: Int64 = 900_000

    /// Maximum number of streams with a language.
    private static let namedStreams = 12

    /// Whether the tables come again before each sync picture; they come with every segment.
    package var repeatsTables = true
    /// Packets that are written and not yet taken.
    package var packets = PacketBuffer(capacity: 512 << 10)
    /// The tracks that a transport stream cannot hold: each with the reason, as a lower-case phrase.
    package private(set) var omitted: [String] = []

    package var muxer: TransportStreamMuxer
    private var streams: [Stream?]
    private var spare: [UInt8] = []
    /// The index of the stream of timed ID3 tags in the multiplex; nil before it is added.
    private var tagStream: Int?

    private struct Stream: Sendable {
        enum Coding: Sendable {
            case picture(VideoCodec, AccessUnitPrefix, lengthSize: Int)
            case adts(ADTSTemplate)
            case framed
        }

        /// The stream's number in the multiplex.
        var number: Int
        /// The codings by sample description.
        var codings: [Coding?]
        var timescale: Int64
        /// The ticks that are added to times of presentation.
        var shift: Int64
        /// The ticks by which decoding is moved earlier, so that it precedes presentation.
        var delay: Int64
        var clock = DecodeClock()
        /// The pictures that an edit hides at the beginning; nil without any.
        var preroll: Preroll?
        /// The position of the next sample in decode order, if pictures are hidden.
        var index = 0

        func ticks(_ time: Int64) -> Int64 { MediaTime.ticks(time, timescale: timescale) }

        /// When a sample is decoded and presented, in ticks.
        func times(of sample: MP4Sample) -> (decode: Int64, presentation: Int64) {
            guard let preroll else {
                let presented = sample.decodeTime &+ sample.compositionOffset
                return (ticks(sample.decodeTime) &+ shift &- delay, ticks(presented) &+ shift)
            }
            let start = ticks(preroll.start) &+ shift
            let times = preroll.times(of: sample, at: index, lead: 0, tick: 90_000 / Preroll.rate) { ticks($0) }
            return (times.decode &+ start &- delay, times.presentation &+ start)
        }
    }

    /// Plans the stream.
    ///
    /// - Parameters:
    ///   - tracks: the tracks of a movie.
    ///   - delays: for each track with pictures that are presented before their samples' decode time, the ticks by which decoding
    ///     is moved earlier.
    ///   - shifts: ticks added to the times of each track, by its index; empty for none.
    ///   - reserved: packet identifiers that are left for streams that precede these in other segments.
    /// - Throws: `unsupported` if no track fits into a transport stream; `malformed`.
    package init(
        _ tracks: [MP4Track],
        delays: [UInt32: Int64] = [:],
        shifts: [Int64] = [],
        reserved: UInt16 = 0
    ) throws(MediaError) {
        var elementary: [ElementaryStream] = []
        var streams: [Stream?] = []
        var omitted: [String] = []
        for track in tracks {
            guard track.kind == "vide" || track.kind == "soun", track.timescale > 0 else {
                streams.append(nil)
                omitted.append("track \(track.id) (\(track.kind)): neither pictures nor sound")
                continue
            }
            var form: (ElementaryStream, [Stream.Coding?])?
            do throws(Malformed) {
                form = try Self.codings(track, pid: 0x100 + min(reserved, 32) + UInt16(elementary.count))
            } catch {
                throw MediaError(.malformed, "track \(track.id): \(error.what)")
            }
            guard elementary.count < 32, let (stream, codings) = form else {
                streams.append(nil)
                omitted.append(
                    "track \(track.id) (\(track.entries.first.map { "\($0.format)" } ?? track.kind)): no form in transport streams"
                )
                continue
            }
            var plan = Stream(number: elementary.count, codings: codings, timescale: Int64(track.timescale), shift: 0, delay: 0)
            plan.shift = Self.origin &+ Self.shift(track, plan) &+ (streams.count < shifts.count ? shifts[streams.count] : 0)
            plan.delay = min(max(0, delays[track.id] ?? 0), Self.origin)
            streams.append(plan)
            elementary.append(stream)
            // the map has one packet, which has no room for the descriptors of 32 streams
            guard tracks.count <= Self.namedStreams, track.kind == "soun", let code = track.language else { continue }
            if let language = StreamDescriptor.language(code) { elementary[elementary.count - 1].descriptors.append(language) }
        }
        guard !elementary.isEmpty else { throw MediaError(.unsupported, "no track fits into a transport stream") }
        do throws(Malformed) { muxer = try TransportStreamMuxer(elementary) } catch {
            throw MediaError(.unsupported, error.what)
        }
        self.streams = streams
        self.omitted = omitted
    }

    /// The shift of the first edit: a delay, and the media time at which the presentation begins (ISO/IEC 14496-12 §8.6.6).
    private static func shift(_ track: MP4Track, _ stream: Stream) -> Int64 {
        guard let first = PresentedParts(track).parts.first else { return 0 }
        return first.time &- stream.ticks(first.start)
    }

    /// Begins a part of a track's media: its samples are presented from another time on.
    ///
    /// - Parameters:
    ///   - part: the part.
    ///   - track: the position of the track.
    package mutating func begin(_ part: PresentedParts.Part, of track: Int) {
        guard let stream = streams[track] else { return }
        streams[track]?.shift = Self.origin &+ part.time &- stream.ticks(part.start)
    }

    /// Begins a track whose edit hides pictures.
    ///
    /// - Parameters:
    ///   - preroll: the hidden pictures.
    ///   - track: the position of the track.
    ///   - index: the position of the next sample in decode order, as `preroll` counts it.
    package mutating func begin(_ preroll: Preroll, of track: Int, at index: Int) {
        streams[track]?.preroll = preroll
        streams[track]?.index = index
    }

    /// When a sample is decoded, as far as its times say; in ticks. Samples are written in the order of these times.
    package func time(of sample: MP4Sample, _ track: Int) -> Int64 {
        streams[track]?.times(of: sample).decode ?? .max
    }

    /// Whether a transport stream can hold the samples of a track; one whose configuration is damaged counts as held, and is refused later.
    package static func holds(_ track: MP4Track) -> Bool {
        do throws(Malformed) { return try codings(track, pid: 0x100) != nil } catch { return true }
    }

    private static func codings(_ track: MP4Track, pid: UInt16) throws(Malformed) -> (ElementaryStream, [Stream.Coding?])? {
        var stream: ElementaryStream?
        var codings: [Stream.Coding?] = []
        for entry in track.entries {
            guard let (kind, coding) = try coding(entry, pid: pid) else {
                codings.append(nil)
                continue
            }
            // one stream has one coding; other samples are left out
            if stream == nil { stream = kind }
            codings.append(stream?.coding == kind.coding ? coding : nil)
        }
        return stream.map { ($0, codings) }
    }

    private static func coding(_ entry: SampleEntry, pid: UInt16) throws(Malformed) -> (ElementaryStream, Stream.Coding)? {
        switch entry.format {
        case "avc1", "avc3":
            let record = try AVCDecoderConfigurationRecord(entry.configuration.rawSpan)
            let prefix = AccessUnitPrefix(.h264, parameterSets: record.byteStream)
            return (.video(.h264, pid: pid), .picture(.h264, prefix, lengthSize: record.lengthSize))
        case "hvc1", "hev1":
            let record = try HEVCDecoderConfigurationRecord(entry.configuration.rawSpan)
            let prefix = AccessUnitPrefix(.h265, parameterSets: record.byteStream)
            return (.video(.h265, pid: pid), .picture(.h265, prefix, lengthSize: record.lengthSize))
        case "ac-3": return (.ac3(pid: pid), .framed)
        case "ec-3": return (.enhancedAC3(pid: pid), .framed)
        default: break
        }
        switch entry.codec {
        case .aac(let config):
            guard let template = config.adts else { return nil }
            return (.aac(pid: pid), .adts(template))
        case .mp3: return (.mpegAudio(pid: pid, isHalfRate: entry.sampleRate > 0 && entry.sampleRate < 32_000), .framed)
        case .other("ac-3"): return (.ac3(pid: pid), .framed)
        case .other("ec-3"): return (.enhancedAC3(pid: pid), .framed)
        default: return nil
        }
    }

    /// When a sample is presented, in ticks.
    package func presentationTime(of sample: MP4Sample, _ track: Int) -> Int64? {
        guard let stream = streams[track] else { return nil }
        return stream.ticks(sample.decodeTime &+ sample.compositionOffset) &+ stream.shift
    }

    /// Whether the program has a stream of timed ID3 tags.
    var hasTimedTags: Bool { tagStream != nil }

    /// Adds a stream of timed ID3 tags, unless there is one. The tables that list it are written with the next segment.
    mutating func addTimedTags() throws(Malformed) {
        guard tagStream == nil else { return }
        try muxer.add(.timedID3(pid: Self.tagPID))
        tagStream = muxer.program.streams.count - 1
    }

    /// Writes a timed ID3 tag.
    ///
    /// - Parameters:
    ///   - tag: a whole tag.
    ///   - time: the time at which it takes effect, in ticks.
    /// - Throws: if it does not fit into a PES packet.
    mutating func writeTag(_ tag: [UInt8], at time: Int64) throws(Malformed) {
        guard let tagStream else { return }
        try muxer.write(
            tagStream,
            prefix: RawSpan(),
            body: tag.rawSpan,
            presentationTime: time,
            decodeTime: time,
            isSync: true,
            into: &packets
        )
    }

    /// The packet identifier of timed ID3 tags; the identifiers of tracks are lower.
    private static let tagPID: UInt16 = 0x1fe

    /// Whether samples of a track are written; by its position among the tracks.
    package func takes(_ track: Int) -> Bool { streams[track] != nil }

    /// Begins a segment with the program's tables.
    package mutating func beginSegment() { muxer.beginSegment(into: &packets) }

    /// Writes a sample.
    ///
    /// - Parameters:
    ///   - sample: its times.
    ///   - track: the position of its track.
    ///   - bytes: holds it, clear; of a picture the length fields are changed.
    ///   - range: the range of the sample.
    /// - Throws: `Malformed` if its units do not match their lengths, with the offset in the sample.
    package mutating func write(
        _ sample: MP4Sample,
        of track: Int,
        _ bytes: inout MutableRawSpan,
        in range: Range<Int>
    ) throws(Malformed) {
        guard let stream = streams[track] else { return }
        streams[track]?.index += 1
        guard !range.isEmpty, sample.entry < stream.codings.count, let coding = stream.codings[sample.entry] else { return }
        let (time, presented) = stream.times(of: sample)
        switch coding {
        case .picture(let codec, let prefix, let lengthSize):
            let decoded = streams[track]?.clock.next(time) ?? presented
            // a picture that came too late for any delay is presented when it is decoded
            let displayTime = max(presented, decoded)
            try writePicture(sample, stream.number, codec, prefix, lengthSize, &bytes, range, displayTime, decoded)
        case .adts(let template):
            guard let header = template.header(payloadLength: range.count) else {
                throw Malformed("sample of \(range.count) bytes cannot be an ADTS frame", at: 0)
            }
            try muxer.write(
                stream.number,
                prefix: unsafe header.span.bytes,
                body: bytes.bytes.extracting(range),
                presentationTime: presented,
                decodeTime: presented,
                isSync: true,
                into: &packets
            )
        case .framed:
            try muxer.write(
                stream.number,
                prefix: RawSpan(),
                body: bytes.bytes.extracting(range),
                presentationTime: presented,
                decodeTime: presented,
                isSync: true,
                into: &packets
            )
        }
    }

    private mutating func writePicture(
        _ sample: MP4Sample,
        _ number: Int,
        _ codec: VideoCodec,
        _ prefix: AccessUnitPrefix,
        _ lengthSize: Int,
        _ bytes: inout MutableRawSpan,
        _ range: Range<Int>,
        _ presented: Int64,
        _ decoded: Int64
    ) throws(Malformed) {
        if lengthSize == 4 {
            let kinds: NALUnitSet
            do throws(Malformed) { kinds = try LengthPrefixedUnits.makeByteStream(&bytes, in: range, codec: codec) } catch {
                throw Malformed(error.what, at: error.offset - range.lowerBound)
            }
            return try put(bytes.bytes.extracting(range), kinds, prefix, number, presented, decoded, isSync: sample.isSync)
        }
        var stream: [UInt8] = []
        swap(&stream, &spare)
        stream.removeAll(keepingCapacity: true)
        let units = bytes.bytes.extracting(range)
        let kinds = try LengthPrefixedUnits.append(units, lengthSize: lengthSize, codec: codec, asByteStreamTo: &stream)
        try put(stream.rawSpan, kinds, prefix, number, presented, decoded, isSync: sample.isSync)
        swap(&stream, &spare)
    }

    private mutating func put(
        _ body: RawSpan,
        _ kinds: NALUnitSet,
        _ prefix: AccessUnitPrefix,
        _ number: Int,
        _ presented: Int64,
        _ decoded: Int64,
        isSync: Bool
    ) throws(Malformed) {
        if isSync, repeatsTables { muxer.beginSegment(into: &packets) }
        let (head, skip) = prefix.prefix(of: kinds, body: body)
        try muxer.write(
            number,
            prefix: head.rawSpan,
            body: body.extracting(skip..<body.byteCount),
            presentationTime: presented,
            decodeTime: decoded,
            isSync: isSync,
            into: &packets
        )
    }

    /// Ends a segment: frames that wait are written.
    package mutating func endSegment() { muxer.endSegment(into: &packets) }
}
