// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

extension TransportRemuxer {
    /// Writes the tags that take effect before a sample is decoded.
    ///
    /// - Parameters:
    ///   - tags: those that wait.
    ///   - sample: the sample.
    ///   - track: the position of its track.
    ///   - shift: the ticks that were added to the times of its media.
    /// - Throws: `Malformed` if a tag does not fit.
    mutating func write(_ tags: inout TimedTags, before sample: MP4Sample, _ track: Int, shift: Int64 = 0) throws(Malformed) {
        guard !tags.isEmpty, let presented = presentationTime(of: sample, track) else { return }
        tags.settle(segment: presented, origin: Self.origin &+ shift)
        try write(&tags, upTo: time(of: sample, track))
    }

    /// Writes the tags that take effect up to a time.
    mutating func write(_ tags: inout TimedTags, upTo time: Int64) throws(Malformed) {
        while let tag = tags.next(upTo: time) {
            if !hasTimedTags {
                try addTimedTags()
                beginSegment()
            }
            try writeTag(tag.bytes, at: tag.time)
        }
    }
}
