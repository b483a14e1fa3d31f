// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTimedText

/// One track of a package: its description, its times, and its random access points.
struct PackagedTrack {
    /// The sort of media.
    enum Kind: String {
        case video
        case audio
        case text

        init?(handler: String) {
            switch handler {
            case "vide": self = .video
            case "soun": self = .audio
            default: return nil
            }
        }
    }

    let kind: Kind
    let source: PackagingSource
    let track: MP4Track
    /// The description of its samples, clear.
    let entry: SampleEntry
    /// RFC 6381.
    let codecs: String
    /// The dynamic range of video; nil if not declared.
    let range: VideoRange?
    /// The timescale in the package: a multiple of the source's if that is too coarse for the ticks of hidden pictures.
    private(set) var timescale: Int64
    /// The silence before the track.
    private let delay: Int64
    /// The media time that is presented first.
    private let mediaStart: Int64
    /// Units of the package for each unit of the source.
    private var scale: Int64 = 1
    /// The duration of a hidden picture, in units of the package.
    private var tick: Int64 = 1
    /// The pictures that the edit list hides at the beginning.
    private var preroll: Preroll?
    /// Units of the source by which all samples are decoded before their declared time, so that no composition offset is
    /// negative.
    private var lead: Int64 = 0
    /// The presentation times of pictures that are only decoded, after the presented part; in units of the source, ascending.
    private var trail: [Int64] = []
    /// The end of presentation by the edit list, in units of the source; nil presents all.
    private let sourceEnd: Int64?

    /// Bytes of its samples.
    private(set) var byteCount: Int64 = 0
    /// Which samples are packaged, in decode order: from the first that decoding can begin with, to the last that is presented.
    private(set) var samples = 0..<0
    /// How many of them are presented.
    var sampleCount: Int { samples.count - (preroll?.count ?? 0) - trail.count }
    /// When the first sample is decoded; negative if that is before the presentation begins.
    private(set) var decodeStart: Int64 = .max
    /// Whether pictures follow a sync sample that are presented before it: they may need pictures before it.
    private(set) var hasLeadingPictures = false
    /// The end of the last sample's presentation.
    private(set) var end: Int64 = 0
    /// The presentation of its first sample.
    private(set) var start: Int64 = .max
    /// The presentation of each sync sample, of pictures only; in decode order.
    private(set) var syncs: [Int64] = []
    /// The part of its beginning that was left out; nil if nothing was.
    private(set) var warning: String?
    /// The longest duration of a sample.
    private(set) var longestSample: Int64 = 0

    /// Formats that are packaged.
    private static let formats: Set<FourCC> = [
        "avc1", "avc3", "hvc1", "hev1", "mp4a", ".mp3", "ms\0U", "ac-3", "ec-3", "fLaC", "Opus",
    ]

    /// Walks all samples of a track once.
    init(_ track: MP4Track, _ kind: Kind, of source: PackagingSource) throws {
        self.kind = kind
        self.source = source
        self.track = track
        guard track.timescale > 0 else { throw MediaError(.malformed, "track \(track.id) has no time scale") }
        timescale = Int64(track.timescale)
        entry = track.entries[0]
        guard Self.formats.contains(entry.format), let codecs = entry.codecString else {
            throw MediaError(.unsupported, "track \(track.id) is coded as \(entry.format), which is not packaged")
        }
        self.codecs = codecs
        range = kind == .video ? VideoRange(entry) : nil
        let first = try entry.clearBytes()
        for other in track.entries.dropFirst() where try other.clearBytes() != first {
            throw MediaError(.unsupported, "track \(track.id) changes its format")
        }
        (delay, mediaStart, sourceEnd) = try Self.presentation(of: track, timescale)
        try walk()
    }

    /// Seconds that a presentation lasts at most: half a year, so that no product of times and clocks overflows.
    private static let longest: Int64 = 1 << 24
    /// Units a second at least if pictures are hidden: as many as transport streams have.
    private static let finest: Int64 = 90_000

    /// The times of the edit list: silence at most, then one stretch of media.
    private static func presentation(of track: MP4Track, _ timescale: Int64) throws -> (Int64, Int64, Int64?) {
        var delay: Int64 = 0
        var edits = track.editList.edits[...]
        let movie = Int64(max(1, track.movieTimescale))
        let limit = timescale * longest
        let impossible = MediaError(.malformed, "track \(track.id) has an impossible edit")
        func units(_ duration: Int64) throws -> Int64 {
            let (product, overflow) = duration.multipliedReportingOverflow(by: timescale)
            guard duration >= 0, !overflow, product / movie < limit else { throw impossible }
            return product / movie
        }
        while let edit = edits.first, edit.mediaTime < 0 {
            delay += try units(edit.duration)
            guard delay < limit else { throw impossible }
            edits.removeFirst()
        }
        guard edits.count <= 1 else {
            throw MediaError(.unsupported, "track \(track.id) presents several stretches of its media (edit list)")
        }
        guard let edit = edits.first else { return (delay, 0, nil) }
        guard edit.mediaTime < limit else { throw impossible }
        let length = try units(edit.duration)
        return (delay, edit.mediaTime, length == 0 ? nil : delay + length)
    }

    /// Converts a sample to package times: relative to the beginning of the presentation, without negative composition offsets.
    ///
    /// - Parameters:
    ///   - sample: a sample of the source.
    ///   - index: its position in decode order.
    /// - Returns: the sample, in units of the package.
    func placed(_ sample: MP4Sample, at index: Int) -> MP4Sample {
        let presented = sample.decodeTime + sample.compositionOffset
        var (decode, presentation) =
            preroll?.times(of: sample, at: index, lead: lead, tick: tick) { $0 &* scale }
            ?? ((sample.decodeTime - lead - mediaStart) * scale, (presented - mediaStart) * scale)
        decode += delay * scale
        presentation += delay * scale
        if let sourceEnd, let place = trail.firstIndex(of: presented) {
            presentation = sourceEnd * scale + Int64(place) * tick
        }
        var placed = sample
        placed.decodeTime = decode
        placed.compositionOffset = presentation - decode
        placed.duration = sample.duration * scale
        if let preroll, (preroll.first..<preroll.end).contains(index) {
            // the next sample is decoded one tick later, and the first one after them at its own time
            placed.duration = index + 1 < preroll.end ? tick : tick + resumption
        }
        return placed
    }

    /// The time between the last hidden picture's decoding and the next one's, but for a tick.
    private var resumption: Int64 { preroll.map { max(0, $0.resumption(lead: lead) &* scale) } ?? 0 }

    /// Sums over the samples up to one.
    private struct Sums {
        var count = 0
        var bytes: Int64 = 0
        var longest: Int64 = 0
        var lead: Int64 = 0
        var trail: [Int64] = []
    }

    /// The tolerance of the edit clock, which is coarse: a picture that begins within its last tick is after the end.
    private func slack(_ sample: MP4Sample) -> Int64 {
        let tick = Int64(track.timescale) / Int64(max(1, track.movieTimescale))
        return kind == .video && sample.duration > 2 * tick ? tick : 0
    }

    /// Maximum number of pictures after the presented part that presented ones may need: twice a decoder's frame buffer.
    private static let trailLimit = 32

    /// Walks all samples once, and those at the beginning of an edit twice.
    ///
    /// Pictures before the first sync sample cannot be decoded. Samples that the edit list hides are left out, except for
    /// pictures that presented pictures may refer to, and the audio that a decoder needs to begin.
    private mutating func walk() throws {
        if kind == .video {
            preroll = try Preroll(source.file.samples(of: track), before: mediaStart, timescale: track.timescale)
            if preroll?.isEmpty == false { scale = max(1, (Self.finest + timescale - 1) / timescale) }
            tick = (timescale * scale + Preroll.rate - 1) / Preroll.rate
        }
        var reader = source.file.samples(of: track)
        let limit = timescale * Self.longest
        var sums = Sums()
        var kept = Sums()
        var skipped = 0
        var missing = 0
        var index = -1
        var sync: Int64?
        let hidesAudio = Preroll.hidesAudio(track, before: mediaStart)
        while let sample = try reader.next() {
            index += 1
            guard sample.entry < track.entries.count else {
                throw MediaError(.malformed, "track \(track.id) has no sample description \(sample.entry + 1)")
            }
            let presented = sample.decodeTime &+ sample.compositionOffset
            let time = presented &- mediaStart &+ delay
            guard sample.duration >= 0, sample.duration < limit, sample.decodeTime.magnitude < 2 * limit.magnitude,
                presented.magnitude < 2 * limit.magnitude, time.magnitude < limit.magnitude
            else {
                throw Malformed(
                    "a sample's time is out of range: a presentation lasts half a year at most",
                    at: Int(sample.offset)
                )
            }
            if let preroll, index < preroll.first {
                skipped += 1
                if time &+ sample.duration / 2 > delay { missing += 1 }
                continue
            }
            if hidesAudio, sums.count == 0, Preroll.isHidden(audio: sample, before: mediaStart) {
                skipped += 1
                continue
            }
            sums.count += 1
            sums.bytes += Int64(sample.size)
            sums.longest = max(sums.longest, sample.duration)
            sums.lead = max(sums.lead, -sample.compositionOffset)
            if kind == .video {
                if sample.isSync { sync = presented }
                if let sync, presented < sync { hasLeadingPictures = true }
            }
            if let sourceEnd, time >= sourceEnd - slack(sample) {
                // audio never refers to later samples
                if kind == .audio { break }
                if sums.trail.count < Self.trailLimit { sums.trail.append(presented) }
                continue
            }
            kept = sums
            let shown = placed(sample, at: index)
            let begin = shown.decodeTime + shown.compositionOffset
            start = min(start, begin)
            end = max(end, max(begin, time * scale) + sample.duration * scale)
            if kind == .video, sample.isSync { syncs.append(begin) }
        }
        guard kept.count > 0 else {
            let what = skipped > 0 ? "sync sample to begin with" : sums.count > 0 ? "sample in the presented part" : "samples"
            throw MediaError(skipped > 0 ? .unsupported : .malformed, "track \(track.id) has no \(what)")
        }
        samples = skipped..<skipped + kept.count
        (byteCount, longestSample, lead) = (kept.bytes, kept.longest * scale, kept.lead)
        trail = kept.trail.sorted()
        timescale *= scale
        try findDecodeStart()
        guard missing > 0 else { return }
        warning =
            "track \(track.id): \(missing) pictures before the first sync sample at "
            + "\(PackageTime.seconds(microseconds(start))) s are left out"
    }

    private mutating func findDecodeStart() throws {
        var reader = source.file.samples(of: track)
        var index = 0
        while let sample = try reader.next() {
            defer { index += 1 }
            guard index >= samples.lowerBound else { continue }
            decodeStart = placed(sample, at: index).decodeTime
            return
        }
    }

    /// The duration of its presentation, in seconds.
    var seconds: Double { Double(end) / Double(timescale) }

    /// Pictures a second; nil for other kinds.
    var frameRate: Double? {
        guard kind == .video, end > start else { return nil }
        return Double(sampleCount) * Double(timescale) / Double(end - start)
    }

    /// Display size in pixels, rotated and scaled by the track header; nil unless it is video.
    var size: (width: Int, height: Int)? {
        guard kind == .video, entry.width > 0, entry.height > 0 else { return nil }
        return track.display?.size ?? (entry.width, entry.height)
    }

    /// The number of output audio channels; 0 if unknown.
    var channels: Int {
        if case .aac(let config) = entry.codec { return config.parametricStereo != .none ? 2 : max(config.channels, 0) }
        return entry.channels
    }

    /// Samples of each channel in a second.
    var sampleRate: Int {
        if case .aac(let config) = entry.codec { return config.extensionSampleRate ?? config.sampleRate }
        return entry.sampleRate
    }

    /// The language (RFC 5646); nil if unknown.
    var language: String? { track.language.map(LanguageTag.short) }

    /// The track as the package has it, clear.
    func movieTrack() throws(Malformed) -> MovieTrack {
        var movie = MovieTrack(
            id: 1,
            handler: FourCC(stringLiteral: track.kind),
            timescale: UInt32(clamping: timescale),
            language: track.language,
            entries: [try entry.clearBytes()]
        )
        movie.width = entry.width
        movie.height = entry.height
        if kind == .video { movie.display = track.display }
        // no edit list: players interpret them differently, so the fragment times alone must suffice
        return movie
    }
}
