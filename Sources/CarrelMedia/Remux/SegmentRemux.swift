import CarrelBytes
package import CarrelMP4
import CarrelTS

/// Writes media segments of several streams, such as one of pictures and one of audio, as one clear segment of an MPEG-2 transport stream,
/// in pieces of any size as they arrive.
///
/// Samples are written in the order in which they are decoded. Memory is one fragment header and one sample of each stream, and 512 KiB
/// of packets, whatever the length of the segments.
///
/// ```swift
/// while let stream = try await remux.write(to: &output, keys: keys) {
///     if let piece = try await downloads[stream].next() { remux.append(piece.rawSpan, to: stream) } else { remux.end(stream) }
/// }
/// ```
package struct SegmentRemux: ~Copyable {
    /// One of the streams.
    package struct Stream: Sendable {
        /// The tracks of its initialization segment.
        package var tracks: [MP4Track]
        /// Existing keys.
        package var keys: ContentKeys
        /// The ticks of 90 kHz that are added to the times of its media, so that those of all streams count from the same moment.
        package var shift: Int64

        /// Reads an initialization segment, and asks for the keys that it names.
        ///
        /// - Parameters:
        ///   - initialization: the initialization segment.
        ///   - shift: the ticks of 90 kHz that are added to the times of its media.
        ///   - source: who has the keys.
        /// - Throws: `missingKey`, `refusedKey`, `unsupported`; `Malformed`.
        package init(initialization: [UInt8], shift: Int64 = 0, keys source: some ContentKeySource) async throws {
            let file = try MP4File(BytesReader(initialization))
            var keys = ContentKeys()
            for track in file.tracks {
                for id in try file.keyIDs(of: track) { try await keys.resolve(id, track: track.id, from: source) }
            }
            self.init(tracks: file.tracks, keys: keys, shift: shift)
        }

        package init(tracks: [MP4Track], keys: ContentKeys = ContentKeys(), shift: Int64 = 0) {
            self.tracks = tracks
            self.keys = keys
            self.shift = shift
        }
    }

    /// A stream on its way: a class, because arrays hold nothing that cannot be copied.
    private final class Reader {
        var fragments: ClearFragments
        let shift: Int64
        /// The position of its first track among those of all streams.
        let firstTrack: Int
        var pending: (track: Int, sample: MP4Sample, range: Range<Int>)?
        var isEnded = false

        init(_ stream: Stream, firstTrack: Int) {
            fragments = ClearFragments(tracks: stream.tracks, keys: stream.keys)
            shift = stream.shift
            self.firstTrack = firstTrack
        }

        /// When the next sample is decoded, in seconds.
        var time: Double {
            guard let pending else { return .infinity }
            let timescale = Double(max(1, fragments.tracks[pending.track].timescale))
            return Double(pending.sample.decodeTime) / timescale + Double(shift) / 90_000
        }
    }

    private let readers: [Reader]
    private let number: Int
    private let hasTags: Bool
    private var tags = TimedTags()
    private var remuxer: TransportRemuxer?

    /// The tracks that a transport stream cannot hold, each with the reason; none before the first sample.
    package private(set) var omitted: [String] = []

    /// Packets that are written together.
    private static let blockLength = 512 << 10

    /// - Parameters:
    ///   - streams: at least one, each with its tracks.
    ///   - number: of the segment, by which the counters of its tables go on from those of the segment before.
    ///   - hasTimedID3: whether the program has a stream of timed ID3 tags in every segment; without it, such a stream comes with the
    ///     first event message that has a tag.
    package init(_ streams: [Stream], number: Int = 0, hasTimedID3: Bool = false) {
        self.number = number
        hasTags = hasTimedID3
        var first = 0
        var readers: [Reader] = []
        for stream in streams {
            readers.append(Reader(stream, firstTrack: first))
            first += stream.tracks.count
        }
        self.readers = readers
    }

    /// Adds a piece of a stream.
    package mutating func append(_ piece: RawSpan, to stream: Int) { readers[stream].fragments.append(piece) }

    /// Says that no piece of a stream follows.
    package mutating func end(_ stream: Int) {
        readers[stream].isEnded = true
        readers[stream].fragments.end()
    }

    /// Writes what the pieces so far give.
    ///
    /// - Parameters:
    ///   - sink: gets packets.
    ///   - source: who has the keys.
    /// - Returns: the stream of which the next piece is needed; nil when all have ended and everything is written.
    /// - Throws: `missingKey`, `refusedKey`, `wrongKey`, `unsupported`, `Malformed`; what the sink throws.
    package mutating func write(to sink: inout some MediaSink, keys source: some ContentKeySource) async throws -> Int? {
        while true {
            for i in readers.indices where readers[i].pending == nil {
                guard try await findSample(readers[i], source) || readers[i].isEnded else {
                    try flush(to: &sink)
                    return i
                }
            }
            guard let next = readers.indices.min(by: { readers[$0].time < readers[$1].time }), readers[next].pending != nil else {
                try remuxer?.write(&tags, upTo: .max)
                for fault in tags.faults where !omitted.contains(fault) { omitted.append(fault) }
                remuxer?.endAlignedSegment()
                try flush(to: &sink)
                return nil
            }
            if remuxer == nil { try begin() }
            try take(readers[next])
            if let count = remuxer?.packets.count, count >= Self.blockLength { try flush(to: &sink) }
        }
    }

    /// Goes to the next sample of a stream; false when its bytes have to go on first, or it has ended.
    private mutating func findSample(_ reader: Reader, _ source: some ContentKeySource) async throws -> Bool {
        while let event = try reader.fragments.next() {
            switch event {
            case .movie, .fragment: try await reader.fragments.resolveKeys(from: source)
            case .sample(let track, let sample, let range):
                reader.pending = (track, sample, range)
                return true
            case .box("emsg", let range):
                let box = [UInt8](copying: reader.fragments.bytes.extracting(range))
                try tags.add(box.rawSpan)
            case .box, .data: break
            }
        }
        return false
    }

    private mutating func begin() throws {
        var tracks: [MP4Track] = []
        var shifts: [Int64] = []
        var delays: [UInt32: Int64] = [:]
        for reader in readers {
            try PresentedParts.refuseSeveral(reader.fragments.tracks)
            for track in reader.fragments.tracks {
                tracks.append(track)
                shifts.append(reader.shift)
                guard track.kind == "vide", let least = reader.fragments.leastComposition[track.id] else { continue }
                delays[track.id] = FragmentRemux.delay(of: track, least)
            }
        }
        var made = try TransportRemuxer(tracks, delays: delays, shifts: shifts)
        omitted = made.omitted
        if hasTags || !tags.isEmpty { try made.addTimedTags() }
        // once in a segment, so that their counters go on from one to the next
        made.repeatsTables = false
        made.beginSegment(behind: number)
        remuxer = consume made
    }

    private mutating func take(_ reader: Reader) throws {
        if let (track, sample, _) = reader.pending, remuxer?.takes(reader.firstTrack + track) == true {
            try remuxer?.write(&tags, before: sample, reader.firstTrack + track, shift: reader.shift)
        }
        guard let (track, sample, range) = reader.pending, var remuxer = remuxer.take() else { return }
        reader.pending = nil
        let place = reader.firstTrack + track
        var fault: Malformed?
        if remuxer.takes(place) {
            do throws(Malformed) {
                try reader.fragments.withBytes { bytes throws(Malformed) in
                    try remuxer.write(sample, of: place, &bytes, in: range)
                }
            } catch {
                fault = error
            }
        }
        self.remuxer = consume remuxer
        guard let fault else { return }
        guard reader.fragments.isProtected(track) else {
            throw Malformed(fault.what, at: Int(clamping: sample.offset) + fault.offset)
        }
        throw MediaError(
            .wrongKey,
            "track \(reader.fragments.tracks[track].id): \(fault.what) behind the decryption: the key is another, or the stream is damaged"
        )
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
