import CarrelMedia
import CarrelAudio
import CarrelBytes
import CarrelMP4

/// One track on its way into a package: its description, its times, and where decoding can begin.
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
    /// The dynamic range of pictures; nil when nothing tells.
    let range: VideoRange?
    /// Units a second.
    let timescale: Int64
    /// The time that is added to decode times: the silence before the track.
    let delay: Int64
    /// The media time that is presented first.
    let mediaStart: Int64
    /// The end of presentation by the edit list; nil presents all.
    private(set) var presentedEnd: Int64?

    /// Bytes of its samples.
    private(set) var byteCount: Int64 = 0
    /// Which samples are packaged, in decode order: from the first that decoding can begin with, to the last that is presented.
    private(set) var samples = 0..<0
    /// How many they are.
    var sampleCount: Int { samples.count }
    /// Whether some of them are only decoded, because others need them: they lie behind the presented part.
    private(set) var hasUnpresented = false
    /// The end of the last sample's presentation.
    private(set) var end: Int64 = 0
    /// The presentation of its first sample.
    private(set) var start: Int64 = .max
    /// The presentation of each sync sample, of pictures only; in decode order.
    private(set) var syncs: [Int64] = []
    /// The part of its beginning that was left out; nil when nothing was.
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
        (delay, mediaStart, presentedEnd) = try Self.presentation(of: track, timescale)
        try walk()
    }

    /// The times of the edit list: silence at most, then one stretch of media.
    private static func presentation(of track: MP4Track, _ timescale: Int64) throws -> (Int64, Int64, Int64?) {
        var delay: Int64 = 0
        var edits = track.editList.edits[...]
        let movie = Int64(max(1, track.movieTimescale))
        func units(_ duration: Int64) throws -> Int64 {
            let (product, overflow) = duration.multipliedReportingOverflow(by: timescale)
            guard duration >= 0, !overflow, product / movie < 1 << 60 else {
                throw MediaError(.malformed, "track \(track.id) has an impossible edit")
            }
            return product / movie
        }
        while let edit = edits.first, edit.mediaTime < 0 {
            delay += try units(edit.duration)
            guard delay < 1 << 60 else { throw MediaError(.malformed, "track \(track.id) has an impossible edit") }
            edits.removeFirst()
        }
        guard edits.count <= 1 else {
            throw MediaError(.unsupported, "track \(track.id) presents several stretches of its media (edit list)")
        }
        guard let edit = edits.first else { return (delay, 0, nil) }
        guard edit.mediaTime < 1 << 60 else { throw MediaError(.malformed, "track \(track.id) has an impossible edit") }
        let length = try units(edit.duration)
        return (delay, edit.mediaTime, length == 0 ? nil : delay + length)
    }

    /// When a sample is presented.
    func time(of sample: MP4Sample) -> Int64 {
        sample.decodeTime &+ sample.compositionOffset &+ delay &- mediaStart
    }

    /// Sums over the samples up to one.
    private struct Sums {
        var count = 0
        var bytes: Int64 = 0
        var longest: Int64 = 0
        var isBehind = false
    }

    /// The clock of edits is coarse: a picture that begins within its last tick is behind the end.
    private func slack(_ sample: MP4Sample) -> Int64 {
        let tick = timescale / Int64(max(1, track.movieTimescale))
        return kind == .video && sample.duration > 2 * tick ? tick : 0
    }

    /// Walks all samples once. Those before the first sync sample of pictures cannot be decoded; behind the presented part all are
    /// left out but those that a presented sample, decoded later, may refer to.
    private mutating func walk() throws {
        var reader = source.file.samples(of: track)
        let limit = UInt64(timescale) << 31
        var sums = Sums()
        var kept = Sums()
        var skipped = 0
        while let sample = try reader.next() {
            guard sample.entry < track.entries.count else {
                throw MediaError(.malformed, "track \(track.id) has no sample description \(sample.entry + 1)")
            }
            let time = time(of: sample)
            // 68 years, so that no clock overflows
            guard sample.duration >= 0, sample.duration < 1 << 32, sample.decodeTime < 1 << 60, time.magnitude < limit else {
                throw Malformed("a sample's time is out of range", at: Int(sample.offset))
            }
            if kind == .video, sums.count == 0, !sample.isSync {
                skipped += 1
                continue
            }
            sums.count += 1
            sums.bytes += Int64(sample.size)
            sums.longest = max(sums.longest, sample.duration)
            if let presentedEnd, time >= presentedEnd - slack(sample) {
                sums.isBehind = true
                // sound refers to nothing that comes later
                if kind == .audio { break }
                continue
            }
            kept = sums
            start = min(start, time)
            end = max(end, time + sample.duration)
            if kind == .video, sample.isSync { syncs.append(time) }
        }
        guard kept.count > 0 else {
            let what = skipped > 0 ? "sync sample to begin with" : sums.count > 0 ? "sample in the presented part" : "samples"
            throw MediaError(skipped > 0 ? .unsupported : .malformed, "track \(track.id) has no \(what)")
        }
        samples = skipped..<skipped + kept.count
        (byteCount, longestSample, hasUnpresented) = (kept.bytes, kept.longest, kept.isBehind)
        guard skipped > 0 else { return }
        warning =
            "track \(track.id): \(skipped) pictures before the first sync sample at "
            + "\(SegmentPlan.seconds(microseconds(start))) s are left out"
    }

    /// The duration of its presentation, in seconds.
    var seconds: Double { Double(end) / Double(timescale) }

    /// Pictures a second; nil of other kinds.
    var frameRate: Double? {
        guard kind == .video, end > start else { return nil }
        return Double(sampleCount) * Double(timescale) / Double(end - start)
    }

    /// Pixels as they are shown: turned and scaled as the track header says; nil of other kinds.
    var size: (width: Int, height: Int)? {
        guard kind == .video, entry.width > 0, entry.height > 0 else { return nil }
        return track.display?.size ?? (entry.width, entry.height)
    }

    /// Audio channels as they are heard; 0 when they are not known.
    var channels: Int {
        if case .aac(let config) = entry.codec { return config.parametricStereo != .none ? 2 : max(config.channels, 0) }
        return entry.channels
    }

    /// Samples of each channel in a second.
    var sampleRate: Int {
        if case .aac(let config) = entry.codec { return config.extensionSampleRate ?? config.sampleRate }
        return entry.sampleRate
    }

    /// The language (RFC 5646); nil when it is not known.
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
        // pictures have their composition offsets moved instead (ISO/IEC 23000-19 §7.5.17)
        if kind == .audio, mediaStart > 0 { movie.edits = [EditList.Edit(presented: 0, from: mediaStart)] }
        // a player that honours edits does not show what is only decoded
        if hasUnpresented, kind == .video, let presentedEnd {
            let milliseconds = (microseconds(presentedEnd) + 500) / 1000
            movie.edits = [EditList.Edit(presented: milliseconds, from: 0)]
        }
        return movie
    }
}
