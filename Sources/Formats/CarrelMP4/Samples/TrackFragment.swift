// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// One track's part of a movie fragment (`traf`, ISO/IEC 14496-12 §8.8.6): its runs, its time, its protection.
struct TrackFragment {
    /// No track fragment has more runs: a run takes memory, and an empty one would take little of the file.
    private static let runLimit = 16_384
    /// No fragment has more runs in all.
    private static let totalRunLimit = 4 * runLimit
    /// No fragment describes more groups in all: each holds a key.
    private static let groupLimit = 65_536
    /// Maximum number of parts of a fragment, over all tracks.
    private static let limit = 1024

    var trackID: UInt32 = 0
    var runs: [FragmentRun] = []
    /// `tfdt`: when the first sample is decoded, in units of the track's time scale; nil if it is not declared.
    var baseTime: Int64?
    var auxiliary = AuxiliaryInformation()

    private var end: Int64 = 0

    /// Samples of all runs.
    private(set) var sampleCount = 0

    /// Reads a fragment.
    ///
    /// - Parameters:
    ///   - fragment: a `moof` box.
    ///   - tracks: the tracks of the movie; parts of others are passed over.
    ///   - window: reads the file.
    /// - Returns: the parts of those tracks, in order.
    /// - Throws: if a box is malformed or cannot be read.
    static func read(_ fragment: MP4Box, of tracks: [MP4Track], _ window: inout FileWindow) throws -> [TrackFragment] {
        var parts: [TrackFragment] = []
        var end = fragment.start
        var count = 0
        var runs = 0
        var groups = 0
        try MP4Box.forEach(in: fragment.content, &window) { box, window in
            guard box.type == "traf" else { return }
            count += 1
            guard count <= limit else { throw Malformed("fragment has too many tracks", at: Int(box.start)) }
            let part = try TrackFragment(box, of: tracks, fragmentStart: fragment.start, previousEnd: end, &window)
            end = part.end
            runs += part.runs.count
            guard runs <= totalRunLimit else { throw Malformed("fragment has too many runs", at: Int(box.start)) }
            groups += part.auxiliary.groups.fragment.count
            guard groups <= groupLimit else { throw Malformed("fragment describes too many groups", at: Int(box.start)) }
            if tracks.contains(where: { $0.id == part.trackID }), !part.runs.isEmpty { parts.append(part) }
        }
        return parts
    }

    private init(
        _ parent: MP4Box,
        of tracks: [MP4Track],
        fragmentStart: Int64,
        previousEnd: Int64,
        _ window: inout FileWindow
    ) throws {
        self.init()
        var part = self
        var base = previousEnd
        var defaults = FragmentDefaults()
        var isWanted = false
        part.end = previousEnd
        try MP4Box.forEach(in: parent.content, &window) { box, window in
            let at = box.content.lowerBound
            switch box.type {
            case "tfhd":
                let flags = try window.u32(at: at, "fragment header") & 0xff_ffff
                part.trackID = try window.u32(at: at + 4, "fragment header")
                if let track = tracks.first(where: { $0.id == part.trackID }) {
                    isWanted = true
                    defaults = track.fragmentDefaults
                    part.auxiliary.groups.movie = track.sampleGroups
                    part.auxiliary.groups.defaultIndex = track.auxiliary.groups.defaultIndex
                }
                base = try Self.readHeader(box, flags, base, fragmentStart, &defaults, &window)
                part.end = base
            case "tfdt":
                let long = try window.u8(at: at, "fragment decode time") == 1
                let time =
                    long
                    ? try window.u64(at: at + 4, "fragment decode time")
                    : UInt64(try window.u32(at: at + 4, "fragment decode time"))
                // leaves room to add offsets
                guard time < 1 << 62 else { throw Malformed("fragment decode time is out of range", at: Int(at)) }
                part.baseTime = Int64(time)
            case "trun":
                let run = try FragmentRun(box, base: base, previousEnd: part.end, defaults, &window)
                part.end = try run.dataEnd(&window)
                guard isWanted, run.count > 0 else { return }
                guard part.runs.count < Self.runLimit else { throw Malformed("fragment has too many runs", at: Int(box.start)) }
                part.runs.append(run)
                part.sampleCount += run.count
            case "sgpd" where isWanted:
                let content = try box.load(window.reader, limit: 1 << 22)
                if let groups = try SampleGroups.entries(content.rawSpan) {
                    part.auxiliary.groups.fragment = groups.entries
                    if groups.defaultIndex > 0 {
                        part.auxiliary.groups.defaultIndex = SampleGroups.fragmentBase | groups.defaultIndex
                    }
                }
            default:
                if isWanted { try part.auxiliary.read(box, base: base, &window) }
            }
        }
        self = part
    }

    private init() {}

    /// Whether composition offsets may be negative.
    var hasSignedCompositions: Bool { runs.contains(where: \.hasSignedCompositions) }

    /// The least composition offset of its first samples: as far as pictures are reordered.
    func leastComposition(_ window: inout FileWindow) throws -> Int64 {
        var least: Int64 = 0
        var remaining = 250
        for run in runs where run.hasSignedCompositions {
            for index in 0..<min(run.count, remaining) {
                least = min(least, try run.sample(index, offset: 0, decodeTime: 0, &window).compositionOffset)
            }
            remaining -= min(run.count, remaining)
            if remaining == 0 { break }
        }
        return least
    }

    /// Reads a fragment header, and returns the origin of its offsets.
    private static func readHeader(
        _ box: MP4Box,
        _ flags: UInt32,
        _ previousEnd: Int64,
        _ fragmentStart: Int64,
        _ defaults: inout FragmentDefaults,
        _ window: inout FileWindow
    ) throws -> Int64 {
        var base = previousEnd
        if flags & 0x2_0000 != 0 { base = fragmentStart }
        let at = box.content.lowerBound
        var field = at + 8
        if flags & 1 != 0 {
            let long = try window.u64(at: field, "fragment header")
            guard long < 1 << 62 else { throw Malformed("fragment lies past any file", at: Int(at)) }
            base = Int64(long)
            field += 8
        }
        if flags & 2 != 0 {
            defaults.entry = max(0, Int(try window.u32(at: field, "fragment header")) - 1)
            field += 4
        }
        if flags & 8 != 0 {
            defaults.duration = Int64(try window.u32(at: field, "fragment header"))
            field += 4
        }
        if flags & 16 != 0 {
            defaults.size = Int(try window.u32(at: field, "fragment header"))
            field += 4
        }
        if flags & 32 != 0 { defaults.flags = try window.u32(at: field, "fragment header") }
        return base
    }
}
