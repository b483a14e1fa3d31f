// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

/// Writes the samples of one track into segments, whatever their format.
protocol SegmentedTrack: AnyObject {
    var track: PackagedTrack { get }
    /// When segments begin, in units of the track.
    var cuts: [Int64] { get }

    /// Begins a segment.
    ///
    /// - Parameters:
    ///   - number: the number of the boundary, from 0; the first segment of a track that begins late has a higher one.
    ///   - time: the time of its first sample.
    ///   - vectors: the source of initialization vectors.
    /// - Throws: write errors.
    func beginSegment(_ number: Int, at time: Int64, _ vectors: inout VectorSequence) throws

    /// Adds a sample to the segment.
    func add(
        _ sample: MP4Sample,
        _ time: Int64,
        _ bytes: borrowing MutableRawSpan,
        _ range: Range<Int>,
        _ vectors: inout VectorSequence
    ) throws

    /// Ends the segment, if there is one.
    func endSegment(at time: Int64) throws
}

extension SegmentedTrack {
    /// Writes all samples that are packaged.
    ///
    /// - Parameters:
    ///   - vectors: the source of initialization vectors.
    ///   - progress: gets the sample bytes written; it may throw to end the work.
    /// - Throws: `Malformed`, and read or write errors.
    func writeSegments(vectors: inout VectorSequence, progress: (Int) throws -> Void) throws {
        let reader = try ClearTrackReader(track.track, of: track.source.file, track.source.protection)
        var number = -1
        var i = 0
        while i < track.samples.upperBound {
            let written: Void? = try reader.next { sample, bytes, range in
                defer { i += 1 }
                guard i >= track.samples.lowerBound else { return }
                let sample = track.placed(sample, at: i)
                let time = sample.decodeTime + sample.compositionOffset
                let isFirst = number < 0
                if isFirst { number = 0 }
                var begins = isFirst
                while track.isCut(number + 1, cuts, sample) {
                    number += 1
                    begins = true
                }
                if begins { try beginSegment(number, at: time, &vectors) }
                try add(sample, time, bytes, range, &vectors)
                try progress(range.count)
            }
            if written == nil { break }
        }
        try endSegment(at: track.end)
    }
}
