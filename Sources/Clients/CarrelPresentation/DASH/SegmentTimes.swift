// SPDX-License-Identifier: Apache-2.0

import CarrelDASH

/// The times of segments as an MPD writes them.
enum SegmentTimes {
    /// Whether two representations have the same segment times, whatever their timescales.
    ///
    /// - Parameters:
    ///   - one: the addressing of a representation.
    ///   - two: the addressing of the other representation.
    /// - Returns: false if the MPD alone does not prove it; the segments may still have the same times.
    static func areEqual(_ one: SegmentInformation, _ two: SegmentInformation) -> Bool {
        let (scale, otherScale) = (one.timescale ?? 1, two.timescale ?? 1)
        func isEqual(_ time: Int64?, _ other: Int64?) -> Bool {
            guard let time, let other else { return time == other }
            return Int128(time) * Int128(otherScale) == Int128(other) * Int128(scale)
        }
        guard one.kind == two.kind, isEqual(one.duration, two.duration),
            isEqual(one.presentationTimeOffset ?? 0, two.presentationTimeOffset ?? 0)
        else { return false }
        if scale == otherScale { return one.timeline == two.timeline }
        guard let timeline = one.timeline, let other = two.timeline else { return one.timeline == two.timeline }
        guard timeline.count == other.count else { return false }
        return zip(timeline, other).allSatisfy { entry, other in
            isEqual(entry.time, other.time) && isEqual(entry.duration, other.duration) && entry.repeats == other.repeats
                && entry.parts == other.parts
        }
    }
}
