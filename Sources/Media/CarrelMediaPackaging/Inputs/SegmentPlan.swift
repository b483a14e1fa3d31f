// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMP4

/// The times at which all tracks of a package are cut: at the same moments, so that a player can change between renditions at any
/// of them.
struct SegmentPlan {
    /// When each segment begins, in microseconds of the presentation; the first begins with the media.
    let cuts: [Int64]
    /// The time in the media of fragments at which the presentation begins, in microseconds: no sample is decoded before zero.
    ///
    /// All tracks begin there, so that they are in step for players that ignore edit lists, and for those that cannot read
    /// negative composition offsets.
    let origin: Int64
    /// When the first sample of all tracks is decoded, in microseconds of the presentation.
    let decodeStart: Int64

    /// Microseconds by which sync samples of renditions may differ: rounding of their clocks.
    private static let tolerance: Int64 = 1500
    private static let countLimit = 1 << 20

    /// Sets the boundaries at sync samples of the first video track, or at frames of the first audio track.
    ///
    /// - Parameters:
    ///   - tracks: all tracks.
    ///   - target: the duration of a segment, in microseconds.
    /// - Throws: `unalignedRenditions` with the file and the time if a video track has no sync sample at a boundary of the first
    ///   one.
    init(_ tracks: [PackagedTrack], target: Int64) throws(MediaError) {
        decodeStart = tracks.map { $0.microseconds($0.decodeStart) }.min() ?? 0
        origin = Self.origin(of: tracks, decodeStart)
        let pictures = tracks.filter { $0.kind == .video }
        guard let reference = pictures.first else {
            guard let sound = tracks.first else {
                cuts = [0]
                return
            }
            cuts = Self.even(from: sound.microseconds(sound.start), to: sound.microseconds(sound.end), target)
            return
        }
        var found: [Int64] = []
        let frame = reference.microseconds(reference.longestSample)
        for sync in reference.syncs {
            let time = reference.microseconds(sync)
            guard let last = found.last else {
                found.append(time)
                continue
            }
            if time - last >= target - frame / 2 { found.append(time) }
        }
        for other in pictures.dropFirst() { try Self.check(other, reference, found) }
        cuts = Self.extended(found, pictures, tracks.filter { $0.kind == .audio }, target)
    }

    /// The step of origins: a whole number of units of most clocks.
    private static let originStep: Int64 = 40_000

    /// The least origin that is a whole number of units for each track, or nearly so.
    private static func origin(of tracks: [PackagedTrack], _ earliest: Int64) -> Int64 {
        guard earliest < 0 else { return 0 }
        var origin = (-earliest + originStep - 1) / originStep * originStep
        func isExact(_ track: PackagedTrack) -> Bool {
            abs(track.microseconds(Self.units(origin, of: track)) - origin) < 1000
        }
        // every clock has whole seconds
        while !tracks.allSatisfy(isExact) { origin += originStep }
        return origin
    }

    private static func units(_ microseconds: Int64, of track: PackagedTrack) -> Int64 {
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return seconds * track.timescale + (rest * track.timescale + 500_000) / 1_000_000
    }

    /// The origin in units of a track.
    func origin(of track: PackagedTrack) -> Int64 { Self.units(origin, of: track) }

    /// The video boundaries, extended for audio tracks that begin before the video or end after it.
    private static func extended(_ cuts: [Int64], _ pictures: [PackagedTrack], _ sounds: [PackagedTrack], _ target: Int64)
        -> [Int64]
    {
        guard var last = cuts.last, let first = cuts.first else { return cuts }
        let soundStart = max(0, sounds.map { $0.microseconds($0.start) }.min() ?? first)
        let soundEnd = sounds.map { $0.microseconds($0.end) }.max() ?? 0
        let pictureEnd = pictures.map { $0.microseconds($0.end) }.max() ?? 0
        var before: [Int64] = []
        var at = soundStart
        while at < first - target / 2, before.count < countLimit {
            before.append(at)
            at += target
        }
        var all = before + cuts
        // audio that begins a little earlier belongs to the first segment
        if before.isEmpty { all[0] = min(first, soundStart) }
        // pictures after the last sync sample are one segment
        last += max(0, (pictureEnd - target / 2 - last - 1) / target) * target
        while last <= soundEnd - target - target / 2, all.count < countLimit {
            last += target
            all.append(last)
        }
        return all
    }

    private static func even(from start: Int64, to end: Int64, _ target: Int64) -> [Int64] {
        var cuts: [Int64] = []
        var at = max(0, start)
        repeat {
            cuts.append(at)
            at += max(1, target)
        } while at < end && cuts.count < countLimit
        return cuts
    }

    /// Whether a rendition has a sync sample at every cut.
    private static func check(_ other: PackagedTrack, _ reference: PackagedTrack, _ cuts: [Int64]) throws(MediaError) {
        let syncs = other.syncs.map { other.microseconds($0) }.sorted()
        var i = 0
        for cut in cuts {
            while i < syncs.count, syncs[i] < cut - tolerance { i += 1 }
            guard i < syncs.count, syncs[i] <= cut + tolerance else {
                throw MediaError(
                    .unaligned,
                    "\(other.source.name) has no sync sample at \(PackageTime.seconds(cut)) s, where \(reference.source.name) has one"
                )
            }
        }
        let ends = (other.microseconds(other.end), reference.microseconds(reference.end))
        guard abs(ends.0 - ends.1) <= 500_000 else {
            throw MediaError(
                .unaligned,
                "\(other.source.name) ends at \(PackageTime.seconds(ends.0)) s, and \(reference.source.name) at \(PackageTime.seconds(ends.1)) s"
            )
        }
    }

    /// The cuts in the units of a track, at the nearest.
    func cuts(of track: PackagedTrack) -> [Int64] { cuts.map { Self.units($0, of: track) } }
}

extension PackagedTrack {
    /// Whether a sample begins a segment.
    ///
    /// - Parameters:
    ///   - next: the segment in question, from 1.
    ///   - cuts: when segments begin, in units of the track.
    ///   - sample: the sample, with its times in the package.
    /// - Returns: whether the segment begins there.
    func isCut(_ next: Int, _ cuts: [Int64], _ sample: MP4Sample) -> Bool {
        guard next < cuts.count else { return false }
        let time = sample.decodeTime + sample.compositionOffset
        if kind == .video { return sample.isSync && time >= cuts[next] - timescale / 500 }
        return time + sample.duration / 2 > cuts[next]
    }

    /// A time of the track in microseconds.
    func microseconds(_ time: Int64) -> Int64 {
        let (whole, rest) = time.quotientAndRemainder(dividingBy: timescale)
        return whole &* 1_000_000 &+ (rest * 1_000_000 + timescale / 2) / timescale
    }
}
