// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelMedia
import CarrelTS

/// The beginning of a file's presentation by its edit lists: which segments and samples come before it, and how hidden pictures
/// are placed.
struct SegmentBeginning: Sendable {
    /// Segments at the beginning that present nothing.
    private(set) var droppedCount = 0
    /// When the presentation begins, in ticks; the least number if nothing is hidden.
    private(set) var time = Int64.min
    /// Samples of each track that are left out of the first segment that is presented.
    private(set) var skippedCounts: [Int]
    /// The pictures of each track that its edit hides; nil without any.
    private(set) var prerolls: [Preroll?]
    /// Units of fragments for each unit of a track: hidden pictures need a clock that is fine enough.
    private(set) var scales: [Int64]

    /// The duration of a hidden picture of each track, in units of fragments.
    private var ticks: [Int64]

    /// Units a second at least of tracks with hidden pictures.
    private static let finest: Int64 = 90_000

    /// - Parameters:
    ///   - planner: the segments with their samples.
    ///   - reader: the file.
    /// - Throws: `unsupported` if too many pictures are hidden; the errors of the reader.
    init(_ planner: SegmentPlanner, in reader: any ByteReader & Sendable) throws {
        let tracks = planner.tracks
        skippedCounts = [Int](repeating: 0, count: tracks.count)
        prerolls = [Preroll?](repeating: nil, count: tracks.count)
        scales = [Int64](repeating: 1, count: tracks.count)
        ticks = [Int64](repeating: 1, count: tracks.count)
        let hiding = tracks.map { track in PresentedParts(track).parts.first.flatMap { $0.start > 0 ? $0 : nil } }
        if let part = hiding[planner.leading] {
            time = part.time
            droppedCount = max(0, (planner.starts.firstIndex { $0 > part.time } ?? planner.starts.count) - 1)
        }
        for (index, track) in tracks.enumerated() {
            guard let part = hiding[index], let samples = try Self.samples(of: index, planner, droppedCount, reader) else {
                continue
            }
            if track.kind == "vide" {
                let preroll = try Preroll(samples, before: part.start, timescale: track.timescale)
                skippedCounts[index] = preroll.first
                guard !preroll.isEmpty else { continue }
                prerolls[index] = preroll
                let timescale = Int64(max(1, track.timescale))
                scales[index] = max(1, (Self.finest + timescale - 1) / timescale)
                ticks[index] = (timescale * scales[index] + Preroll.rate - 1) / Preroll.rate
            } else if Preroll.hidesAudio(track, before: part.start) {
                var samples = samples
                while let sample = try samples.next(), Preroll.isHidden(audio: sample, before: part.start) {
                    skippedCounts[index] += 1
                }
            }
        }
        // a segment that hides nothing begins with its first sample
        if droppedCount == 0, skippedCounts.allSatisfy({ $0 == 0 }), prerolls.allSatisfy({ $0 == nil }) { time = .min }
    }

    /// The samples of a track from a segment on; nil if it has none there.
    private static func samples(
        of track: Int,
        _ planner: SegmentPlanner,
        _ segment: Int,
        _ reader: any ByteReader & Sendable
    ) throws -> MP4Samples? {
        let listedCount = planner.starts.count - planner.stretches.count
        guard segment >= listedCount else {
            return SegmentPlanner.part(of: segment, in: planner.parts[track]).map {
                MP4Samples(of: planner.tracks[track], in: reader, from: $0.position)
            }
        }
        let stretch = planner.stretches[segment - listedCount]
        let fragments = try SegmentPlanner.fragments(in: stretch.range, of: reader)
        return MP4Samples(of: planner.tracks[track], in: reader, fragments: fragments, from: stretch.times[track])
    }

    /// A sample with its times in fragments, from the beginning of the media on.
    ///
    /// - Parameters:
    ///   - sample: a sample of the track.
    ///   - index: its position among the samples of the first segment; nil for another segment.
    ///   - track: the position of the track.
    ///   - shift: the units that are added to the times of the media.
    ///   - lead: units by which all samples are decoded before their declared time.
    /// - Returns: the sample, in units of fragments.
    func fragmentSample(_ sample: MP4Sample, at index: Int?, of track: Int, shift: Int64, lead: Int64) -> MP4Sample {
        let scale = scales[track]
        var result = sample
        result.duration = sample.duration &* scale
        guard let preroll = prerolls[track], let index else {
            result.decodeTime = (sample.decodeTime &+ shift &- lead) &* scale
            result.compositionOffset = (sample.compositionOffset &+ lead) &* scale
            return result
        }
        let tick = ticks[track]
        let times = preroll.times(of: sample, at: index, lead: lead, tick: tick) { $0 &* scale }
        let start = (preroll.start &+ shift) &* scale
        result.decodeTime = start &+ times.decode
        result.compositionOffset = times.presentation &- times.decode
        if index < preroll.end {
            result.duration = index + 1 < preroll.end ? tick : tick + max(0, preroll.resumption(lead: lead) &* scale)
        }
        return result
    }
}
