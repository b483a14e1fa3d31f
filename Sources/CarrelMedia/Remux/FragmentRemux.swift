import CarrelBytes
package import CarrelMP4
import CarrelTS

/// Writes fragments as a clear MPEG-2 transport stream in pieces of any size as they arrive.
///
/// Samples are written in the order in which they lie. Event messages with ID3 tags become timed ID3 tags of the stream. Memory is one fragment header, one sample and 512 KiB of packets, whatever the
/// length of a fragment.
package struct FragmentRemux: ~Copyable {
    private var fragments: ClearFragments
    private var remuxer: TransportRemuxer?
    private var tags = TimedTags()
    private let hasTags: Bool

    /// Packets that are written together.
    private static let blockLength = 512 << 10
    /// The part of a second by which pictures with signed composition offsets are decoded earlier than they say, at least: the five frames
    /// that reordering takes at 25 in a second, and some. No picture is presented at another time.
    private static let reserveDivisor: Int64 = 4

    /// - Parameters:
    ///   - tracks: the tracks of the movie, when it was read before; none when it comes with the stream.
    ///   - keys: existing keys.
    ///   - hasTimedID3: whether the program has a stream of timed ID3 tags from its beginning, so that all segments have the same
    ///     streams; without it, such a stream is added with the first tag.
    package init(tracks: [MP4Track] = [], keys: ContentKeys = ContentKeys(), hasTimedID3: Bool = false) {
        hasTags = hasTimedID3
        fragments = ClearFragments(tracks: tracks, keys: keys)
    }

    /// The tracks that a transport stream cannot hold, each with the reason; none before the first sample.
    package private(set) var omitted: [String] = []

    /// Uses other keys from here on, behind a whole fragment.
    package mutating func use(_ keys: ContentKeys) throws(MediaError) { try fragments.use(keys) }

    /// Adds a piece of the stream.
    package mutating func append(_ piece: RawSpan) { fragments.append(piece) }

    /// Adds a piece of the stream that `body` writes, `count` bytes at most.
    package mutating func append<Failure: Error>(
        addingCapacity count: Int,
        _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        try fragments.append(addingCapacity: count, body)
    }

    /// Says that no piece follows.
    package mutating func end() { fragments.end() }

    /// Writes what the pieces so far give.
    ///
    /// - Parameters:
    ///   - sink: gets packets.
    ///   - source: who has the keys.
    /// - Throws: `missingKey`, `refusedKey`, `wrongKey`, `unsupported`, `Malformed`; what the sink throws.
    package mutating func write(to sink: inout some MediaSink, keys source: some ContentKeySource) async throws {
        while let event = try fragments.next() {
            switch event {
            case .movie, .fragment: try await fragments.resolveKeys(from: source)
            default: try take(event, to: &sink)
            }
        }
        try flush(to: &sink)
    }

    /// Writes what the pieces so far give, with existing keys.
    ///
    /// - Parameter sink: gets packets.
    /// - Throws: `missingKey`, `wrongKey`, `unsupported`, `Malformed`; what the sink throws.
    package mutating func write(to sink: inout some MediaSink) throws {
        while let event = try fragments.next() { try take(event, to: &sink) }
        try flush(to: &sink)
    }

    private mutating func take(_ event: FragmentReader.Event, to sink: inout some MediaSink) throws {
        if case .box("emsg", let range) = event {
            let box = [UInt8](copying: fragments.bytes.extracting(range))
            return try tags.add(box.rawSpan)
        }
        guard case .sample(let track, let sample, let range) = event else { return }
        if remuxer == nil { try begin() }
        guard remuxer?.takes(track) == true else { return }
        try remuxer?.write(&tags, before: sample, track)
        try write(sample, track, range)
        if let count = remuxer?.packets.count, count >= Self.blockLength { try flush(to: &sink) }
    }

    /// Writes the last packets.
    package mutating func finish(to sink: inout some MediaSink) throws {
        try remuxer?.write(&tags, upTo: .max)
        for fault in tags.faults where !omitted.contains(fault) { omitted.append(fault) }
        remuxer?.endSegment()
        try flush(to: &sink)
    }

    private mutating func begin() throws {
        try PresentedParts.refuseSeveral(fragments.tracks)
        var delays: [UInt32: Int64] = [:]
        for track in fragments.tracks where track.kind == "vide" {
            guard let least = fragments.leastComposition[track.id] else { continue }
            delays[track.id] = Self.delay(of: track, least)
        }
        var made = try TransportRemuxer(fragments.tracks, delays: delays)
        omitted = made.omitted
        if hasTags || !tags.isEmpty { try made.addTimedTags() }
        made.beginSegment()
        remuxer = consume made
    }

    /// The ticks by which the pictures of a track are decoded earlier than they say.
    ///
    /// A later fragment may reorder its pictures further than the first one. A tick more, as times are rounded.
    static func delay(of track: MP4Track, _ leastComposition: Int64) -> Int64 {
        let units = max(-leastComposition, Int64(track.timescale) / reserveDivisor)
        return MediaTime.ticks(units, timescale: Int64(track.timescale)) &+ 1
    }

    private mutating func write(_ sample: MP4Sample, _ track: Int, _ range: Range<Int>) throws {
        guard var remuxer = remuxer.take() else { return }
        let isProtected = fragments.isProtected(track)
        let id = fragments.tracks[track].id
        do throws(Malformed) {
            try fragments.withBytes { bytes throws(Malformed) in try remuxer.write(sample, of: track, &bytes, in: range) }
        } catch {
            self.remuxer = consume remuxer
            throw isProtected
                ? MediaError(
                    .wrongKey,
                    "track \(id): \(error.what) behind the decryption: the key is another, or the stream is damaged"
                )
                : Malformed(error.what, at: Int(clamping: sample.offset) + error.offset)
        }
        self.remuxer = consume remuxer
    }

    private mutating func flush(to sink: inout some MediaSink) throws {
        guard var remuxer = remuxer.take() else { return }
        if remuxer.packets.count > 0 {
            try sink.write(remuxer.packets.bytes)
            remuxer.packets.removeAll()
        }
        self.remuxer = consume remuxer
    }
}
