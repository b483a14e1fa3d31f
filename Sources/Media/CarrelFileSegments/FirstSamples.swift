// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelMedia
import CarrelTS

/// Properties of a video track estimated from its first samples: reordering depth and sample duration.
struct FirstSamples {
    /// The ticks by which pictures are decoded before their samples' decode time, by track, as in `PresentationPlan`; 0 for none.
    private(set) var delays: [UInt32: Int64] = [:]
    /// The maximum number of units by which samples are presented before their decode time, by track.
    private(set) var leads: [Int64]
    /// The average sample duration of each track, in its units; 0 if unknown.
    private(set) var durations: [Double]

    /// Number of samples to examine, as for the remux of a whole file.
    private static let count = 1000

    init(
        _ tracks: [MP4Track],
        parts: [[SegmentPlanner.Part]],
        stretches: [SegmentPlanner.Stretch],
        in reader: any ByteReader & Sendable
    ) throws {
        durations = [Double](repeating: 0, count: tracks.count)
        leads = [Int64](repeating: 0, count: tracks.count)
        for (index, track) in tracks.enumerated() where track.kind == "vide" {
            let timescale = Int64(max(1, track.timescale))
            var clock = DecodeClock()
            var delay: Int64 = 0
            var total: Int64 = 0
            var count = 0
            var lead: Int64 = 0
            func look(_ samples: MP4Samples) throws {
                var samples = samples
                while count < Self.count, let sample = try samples.next() {
                    let decoded = clock.next(MediaTime.ticks(sample.decodeTime, timescale: timescale))
                    let presented = MediaTime.ticks(sample.decodeTime &+ sample.compositionOffset, timescale: timescale)
                    delay = max(delay, decoded &- presented)
                    lead = max(lead, -sample.compositionOffset)
                    total &+= sample.duration
                    count += 1
                }
            }
            try look(MP4Samples(of: track, in: reader, from: nil))
            for stretch in stretches where count < Self.count {
                let fragments = try SegmentPlanner.fragments(in: stretch.range, of: reader)
                try look(MP4Samples(of: track, in: reader, fragments: fragments, from: stretch.times[index]))
                // pictures that are never presented before they are decoded need no further look
                if delay == 0, count > 0 { break }
            }
            if count > 0 { durations[index] = Double(total) / Double(count) }
            if delay > 0 { delays[track.id] = delay }
            leads[index] = lead
        }
    }
}
