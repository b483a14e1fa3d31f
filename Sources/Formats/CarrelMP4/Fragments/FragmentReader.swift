// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads a fragmented file, or an initialization segment and media segments, in pieces of any size as they arrive (ISO/IEC
/// 14496-12 §8.8, §8.16).
///
/// The events cover all bytes exactly once and in order, so that they can form a copy. Samples come in file order. Memory is one
/// fragment header and one sample, both limited, whatever the length of the fragment.
///
/// ```swift
/// reader.append(piece)
/// while let event = try reader.next() { … }
/// ```
package struct FragmentReader {
    /// The next part of the stream. Ranges are positions in `bytes`, true until the next call of a mutating method.
    package enum Event: Sendable {
        /// A movie: `tracks` and `systems` are known from here on.
        case movie(Range<Int>)
        /// The header of a fragment; `systems` then also has the fragment's protection systems.
        case fragment(Range<Int>)
        /// Another whole box: `ftyp`, `styp`, `sidx`, `emsg`, …
        case box(FourCC, Range<Int>)
        /// One sample of the track at that index in `tracks`; `encryption` has its encryption parameters.
        case sample(track: Int, MP4Sample, Range<Int>)
        /// Bytes that belong to no sample: the header of media data, gaps, or a box too large to buffer.
        case data(Range<Int>)
    }

    /// Bytes of a sample, at most.
    package static let sampleLimit = 12 << 20
    /// Bytes of the header of a fragment, at most.
    package static let headerLimit = 8 << 20
    /// Bytes of a movie, at most.
    package static let movieLimit = 8 << 20
    /// Maximum size of other boxes that are buffered.
    private static let boxLimit = 1 << 20

    /// The tracks of the movie; none before it.
    package private(set) var tracks: [MP4Track]
    /// The protection systems of the movie and of the last fragment.
    package private(set) var systems: [ProtectionSystemHeader] = []
    /// The keys that the last movie or fragment names, with the track of each.
    package private(set) var keyIDs: [(track: UInt32, id: KeyID)] = []
    /// The least composition offset of each track in the last fragment, at most 0, if its offsets are signed, in units of the
    /// track's timescale; for a long fragment, of its first samples.
    package private(set) var leastComposition: [UInt32: Int64] = [:]
    /// The composition offset of the first sample of each track in the last fragment, in units of its time scale.
    package private(set) var firstComposition: [UInt32: Int64] = [:]
    /// How the sample of the last event is encrypted.
    package private(set) var encryption = SampleEncryption()

    private var buffer: [UInt8] = []
    private var start = 0
    private var longestPiece = 0
    /// The offset in the stream of the byte at `start`.
    private var position: Int64 = 0
    /// The end of the box whose bytes pass through; nil before a header.
    private var dataEnd: Int64?
    /// Whether that box extends to the end of the stream.
    private var isOpen = false
    private var isMediaData = false
    private var isEnded = false
    /// The tracks of the fragment on their way, and the next sample of each.
    private var walks: [Walk] = []
    private var window = FileWindow(BytesReader([]))
    /// When the samples of each track end.
    private var ends: [UInt32: Int64] = [:]

    /// The entries of `keyIDs`.
    private var seen: Set<NamedKey> = []
    /// The offset in the stream of the movie or the fragment that `window` reads.
    private var windowOffset: Int64 = -1

    private struct NamedKey: Hashable {
        var track: UInt32
        var id: KeyID
    }

    private struct Walk {
        var track: Int
        /// Remaining parts of the fragment; parts of one track are consecutive.
        var parts: [TrackFragment]
        var samples: TrackFragmentSamples
        var next: MP4Sample?

        /// Goes to the next sample; `end` is when the samples before it end.
        mutating func advance(_ end: inout Int64, _ window: inout FileWindow) throws {
            next = try samples.next(&window)
            while next == nil, !parts.isEmpty {
                samples = TrackFragmentSamples(parts.removeFirst(), from: end)
                next = try samples.next(&window)
            }
            if let next { end = next.decodeTime &+ next.duration }
        }
    }

    /// - Parameter tracks: the tracks of the movie, when it was read before; none if it comes with the stream.
    package init(tracks: [MP4Track] = []) {
        self.tracks = tracks
    }

    /// Number of bytes that were appended but not consumed.
    private var available: Int { buffer.count - start }

    /// Adds a piece of the stream.
    package mutating func append(_ piece: RawSpan) {
        makeRoom()
        longestPiece = max(longestPiece, piece.byteCount)
        buffer.append(copying: piece)
    }

    /// Adds a piece of the stream that `body` writes.
    ///
    /// - Parameters:
    ///   - count: maximum number of bytes written.
    ///   - body: appends to its span.
    /// - Throws: the errors of `body`.
    package mutating func append<Failure: Error>(
        addingCapacity count: Int,
        _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        makeRoom()
        longestPiece = max(longestPiece, count)
        try buffer.append(addingCapacity: count, initializingWith: body)
    }

    /// Drops consumed bytes, if there are many.
    private mutating func makeRoom() {
        guard start > 0, start >= buffer.count / 2 else { return }
        buffer.removeSubrange(0..<start)
        start = 0
    }

    /// Makes room for `count` bytes from `start` on, and for the piece with the last of them: a buffer that grows on demand would
    /// take twice as much as it needs.
    private mutating func makeRoom(for count: Int) {
        if start > 0 {
            buffer.removeSubrange(0..<start)
            start = 0
        }
        buffer.reserveCapacity(count + longestPiece)
    }

    /// Says that no piece follows.
    package mutating func end() { isEnded = true }

    /// The bytes of an event.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get { buffer.rawSpan }
    }

    /// Lends the bytes for in-place decryption of a sample.
    package mutating func withBytes<Result, Failure: Error>(
        _ body: (inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var elements = buffer.mutableSpan
        var bytes = unsafe elements.mutableBytes
        return try body(&bytes)
    }

    /// The next event; nil if the stream needs more data, or has ended.
    ///
    /// - Throws: `Malformed` if the stream does not consist of fragments, or is damaged; `missing` bytes at its end are damage
    ///   too.
    package mutating func next() throws -> Event? {
        while true {
            if let dataEnd {
                if let event = try nextData(until: dataEnd) { return event }
                if isOpen, isEnded, available == 0 { return try finish() }
                guard position == dataEnd else { return try starve("media data") }
                self.dataEnd = nil
            }
            guard available > 0 else { return isEnded ? try finish() : nil }
            guard let event = try nextBox() else { return dataEnd == nil ? try starve("a box") : nil }
            return event
        }
    }

    private func starve(_ what: StaticString) throws -> Event? {
        guard isEnded else { return nil }
        throw Malformed("stream is cut off inside \(what)", at: Int(clamping: position))
    }

    private func finish() throws -> Event? {
        if let walk = walks.first(where: { $0.next != nil }), let sample = walk.next {
            throw Malformed("stream ends before a sample", at: Int(clamping: sample.offset))
        }
        return nil
    }

    /// Consumes `count` bytes.
    private mutating func take(_ count: Int) -> Range<Int> {
        let range = start..<start + count
        start += count
        position += Int64(count)
        return range
    }

    // MARK: - Boxes

    private mutating func nextBox() throws -> Event? {
        guard available >= 8 else { return nil }
        var header = 8
        var size = UInt64(buffer.rawSpan.u32(at: start))
        let type = FourCC(buffer.rawSpan.u32(at: start + 4))
        if size == 1 {
            guard available >= 16 else { return nil }
            size = buffer.rawSpan.u64(at: start + 8)
            header = 16
        }
        let goesOn = size == 0
        if goesOn { size = UInt64(Int64.max - position) }
        guard size >= UInt64(header) else {
            throw Malformed("box \(type) is smaller than its header", at: Int(clamping: position))
        }
        guard size <= UInt64(Int64.max - position) else {
            throw Malformed("box \(type) reaches past any stream", at: Int(clamping: position))
        }
        let limit =
            switch type {
            case "moov": Self.movieLimit
            case "moof": Self.headerLimit
            default: Self.boxLimit
            }
        if type == "mdat" || size > UInt64(limit) {
            guard type != "moov", type != "moof" else {
                let length = goesOn ? "up to the end" : "of \(size) bytes"
                throw Malformed("box \(type) \(length) is longer than \(limit)", at: Int(clamping: position))
            }
            isOpen = goesOn
            dataEnd = position + Int64(size)
            isMediaData = type == "mdat"
            return .data(take(header))
        }
        guard available >= Int(size) else {
            if size > 1 << 16 { makeRoom(for: Int(size)) }
            return nil
        }
        let offset = position
        let range = take(Int(size))
        switch type {
        case "moov":
            try readMovie(range, at: offset)
            return .movie(range)
        case "moof":
            try readFragment(range, at: offset)
            return .fragment(range)
        default: return .box(type, range)
        }
    }

    private mutating func readMovie(_ range: Range<Int>, at offset: Int64) throws {
        window = FileWindow(PlacedBytes(start: offset, bytes: Array(buffer[range])))
        windowOffset = offset
        let box = try MP4Box(&window, at: offset, in: offset..<offset + Int64(range.count))
        var movie = MovieReader(window)
        try movie.read(box.content)
        tracks = movie.tracks
        systems = movie.systems
        walks = []
        ends = [:]
        forgetKeys()
        for track in tracks {
            add(track.entries.compactMap(\.encryption), of: track.id)
            add(track.sampleGroups, of: track.id)
        }
    }

    private mutating func add(_ encryptions: [TrackEncryption], of track: UInt32) {
        for encryption in encryptions where encryption.isProtected && keyIDs.count < 65_536 {
            guard seen.insert(NamedKey(track: track, id: encryption.keyID)).inserted else { continue }
            keyIDs.append((track, encryption.keyID))
        }
    }

    private mutating func forgetKeys() {
        keyIDs = []
        seen = []
    }

    /// Makes a movie or a fragment header declare clear content (`ProtectionRemoval`).
    ///
    /// - Parameters:
    ///   - range: the range of a `movie`, `fragment` or `box` event.
    ///   - tracks: the tracks that are decrypted.
    /// - Throws: `Malformed` if a box in it is damaged.
    package mutating func removeProtection(in range: Range<Int>, tracks: Set<UInt32>) throws {
        let offset = position - Int64(start - range.lowerBound)
        // a copy of movies and fragments already exists
        var window = windowOffset == offset ? self.window : FileWindow(PlacedBytes(start: offset, bytes: Array(buffer[range])))
        let box = try MP4Box(&window, at: offset, in: offset..<offset + Int64(range.count))
        for patch in try ProtectionRemoval(of: box, tracks: tracks, &window).patches {
            let at = range.lowerBound + Int(patch.offset - offset)
            buffer.replaceSubrange(at..<at + patch.bytes.count, with: patch.bytes)
            let zeros = at + patch.bytes.count
            for i in zeros..<zeros + patch.zeros { buffer[i] = 0 }
        }
    }

    private mutating func readFragment(_ range: Range<Int>, at offset: Int64) throws {
        _ = try finish()
        guard !tracks.isEmpty else { throw Malformed("a fragment comes before its movie", at: Int(clamping: offset)) }
        walks = []
        forgetKeys()
        window = FileWindow(PlacedBytes(start: offset, bytes: Array(buffer[range])), capacity: 1 << 14)
        windowOffset = offset
        let box = try MP4Box(&window, at: offset, in: offset..<offset + Int64(range.count))
        leastComposition = [:]
        firstComposition = [:]
        for part in try TrackFragment.read(box, of: tracks, &window) {
            guard let track = tracks.firstIndex(where: { $0.id == part.trackID }) else { continue }
            add(part.auxiliary.groups.fragment, of: part.trackID)
            if let replacement = part.auxiliary.replacement { add([replacement], of: part.trackID) }
            if part.hasSignedCompositions {
                leastComposition[part.trackID] = min(try part.leastComposition(&window), leastComposition[part.trackID] ?? 0)
            }
            if let i = walks.firstIndex(where: { $0.track == track }) {
                walks[i].parts.append(part)
            } else {
                walks.append(Walk(track: track, parts: [part], samples: TrackFragmentSamples()))
            }
        }
        for i in walks.indices {
            let id = tracks[walks[i].track].id
            try walks[i].advance(&ends[id, default: 0], &window)
            firstComposition[id] = walks[i].next?.compositionOffset
        }
        var headers: [ProtectionSystemHeader] = []
        try MP4Box.forEach(in: box.content, &window) { box, window in
            guard box.type == "pssh", headers.count < 100, box.content.count <= 1 << 20 else { return }
            let content = try box.load(window.reader, limit: 1 << 20)
            if let system = ProtectionSystemHeader(box.type, content.rawSpan) { headers.append(system) }
        }
        if !headers.isEmpty { systems = headers }
    }

    // MARK: - Samples

    private mutating func nextData(until end: Int64) throws -> Event? {
        guard isMediaData, let index = nextWalk(), let sample = walks[index].next else {
            let count = Int(min(Int64(available), end - position))
            return count > 0 ? .data(take(count)) : nil
        }
        guard sample.offset >= position else { throw Malformed("samples overlap", at: Int(clamping: sample.offset)) }
        guard sample.offset < end || sample.size == 0 && sample.offset == end else {
            // in media data to come
            let count = Int(min(Int64(available), end - position))
            return count > 0 ? .data(take(count)) : nil
        }
        if sample.offset > position {
            let count = Int(min(Int64(available), sample.offset - position))
            return count > 0 ? .data(take(count)) : nil
        }
        guard Int64(sample.size) <= end - sample.offset else {
            throw Malformed("sample leaves its media data", at: Int(clamping: sample.offset))
        }
        guard sample.size <= Self.sampleLimit else {
            throw Malformed("sample of \(sample.size) bytes is longer than \(Self.sampleLimit)", at: Int(clamping: sample.offset))
        }
        guard available >= sample.size else {
            makeRoom(for: sample.size)
            return nil
        }
        let track = walks[index].track
        let entries = tracks[track].entries
        if sample.entry < entries.count, let defaults = entries[sample.entry].encryption {
            try readEncryption(defaults, index)
        } else {
            encryption = SampleEncryption()
        }
        try walks[index].advance(&ends[tracks[track].id, default: 0], &window)
        return .sample(track: track, sample, take(sample.size))
    }

    private mutating func readEncryption(_ defaults: TrackEncryption, _ walk: Int) throws {
        do {
            try walks[walk].samples.readEncryption(defaults, into: &encryption, &window)
        } catch let error as Malformed where Int64(error.offset) >= window.reader.length {
            throw Malformed(
                "\(error.what): it lies outside the header of its fragment, which only a whole file can have",
                at: error.offset
            )
        }
    }

    /// The track with the next sample in stream order.
    private func nextWalk() -> Int? {
        var first: Int?
        for i in walks.indices {
            guard let sample = walks[i].next else { continue }
            if let other = first, let offset = walks[other].next?.offset, offset <= sample.offset { continue }
            first = i
        }
        return first
    }
}
