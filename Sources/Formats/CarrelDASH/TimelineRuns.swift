// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Makes runs of the entries of a timeline (ISO/IEC 23009-1 §5.3.9.6).
enum TimelineRuns {
    private static let latest: Int64 = 1 << 62
    private static let mostSegments = 1 << 40

    /// Makes the runs of a timeline.
    ///
    /// - Parameters:
    ///   - timeline: the entries.
    ///   - offset: the media time at which the period begins.
    ///   - length: the length of the period, in units of the timescale; nil if unknown.
    ///   - startNumber: the number of the first segment.
    ///   - limit: most numbers of segments; nil for no limit.
    ///   - keepsRuns: false for the last run alone.
    /// - Returns: runs of segments of one duration; the last one may have no end.
    /// - Throws: for numbers out of range, and repeats without an end; the place is zero.
    static func make(
        _ timeline: [SegmentInformation.TimelineEntry],
        _ offset: Int64,
        _ length: Int64?,
        _ startNumber: Int64,
        _ limit: Int?,
        _ keepsRuns: Bool
    ) throws(Malformed) -> [MPDSegmentRun] {
        var runs: [MPDSegmentRun] = []
        if keepsRuns { runs.reserveCapacity(timeline.count) }
        var time: Int64 = 0
        var count = 0
        var numbers = 0
        var number = startNumber
        let end: Int64? =
            if let length { offset.addingReportingOverflow(length).overflow ? nil : offset + length } else { nil }
        for (index, entry) in timeline.enumerated() {
            if let limit, numbers >= limit { break }
            if let own = entry.time { time = own }
            if let own = entry.number { number = own }
            guard entry.duration > 0, entry.duration < latest, time.magnitude < latest.magnitude,
                number.magnitude < latest.magnitude, entry.parts > 0,
                !entry.duration.multipliedReportingOverflow(by: entry.parts).overflow
            else {
                throw Malformed("entry of a timeline is out of range", at: 0)
            }
            var times: Int? = 1
            if entry.repeats >= 0 {
                guard entry.repeats < Int64(mostSegments) else { throw Malformed("timeline has too many segments", at: 0) }
                times = Int(entry.repeats) + 1
            } else {
                let next = index + 1 < timeline.count ? timeline[index + 1].time : end
                if index + 1 < timeline.count, next == nil {
                    throw Malformed("timeline repeats up to an entry without a time", at: 0)
                }
                times = next.map { next in
                    let room = max(0, next.subtractingReportingOverflow(time).overflow ? 0 : next - time)
                    return Int(clamping: room / entry.duration + (room % entry.duration > 0 ? 1 : 0))
                }
            }
            if let limit { times = min(times ?? .max, limit - numbers) }
            guard let times else {
                runs.append(
                    MPDSegmentRun(
                        first: count,
                        time: time,
                        duration: entry.duration,
                        count: nil,
                        number: number,
                        parts: entry.parts
                    )
                )
                return runs
            }
            let (segments, tooMany) = times.multipliedReportingOverflow(by: Int(entry.parts))
            guard !tooMany, segments <= mostSegments, count + segments <= mostSegments else {
                throw Malformed("timeline has too many segments", at: 0)
            }
            guard times > 0 else { continue }
            let (length, over) = entry.duration.multipliedReportingOverflow(by: Int64(times))
            let (after, overTime) = time.addingReportingOverflow(length)
            guard !over, !overTime, after < latest else { throw Malformed("timeline is too long", at: 0) }
            if let last = runs.last, let before = last.count, last.duration == entry.duration, entry.number == nil,
                last.parts == entry.parts, time - last.time == Int64(before) / last.parts * last.duration
            {
                runs[runs.count - 1] = MPDSegmentRun(
                    first: last.first,
                    time: last.time,
                    duration: last.duration,
                    count: before + segments,
                    number: last.number,
                    parts: last.parts
                )
            } else {
                let run = MPDSegmentRun(
                    first: count,
                    time: time,
                    duration: entry.duration,
                    count: segments,
                    number: number,
                    parts: entry.parts
                )
                if keepsRuns || runs.isEmpty { runs.append(run) } else { runs[0] = run }
            }
            time = after
            count += segments
            numbers += times
            number += Int64(times)
        }
        return runs
    }
}
