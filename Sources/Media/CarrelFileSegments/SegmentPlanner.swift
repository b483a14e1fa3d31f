// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

/// Divides a file into segments: reads the tables of its movie, and the index or the headers of its fragments, once.
struct SegmentPlanner {
    /// The samples of a track in a segment of listed samples.
    struct Part: Sendable {
        var segment: Int
        var position: MP4SamplePosition
        var count: Int
    }

    /// The place of a segment of fragments.
    struct Stretch: Sendable {
        var range: Range<Int64>
        /// The start times of the samples of each track, if the fragments do not declare them.
        var times: [Int64]
    }

    /// A sync sample of the leading track.
    struct SyncSample: Sendable {
        var time: Int64
        var segment: Int
        /// Its index among the track's samples in the segment; for fragments, among the samples after `offset`.
        var ordinal: Int
        /// The first byte of its fragment; 0 of listed samples.
        var offset: Int64
    }

    let reader: any ByteReader & Sendable
    let tracks: [MP4Track]
    let clocks: [TrackClock]
    /// The track whose samples determine the boundaries: video, if there is any.
    let leading: Int
    private let protected: [Bool]
    private var cuts: SegmentCuts

    /// When each segment begins, in ticks.
    private(set) var starts: [Int64] = []
    /// The bytes of each as a transport stream, about.
    private(set) var bytes: [Int64] = []
    /// The parts with samples, by track, in segment order.
    private(set) var parts: [[Part]]
    /// The segments after the listed ones.
    private(set) var stretches: [Stretch] = []
    private(set) var syncSamples: [SyncSample] = []
    /// When the last sample's presentation ends.
    private(set) var end: Int64 = 0

    /// The least composition offset of the listed pictures of each track, 0 at most, in its units.
    private(set) var leastOffsets: [Int64]

    /// When the listed samples of each track end, in its units.
    private var ends: [Int64]
    /// When the samples of the leading track end, in ticks.
    private var leadingEnd = Int64.min

    /// Samples that are walked through, at most: two days of a movie.
    static let sampleLimit = 1 << 23
    /// Parts of all tracks, at most: each holds the place of a sample in all tables.
    static let partLimit = 1 << 16
    /// Sync samples that are listed, at most.
    static let syncLimit = 1 << 18
    /// Box types of a fragmented file that may occur without following fragments.
    private static let headerTypes: Set<FourCC> = ["moof", "styp", "sidx", "emsg", "prft"]

    init(
        _ tracks: [MP4Track],
        in reader: any ByteReader & Sendable,
        protected: Set<UInt32>,
        interval: Int64
    ) {
        self.reader = reader
        self.tracks = tracks
        self.protected = tracks.map { protected.contains($0.id) }
        clocks = tracks.map { TrackClock($0) }
        leading = tracks.firstIndex { $0.kind == "vide" } ?? tracks.firstIndex { $0.kind == "soun" } ?? 0
        cuts = SegmentCuts(interval: interval)
        parts = [[Part]](repeating: [], count: tracks.count)
        ends = [Int64](repeating: 0, count: tracks.count)
        leastOffsets = ends
    }

    private mutating func begin(at time: Int64) throws(MediaError) {
        guard starts.count < SegmentCuts.limit else {
            throw MediaError(.unsupported, "the file has more than \(SegmentCuts.limit) segments of this duration")
        }
        guard time.magnitude < 1 << 60 else { throw MediaError(.malformed, "the time of a segment is out of range") }
        starts.append(time)
        bytes.append(0)
    }

    // MARK: - Listed samples

    /// Cuts the samples that the movie lists.
    mutating func planListed() throws {
        let total = tracks.reduce(0) { $0 &+ $1.listedSampleCount }
        guard total > 0 else { return }
        guard total <= Self.sampleLimit else {
            throw MediaError(.unsupported, "the file has more than \(Self.sampleLimit) samples")
        }
        try walk(leading)
        for track in tracks.indices where track != leading { try walk(track) }
    }

    /// Walks the samples of a track: boundaries follow the leading track's samples and, after its end, another track's.
    private mutating func walk(_ index: Int) throws {
        let track = tracks[index]
        let clock = clocks[index]
        let isPicture = track.kind == "vide"
        var samples = MP4Samples(of: track, in: reader, from: nil)
        var trackParts: [Part] = []
        // the segment of the samples
        var segment = -1
        let room = Self.partLimit - parts.reduce(0) { $0 + $1.count }
        while true {
            let position = samples.position
            guard let sample = try samples.next() else { break }
            if protected[index], sample.entry < track.entries.count {
                try samples.skipEncryption(track.entries[sample.entry].encryption)
            }
            let time = clock.presentation(sample.decodeTime &+ sample.compositionOffset)
            let allowed = sample.isSync || !isPicture
            // all that comes before the first cut belongs to the first segment
            while segment + 1 < starts.count, segment < 0 || allowed && time >= starts[segment + 1] { segment += 1 }
            let mayCut = index == leading || leadingEnd == .min || time >= leadingEnd &+ cuts.interval
            if segment + 1 == starts.count, mayCut, cuts.isCut(at: time, allowed: allowed) {
                try begin(at: time)
                segment += 1
            }
            if trackParts.last?.segment != segment {
                guard trackParts.count < room else {
                    throw MediaError(
                        .unsupported,
                        "the tracks of the file have more than \(Self.partLimit) segments of this duration"
                    )
                }
                trackParts.append(Part(segment: segment, position: position, count: 0))
            }
            let last = trackParts.count - 1
            if index == leading, isPicture, sample.isSync, syncSamples.count < Self.syncLimit {
                syncSamples.append(SyncSample(time: time, segment: segment, ordinal: trackParts[last].count, offset: 0))
            }
            trackParts[last].count += 1
            bytes[segment] += Self.transportBytes(of: sample, track)
            ends[index] = sample.decodeTime &+ sample.duration
            if isPicture { leastOffsets[index] = min(leastOffsets[index], sample.compositionOffset) }
            let presented = clock.presentation(sample.decodeTime &+ sample.compositionOffset &+ sample.duration)
            end = max(end, presented)
            if index == leading { leadingEnd = max(leadingEnd, presented) }
        }
        parts[index] = trackParts
    }

    /// The bytes that a sample takes in packets, at most about.
    private static func transportBytes(of sample: MP4Sample, _ track: MP4Track) -> Int64 {
        // pictures begin a packet of their own, with a header, a delimiter and parameter sets; audio frames share theirs
        let size = Int64(sample.size)
        if track.kind == "vide" { return (size + (sample.isSync ? 900 : 220)) / 184 * 188 + 188 }
        return (size + 60) * 188 / 184
    }

    /// The part of a segment; nil if the track has no sample in it.
    static func part(of segment: Int, in parts: [Part]) -> Part? {
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = low + (high - low) / 2
            if parts[middle].segment < segment { low = middle + 1 } else { high = middle }
        }
        return low < parts.count && parts[low].segment == segment ? parts[low] : nil
    }

    // MARK: - Fragments

    /// Cuts the fragments of a file.
    mutating func planFragments(_ file: MP4File) throws {
        guard file.isFragmented else { return }
        if let references = try index(of: file), let scale = Int64(exactly: references.timescale) {
            let ignoresFlags = !references.subsegments.contains(where: \.startsWithSync)
            for subsegment in references.subsegments {
                let time = clocks[leading].presentation(subsegment.time, timescale: scale)
                let isSync = subsegment.startsWithSync || ignoresFlags
                let times = tracks.map { Self.scaled(subsegment.time, from: scale, to: $0.timescale) }
                try add(subsegment.range, time, isSync: isSync, times: times)
                end = max(end, clocks[leading].presentation(subsegment.time + subsegment.duration, timescale: scale))
            }
            return
        }
        if file.hasIndexedFragments, try planRandomAccess(file) { return }
        try planHeaders(file.hasIndexedFragments ? MP4File(reader).fragments : file.fragments)
    }

    private static func scaled(_ time: Int64, from scale: Int64, to other: Int) -> Int64 {
        let (seconds, remainder) = time.quotientAndRemainder(dividingBy: scale)
        return seconds &* Int64(other) &+ remainder &* Int64(other) / scale
    }

    private mutating func add(_ range: Range<Int64>, _ time: Int64, isSync: Bool, times: [Int64]) throws {
        if cuts.isCut(at: time, allowed: isSync) {
            try begin(at: time)
            stretches.append(Stretch(range: range, times: times))
        } else if stretches.isEmpty {
            // after listed samples
            try begin(at: max(time, starts.last ?? time))
            stretches.append(Stretch(range: range, times: times))
        }
        let last = stretches.count - 1
        stretches[last].range = stretches[last].range.lowerBound..<max(range.upperBound, stretches[last].range.upperBound)
        bytes[starts.count - 1] += Int64(range.count) + Int64(range.count) / 12 + 4096
        if isSync, tracks[leading].kind == "vide", syncSamples.count < Self.syncLimit {
            syncSamples.append(
                SyncSample(time: time, segment: starts.count - 1, ordinal: 0, offset: range.lowerBound)
            )
        }
    }

    /// The index of the file, if it lists all fragments.
    private func index(of file: MP4File) throws -> SegmentReferences? {
        let names = [tracks[leading].id] + tracks.map(\.id)
        guard !file.indexes.isEmpty, let references = try SegmentReferences(file.indexes, of: names, in: reader),
            let first = references.subsegments.first, let last = references.subsegments.last, let fragment = file.fragments.first
        else { return nil }
        guard first.range.lowerBound <= fragment.start else { return nil }
        if !file.hasIndexedFragments {
            return (file.fragments.last?.start ?? 0) < last.range.upperBound ? references : nil
        }
        // no fragment follows it
        var window = FileWindow(reader)
        var at = last.range.upperBound
        for _ in 0..<16 {
            guard reader.length - at >= 8 else { break }
            let box = try MP4Box(&window, at: at, in: 0..<reader.length)
            if Self.headerTypes.contains(box.type) { return nil }
            at = box.content.upperBound
        }
        return references
    }

    /// Cuts by the table at the end of the file; false if it has none for the leading track.
    private mutating func planRandomAccess(_ file: MP4File) throws -> Bool {
        guard let table = try FragmentRandomAccess(reader, track: tracks[leading].id), let first = file.fragments.first else {
            return false
        }
        var points: [(offset: Int64, time: Int64)] = []
        for entry in table.entries where entry.isFirst && entry.fragment > points.last?.offset ?? -1 {
            points.append((entry.fragment, Int64(entry.time)))
        }
        guard let start = points.first, start.offset == first.start else { return false }
        let scale = tracks[leading].timescale
        for (number, point) in points.enumerated() {
            let next = number + 1 < points.count ? points[number + 1].offset : reader.length
            let times = tracks.map { Self.scaled(point.time, from: Int64(scale), to: $0.timescale) }
            try add(point.offset..<next, clocks[leading].presentation(point.time), isSync: true, times: times)
        }
        guard let last = stretches.last else { return false }
        var survey = FragmentSurvey(tracks, in: reader, from: last.times)
        for box in try Self.fragments(in: last.range, of: reader) { try look(&survey, box) }
        return true
    }

    /// Cuts at fragments by their headers.
    private mutating func planHeaders(_ fragments: [MP4Box]) throws {
        var survey = FragmentSurvey(tracks, in: reader, from: ends)
        for (number, box) in fragments.enumerated() {
            let times = survey.ends
            let before = leadingEnd
            let fragmentParts = try look(&survey, box)
            let next = number + 1 < fragments.count ? fragments[number + 1].start : reader.length
            let range = box.start..<next
            if let part = fragmentParts[leading] {
                let time = clocks[leading].presentation(part.first.decodeTime &+ part.first.compositionOffset)
                try add(range, time, isSync: part.first.isSync || tracks[leading].kind != "vide", times: times)
            } else if let other = fragmentParts.indices.first(where: { fragmentParts[$0] != nil }),
                let part = fragmentParts[other]
            {
                let time = clocks[other].presentation(part.first.decodeTime &+ part.first.compositionOffset)
                let isBehind = before > .min && time >= before &+ cuts.interval
                let isFirst = stretches.isEmpty
                try add(range, time, isSync: isBehind || isFirst, times: times)
                // without a picture
                if syncSamples.last?.offset == box.start { syncSamples.removeLast() }
            } else if !stretches.isEmpty {
                let last = stretches.count - 1
                stretches[last].range = stretches[last].range.lowerBound..<next
            }
        }
    }

    @discardableResult
    private mutating func look(_ survey: inout FragmentSurvey, _ box: MP4Box) throws -> [FragmentSurvey.Part?] {
        let fragmentParts = try survey.read(box, limit: Self.sampleLimit)
        for (track, part) in fragmentParts.enumerated() {
            guard let part else { continue }
            let presented = clocks[track].presentation(part.presentedEnd)
            end = max(end, presented)
            if track == leading { leadingEnd = max(leadingEnd, presented) }
        }
        return fragmentParts
    }

    /// The headers of the fragments in a range of a file.
    ///
    /// - Parameters:
    ///   - range: the range.
    ///   - reader: the file.
    ///   - isFirst: whether the first one is enough.
    /// - Returns: the `moof` boxes in order.
    /// - Throws: `Malformed` if the range does not hold whole boxes, the first of which belongs to a fragment.
    static func fragments(in range: Range<Int64>, of reader: any ByteReader, first isFirst: Bool = false) throws -> [MP4Box] {
        var boxes: [MP4Box] = []
        var window = FileWindow(reader)
        var at = range.lowerBound
        var count = 0
        while range.upperBound - at >= 8 {
            let box = try MP4Box(&window, at: at, in: range)
            count += 1
            guard !box.isCut || range.upperBound == reader.length, at > range.lowerBound || headerTypes.contains(box.type) else {
                throw Malformed("an index leads to no fragment", at: Int(at))
            }
            guard count <= MP4Box.limit else { throw Malformed("too many boxes", at: Int(at)) }
            if box.type == "moof", !box.isCut { boxes.append(box) }
            if isFirst, !boxes.isEmpty { break }
            at = box.content.upperBound
        }
        return boxes
    }
}
