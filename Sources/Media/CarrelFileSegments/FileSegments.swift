// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
package import CarrelMedia
import CarrelTS

/// Divides an MP4 file of any protection into segments that are written independently, in any order: progressive or fragmented,
/// clear or protected, local or remote.
///
/// Segments begin with sync samples, or with any frame if the file has only audio. The tables of the movie, or an index of the
/// fragments (`sidx`, also chained, or `mfra`), are read once; without an index, the headers of the fragments are. Of the media,
/// only the samples to write are read. All times are relative to the beginning of the presentation, whose timestamp is
/// `TransportRemuxer.origin` in both forms.
///
/// ```swift
/// let file = try MP4File(reader, leavesFragmentsToIndex: true)
/// let protection = try await FileProtection(file, from: keys)
/// let segments = try FileSegments(file, in: reader, protection, target: .seconds(6)) { $0.kind == "vide" || $0.kind == "soun" }
/// try segments.write(3, as: .transportStream, to: &sink)
/// ```
package struct FileSegments: Sendable {
    /// The form of a written segment.
    package enum Form: Sendable, Hashable {
        /// MPEG-2 transport stream of all requested tracks.
        case transportStream
        /// Clear movie fragments of one track.
        case fragment
    }

    /// One segment.
    package struct Segment: Sendable, Hashable {
        /// When it begins, in 90 kHz ticks from the beginning of the presentation.
        package var startTime: Int64
        /// When the next one begins, or the last sample ends.
        package var endTime: Int64
        /// Bytes of it as a transport stream of all tracks, about: seldom fewer than it will have.
        package var byteCount: Int64

        /// When it begins.
        package var start: Duration { Duration(ticks: startTime) }
        /// How long it lasts.
        package var duration: Duration { Duration(ticks: endTime - startTime) }
    }

    /// A picture that is decoded alone.
    package struct IFrame: Sendable, Hashable {
        /// When it is presented, in 90 kHz ticks from the beginning of the presentation.
        package var time: Int64
        /// How long until the next one, or the end.
        package var duration: Duration
        /// The segment that contains it.
        package var segment: Int
    }

    /// The tracks that are in, as playlists name them.
    package let tracks: [SegmentTrack]
    /// In the order of their times; 32,768 at most.
    package let segments: [Segment]
    /// The tracks that a transport stream cannot hold, each with the reason.
    package let omitted: [String]

    let reader: any ByteReader & Sendable
    /// The protection of the file, with its keys.
    package var protection: FileProtection
    let sources: [MP4Track]
    let clocks: [TrackClock]
    let leading: Int
    let parts: [[SegmentPlanner.Part]]
    let stretches: [SegmentPlanner.Stretch]
    let syncSamples: [SegmentPlanner.SyncSample]
    /// The ticks by which pictures are decoded before their samples' decode time, by track.
    let delays: [UInt32: Int64]
    /// The units by which the samples of each track are decoded earlier in fragments, so that no composition offset is negative.
    let leads: [Int64]
    /// The beginning of the presentation in the first segment.
    let beginning: SegmentBeginning

    /// Reads the tables or the index of a file.
    ///
    /// - Parameters:
    ///   - file: the file; `leavesFragmentsToIndex` saves a request for each fragment of a remote file, but keys of later
    ///     fragments are then not requested in advance: `keyIDs(of:)` names them, and `protection.resolve` requests them.
    ///   - reader: the same file, to be read from any thread. Reading blocks.
    ///   - protection: its protection, with its keys.
    ///   - target: the approximate duration of segments; use at least one second.
    ///   - takes: selects tracks.
    /// - Throws: `unsupported` if no track is selected, a track presents several parts, or there are too many samples or
    ///   segments; `Malformed` if the tables or the index are damaged; the errors of the reader.
    package init(
        _ file: MP4File,
        in reader: any ByteReader & Sendable,
        _ protection: FileProtection,
        target: Duration,
        takes: (MP4Track) -> Bool
    ) throws {
        let sources = file.tracks.filter { takes($0) && $0.timescale > 0 && !$0.entries.isEmpty }
        guard !sources.isEmpty else { throw MediaError(.unsupported, "no track is taken") }
        try PresentedParts.refuseSeveral(sources)
        var planner = SegmentPlanner(sources, in: reader, protected: protection.tracks, interval: target.ticks)
        try planner.planListed()
        try planner.planFragments(file)
        guard !planner.starts.isEmpty else { throw MediaError(.unsupported, "the tracks have no samples") }
        var segments: [Segment] = []
        segments.reserveCapacity(planner.starts.count)
        for (number, start) in planner.starts.enumerated() {
            let next = number + 1 < planner.starts.count ? planner.starts[number + 1] : planner.end
            segments.append(
                Segment(startTime: start, endTime: max(start, next), byteCount: planner.bytes[number] + Self.segmentOverhead)
            )
        }
        let beginning = try SegmentBeginning(planner, in: reader)
        let (droppedCount, listedCount) = (beginning.droppedCount, segments.count - planner.stretches.count)
        segments.removeFirst(droppedCount)
        segments[0].startTime = min(max(segments[0].startTime, beginning.time), segments[0].endTime)
        self.reader = reader
        self.protection = protection
        self.sources = sources
        self.segments = segments
        self.beginning = beginning
        clocks = planner.clocks
        leading = planner.leading
        parts = planner.parts.map { parts in
            parts.compactMap { part in
                var part = part
                part.segment -= droppedCount
                return part.segment < 0 ? nil : part
            }
        }
        stretches = Array(planner.stretches.dropFirst(max(0, droppedCount - listedCount)))
        let first = beginning.skippedCounts[planner.leading]
        syncSamples = planner.syncSamples.compactMap { sync in
            var sync = sync
            sync.segment -= droppedCount
            // in fragments, the ordinal is relative to the fragment
            guard sync.segment > 0 || sync.segment == 0 && (sync.offset > 0 || sync.ordinal >= first) else { return nil }
            sync.time = max(sync.time, beginning.time)
            return sync
        }
        let look = try FirstSamples(sources, parts: parts, stretches: stretches, in: reader)
        delays = look.delays
        leads = zip(look.leads, planner.leastOffsets).map { max($0, -$1) }
        tracks = sources.enumerated().map { SegmentTrack($1, sampleDuration: look.durations[$0]) }
        do throws(MediaError) {
            omitted = try TransportRemuxer(sources).omitted
        } catch {
            guard error.code == .unsupported else { throw error }
            omitted = sources.map { "track \($0.id): no form in transport streams" }
        }
    }

    /// Tables, clock references, and packets that restore the continuity counters.
    private static let segmentOverhead: Int64 = 64 * 188

    /// How long all segments last.
    package var duration: Duration {
        Duration(ticks: (segments.last?.endTime ?? 0) - (segments.first?.startTime ?? 0))
    }

    /// The bit rate as a transport stream of all tracks: the maximum over segments of at least half the longest duration, and the
    /// average. 0 if the duration is 0.
    package var bandwidth: (peak: Int, average: Int) {
        func rate(_ bytes: Int64, _ ticks: Int64) -> Int {
            ticks > 0 ? Int(min(Double(bytes) * 720_000 / Double(ticks), 1e15)) : 0
        }
        let longest = segments.reduce(0) { max($0, $1.endTime - $1.startTime) }
        var peak = 0
        var bytes: Int64 = 0
        for segment in segments {
            bytes += segment.byteCount
            let ticks = segment.endTime - segment.startTime
            if ticks >= longest / 2 { peak = max(peak, rate(segment.byteCount, ticks)) }
        }
        let average = rate(bytes, (segments.last?.endTime ?? 0) - (segments.first?.startTime ?? 0))
        return (max(peak, average), average)
    }

    /// The pictures of the first track of pictures that are decoded alone; of fragments with an index those at which they begin.
    package var iFrames: [IFrame] {
        let end = segments.last?.endTime ?? 0
        return syncSamples.indices.map { number in
            let time = syncSamples[number].time
            let next = number + 1 < syncSamples.count ? syncSamples[number + 1].time : end
            return IFrame(time: time, duration: Duration(ticks: max(0, next - time)), segment: syncSamples[number].segment)
        }
    }
}
