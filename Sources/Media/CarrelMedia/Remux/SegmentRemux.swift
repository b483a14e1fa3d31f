// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
import CarrelTS

/// Writes the fragments of one or more streams, such as a video and an audio stream, as one clear MPEG-2 transport stream, in
/// pieces of any size as they arrive.
///
/// Samples are written in decode order; samples of one stream in their order in the stream. Event messages with ID3 tags become
/// timed ID3 tags. Memory is one fragment header and one sample per stream, and 128 KiB of packets, whatever the length of the
/// segments.
///
/// ```swift
/// while let stream = try await remux.write(to: &output, keys: keys) {
///     if let piece = try await downloads[stream].next() { remux.append(piece.rawSpan, to: stream) } else { remux.end(stream) }
/// }
/// ```
package struct SegmentRemux: ~Copyable {
    /// One of the streams.
    package struct Stream: Sendable {
        /// The tracks of its initialization segment; empty if that is part of the stream, which must then be the only one.
        package var tracks: [MP4Track]
        /// Existing keys.
        package var keys: ContentKeys
        /// 90 kHz ticks added to the times of its media, so that the times of all streams have the same origin.
        package var shift: Int64

        /// Reads an initialization segment and requests the keys that it names.
        ///
        /// - Parameters:
        ///   - initialization: the initialization segment.
        ///   - shift: 90 kHz ticks added to the times of its media.
        ///   - source: the key source.
        /// - Throws: `missingKey`, `refusedKey`, `unsupported`; `Malformed`.
        package init(initialization: [UInt8], shift: Int64 = 0, keys source: some ContentKeySource) async throws {
            let file = try MP4File(BytesReader(initialization))
            var keys = ContentKeys()
            for track in file.tracks {
                for id in try file.keyIDs(of: track) { try await keys.resolve(id, track: track.id, from: source) }
            }
            try keys.checkPictures(file.tracks)
            self.init(tracks: file.tracks, keys: keys, shift: shift)
        }

        package init(tracks: [MP4Track] = [], keys: ContentKeys = ContentKeys(), shift: Int64 = 0) {
            self.tracks = tracks
            self.keys = keys
            self.shift = shift
        }
    }

    /// A stream on its way: a class, because arrays hold nothing that cannot be copied.
    private final class Reader {
        var fragments: ClearFragments
        let shift: Int64
        /// The index of its first track among the tracks of all streams.
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
    private let number: Int?
    private let hasTags: Bool
    private let reserved: UInt16
    private var tags = TimedTags()
    private var remuxer: TransportRemuxer?
    /// Bytes of the packets that were taken.
    private var takenCount = 0
    private var isFinished = false

    /// The next thing that a caller of ``advance(keys:)`` does.
    package enum Step: Sendable, Hashable {
        /// Takes packets.
        case packets
        /// Appends a piece of this stream.
        case stream(Int)
        /// Nothing: all is written.
        case finished
    }

    /// The tracks that a transport stream cannot hold, each with the reason; none before the first sample.
    package private(set) var omitted: [String] = []

    /// Packets that are written together.
    private static let blockLength = 128 << 10

    /// - Parameters:
    ///   - streams: at least one, each with its tracks.
    ///   - number: the number of a segment that players join to others: the continuity counters of its tables continue from the
    ///     previous segment; nil for a whole stream, whose tables repeat.
    ///   - hasTimedID3: whether the program has a stream of timed ID3 tags in every segment; otherwise the stream is added with
    ///     the first event message that has a tag.
    ///   - reserved: packet identifiers that are left for streams that precede these in other segments.
    package init(_ streams: [Stream], number: Int? = nil, hasTimedID3: Bool = false, reserved: UInt16 = 0) {
        self.number = number
        self.reserved = reserved
        hasTags = hasTimedID3
        var first = 0
        var readers: [Reader] = []
        for stream in streams {
            readers.append(Reader(stream, firstTrack: first))
            first += stream.tracks.count
        }
        self.readers = readers
    }

    /// Changes the keys of a stream after a complete fragment.
    package mutating func use(_ keys: ContentKeys, for stream: Int = 0) throws(MediaError) {
        try readers[stream].fragments.use(keys)
    }

    /// Adds a piece of a stream.
    package mutating func append(_ piece: RawSpan, to stream: Int = 0) { readers[stream].fragments.append(piece) }

    /// Says that no piece of a stream follows.
    package mutating func end(_ stream: Int = 0) {
        readers[stream].isEnded = true
        readers[stream].fragments.end()
    }

    /// Writes the output of the pieces so far.
    ///
    /// - Parameters:
    ///   - sink: gets packets.
    ///   - source: the key source.
    /// - Returns: the stream whose next piece is needed; nil if all have ended and everything is written.
    /// - Throws: `missingKey`, `refusedKey`, `wrongKey`, `unsupported`, `Malformed`; the errors of the sink.
    @discardableResult
    package mutating func write(to sink: inout some MediaSink, keys source: some ContentKeySource) async throws -> Int? {
        while true {
            switch try await advance(keys: source) {
            case .packets: try flush(to: &sink)
            case .stream(let stream): return stream
            case .finished: return nil
            }
        }
    }

    /// Writes the output of the pieces so far, with existing keys.
    ///
    /// - Parameter sink: gets packets.
    /// - Returns: the stream whose next piece is needed; nil if all have ended and everything is written.
    /// - Throws: `missingKey`, `wrongKey`, `unsupported`, `Malformed`; the errors of the sink.
    @discardableResult
    package mutating func write(to sink: inout some MediaSink) throws -> Int? {
        while true {
            guard case .step(let step) = try need() else { continue }
            switch step {
            case .packets: try flush(to: &sink)
            case .stream(let stream): return stream
            case .finished: return nil
            }
        }
    }

    /// Makes packets of the pieces so far, until there are many.
    ///
    /// - Parameter source: the key source.
    /// - Returns: the next thing to do.
    /// - Throws: `missingKey`, `refusedKey`, `wrongKey`, `unsupported`, `Malformed`.
    package mutating func advance(keys source: some ContentKeySource) async throws -> Step {
        while true {
            switch try need() {
            case .keys(let stream): try await readers[stream].fragments.resolveKeys(from: source)
            case .step(let step): return step
            }
        }
    }

    /// Takes the next packets; a large picture is split, so that nothing holds it twice.
    ///
    /// - Parameter limit: maximum size in bytes.
    /// - Returns: the packets; empty if all were taken.
    package mutating func takePackets(_ limit: Int) -> [UInt8] {
        guard var remuxer = remuxer.take() else { return [] }
        let end = min(remuxer.packets.count, takenCount + limit)
        let piece = [UInt8](copying: remuxer.packets.bytes.extracting(takenCount..<end))
        takenCount = end
        if takenCount == remuxer.packets.count {
            remuxer.packets.removeAll()
            takenCount = 0
        }
        self.remuxer = consume remuxer
        return piece
    }

    /// The reason why no packets can be made yet.
    private enum Need {
        /// A movie or a fragment of a stream names keys.
        case keys(Int)
        case step(Step)
    }

    /// Makes packets until something is needed.
    private mutating func need() throws -> Need {
        while true {
            let packetCount = remuxer?.packets.count ?? 0
            if packetCount >= Self.blockLength { return .step(.packets) }
            for i in readers.indices where readers[i].pending == nil {
                guard try findSample(readers[i]) else { return .keys(i) }
                guard readers[i].pending != nil || readers[i].isEnded else {
                    return .step(packetCount > 0 ? .packets : .stream(i))
                }
            }
            guard let next = readers.indices.min(by: { readers[$0].time < readers[$1].time }), readers[next].pending != nil else {
                guard !isFinished else { return .step(packetCount > 0 ? .packets : .finished) }
                isFinished = true
                try remuxer?.write(&tags, upTo: .max)
                for fault in tags.faults where !omitted.contains(fault) { omitted.append(fault) }
                if number == nil { remuxer?.endSegment() } else { remuxer?.endAlignedSegment() }
                continue
            }
            if remuxer == nil { try begin() }
            try take(readers[next])
        }
    }

    /// Finds the next sample in the bytes of a stream; returns false if keys are named before it.
    private mutating func findSample(_ reader: Reader) throws -> Bool {
        while let event = try reader.fragments.next() {
            switch event {
            case .movie, .fragment: return false
            case .sample(let track, let sample, let range):
                reader.pending = (track, sample, range)
                return true
            case .box("emsg", let range):
                let box = [UInt8](copying: reader.fragments.bytes.extracting(range))
                try tags.add(box.rawSpan)
            case .box, .data: break
            }
        }
        return true
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
                guard track.kind == "vide" else { continue }
                delays[track.id] = DecodeDelay.ticks(
                    of: track,
                    firstComposition: reader.fragments.firstComposition[track.id] ?? 0,
                    leastComposition: reader.fragments.leastComposition[track.id] ?? 0
                )
            }
        }
        var newRemuxer = try TransportRemuxer(tracks, delays: delays, shifts: shifts, reserved: reserved)
        omitted = newRemuxer.omitted
        if hasTags || !tags.isEmpty { try newRemuxer.addTimedTags() }
        if let number {
            // tables once per segment, so that their counters continue in the next
            newRemuxer.repeatsTables = false
            newRemuxer.beginSegment(after: number)
        } else {
            newRemuxer.beginSegment()
        }
        remuxer = consume newRemuxer
    }

    private mutating func take(_ reader: Reader) throws {
        if let (track, sample, _) = reader.pending, remuxer?.takes(reader.firstTrack + track) == true {
            try remuxer?.write(&tags, before: sample, reader.firstTrack + track, shift: reader.shift)
        }
        guard let (track, sample, range) = reader.pending, var remuxer = remuxer.take() else { return }
        reader.pending = nil
        let index = reader.firstTrack + track
        var fault: Malformed?
        if remuxer.takes(index) {
            do throws(Malformed) {
                try reader.fragments.withBytes { bytes throws(Malformed) in
                    try remuxer.write(sample, of: index, &bytes, in: range)
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
