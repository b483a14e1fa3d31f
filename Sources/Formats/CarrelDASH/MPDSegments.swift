// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// One segment of a representation.
package struct MPDSegment: Sendable, Hashable {
    /// Its place among the segments of its representation in its period, from zero.
    package var index: Int
    /// The number in addresses.
    package var number: Int64
    /// The media time in units of the timescale, as in addresses; for a segment sequence, the sequence's time.
    package var time: Int64
    /// Its index in its segment sequence, from zero; nil if each number has one segment.
    package var subNumber: Int64?
    /// Its beginning in the presentation.
    package var start: Duration
    /// The duration; nil if the MPD does not declare it.
    package var duration: Duration?
    package var url: String
    /// The part of the resource; nil for all of it.
    package var byteRange: MPDByteRange?
    /// The byte range of the segment index; nil if there is none.
    package var indexRange: MPDByteRange?
}

/// The segments of a representation, computed on access from a few numbers (ISO/IEC 23009-1 §5.3.9).
package struct MPDSegments: Sendable {
    private enum Addresses: Sendable {
        case template(URLTemplate, hasTimeline: Bool)
        case list([SegmentInformation.ListedSegment])
        /// One segment.
        case whole(indexRange: MPDByteRange?)
    }

    /// The number of segments; nil if unbounded.
    package let count: Int?
    /// Units of media time per second.
    package let timescale: Int64

    private let addresses: Addresses
    /// The addresses from the template, if resolving one only appends it to the base's folder, whatever the numbers.
    private let plainAddresses: SegmentAddresses?
    /// Whether durations come from @duration alone, so that the last segment ends with the period.
    private let isByDuration: Bool
    private let runs: [MPDSegmentRun]
    private let period: MPD.Timing
    private let offset: Int64
    private let base: URIReference
    /// The base up to its last slash, which is put before a plain relative path.
    private let folder: String
    private let id: String
    private let bandwidth: UInt64
    private let availabilityTimeOffset: MPDTimeOffset?

    /// Most segments of a sequence that has an end, and the latest media time.
    private static let limit: Int64 = 1 << 40
    private static let latest: Int64 = 1 << 62

    /// - Parameters:
    ///   - stream: the representation.
    ///   - timelines: the runs of timelines that were made before.
    /// - Throws: if the numbers do not make a sequence of segments; the place is the beginning of the MPD.
    init(_ stream: MPDStream, _ timelines: inout MPDTimelines) throws(Malformed) {
        let information = stream.information ?? SegmentInformation(.base)
        timescale = information.timescale ?? 1
        guard 1...0xffff_ffff ~= timescale else { throw Malformed("timescale is out of range", at: 0) }
        period = stream.period
        offset = information.presentationTimeOffset ?? 0
        guard offset.magnitude < Self.latest.magnitude else { throw Malformed("media time is out of range", at: 0) }
        base = URIReference(stream.baseURL)
        folder = Self.folder(stream.baseURL)
        id = stream.id
        bandwidth = stream.bandwidth
        availabilityTimeOffset = stream.availabilityTimeOffset
        let sample = URLTemplate.Values(representationID: stream.id, bandwidth: stream.bandwidth)
        plainAddresses =
            if information.kind == .template, let media = information.media, Self.isPlain(media.expand(sample)) {
                SegmentAddresses(media, after: folder, sample, begin: information.timeline == nil ? offset : 0)
            } else { nil }
        isByDuration = information.kind != .base && information.timeline == nil && information.duration != nil
        let length = stream.period.duration.map { Self.ticks($0, information.timescale ?? 1) }
        switch information.kind {
        case .base:
            addresses = .whole(indexRange: information.indexRange)
            runs = [MPDSegmentRun(first: 0, time: offset, duration: length ?? 0, count: 1, number: 1)]
        case .list:
            let list = information.segments ?? []
            guard !Self.hasSequences(information, &timelines) else {
                throw Malformed("list of segments has segment sequences", at: 0)
            }
            addresses = .list(list)
            let runs = try Self.runs(information, length, most: list.count, &timelines)
            self.runs = runs
        case .template:
            guard let media = information.media else {
                // nothing to address segments with
                addresses = .list([])
                runs = []
                break
            }
            guard media.hasSubNumbers || !Self.hasSequences(information, &timelines) else {
                throw Malformed("segment sequences need a template with $SubNumber$", at: 0)
            }
            addresses = .template(media, hasTimeline: information.timeline != nil)
            let runs = try Self.runs(information, length, most: nil, &timelines)
            self.runs = runs
        }
        guard let last = runs.last else {
            count = 0
            return
        }
        count = last.count.map { last.first + $0 }
    }

    /// Whether a number has several segments (@k).
    private static func hasSequences(_ information: SegmentInformation, _ timelines: inout MPDTimelines) -> Bool {
        if let timeline = information.timeline { return timelines.hasSequences(timeline) }
        return information.parts ?? 1 > 1
    }

    private static func runs(
        _ information: SegmentInformation,
        _ length: Int64?,
        most: Int?,
        _ timelines: inout MPDTimelines
    ) throws(Malformed) -> [MPDSegmentRun] {
        let start = information.startNumber ?? 1
        guard start.magnitude < latest.magnitude else { throw Malformed("number of a segment is out of range", at: 0) }
        var limit = most
        if let end = information.endNumber {
            let (count, over) = end.subtractingReportingOverflow(start)
            guard !over, count < latest else { throw Malformed("number of a segment is out of range", at: 0) }
            limit = min(limit ?? .max, Int(max(0, count + 1)))
        }
        if let timeline = information.timeline {
            return try timelines.runs(of: timeline, information.presentationTimeOffset ?? 0, length, start, limit)
        }
        let offset = information.presentationTimeOffset ?? 0
        guard let duration = information.duration else {
            // one segment, unless a list has more, of which the durations are not known
            return [
                MPDSegmentRun(
                    first: 0,
                    time: offset,
                    duration: limit ?? 1 == 1 ? length ?? 0 : 0,
                    count: limit ?? 1,
                    number: start
                )
            ]
        }
        guard duration > 0, duration < latest else { throw Malformed("duration of segments is out of range", at: 0) }
        var count = limit
        if let length {
            let whole = length / duration + (length % duration > 0 ? 1 : 0)
            guard whole < Self.limit else { throw Malformed("period has too many segments", at: 0) }
            count = min(limit ?? .max, Int(whole))
        }
        let parts = information.parts ?? 1
        guard parts > 0, !duration.multipliedReportingOverflow(by: parts).overflow else {
            throw Malformed("duration of segments is out of range", at: 0)
        }
        if let numbers = count {
            let (segments, over) = numbers.multipliedReportingOverflow(by: Int(parts))
            guard !over, numbers == segments || segments < Self.limit else {
                throw Malformed("period has too many segments", at: 0)
            }
            count = segments
            if parts > 1, let length {
                // of the last sequence, those that begin in the period
                let startedCount = (Int128(length) * Int128(parts) + Int128(duration - 1)) / Int128(duration)
                count = min(segments, Int(clamping: max(0, startedCount)))
            }
        }
        return [MPDSegmentRun(first: 0, time: offset, duration: duration, count: count, number: start, parts: parts)]
    }

    /// The segment at an index; nil after the end.
    package subscript(index: Int) -> MPDSegment? {
        guard var segment = timed(at: index) else { return nil }
        let part = segment.subNumber ?? 0
        if let plainAddresses {
            segment.url = plainAddresses.address(segment.number, segment.time, part)
            return segment
        }
        switch addresses {
        case .whole(let indexRange):
            segment.url = base.description
            segment.indexRange = indexRange
        case .list(let list):
            segment.url = resolve(list[index].media.url ?? "")
            segment.byteRange = list[index].media.range
            segment.indexRange = list[index].index.range
        case .template(let template, let hasTimeline):
            // with @duration, the time is relative to the beginning of the period
            let values = URLTemplate.Values(
                representationID: id,
                bandwidth: bandwidth,
                number: segment.number,
                time: hasTimeline ? segment.time : segment.time - offset,
                subNumber: part
            )
            segment.url = resolve(template.expand(values))
        }
        return segment
    }

    /// The segment at an index without its addresses, which are not needed for long lists; nil after the end.
    package func timed(at index: Int) -> MPDSegment? {
        if case .list(let list) = addresses, index >= list.count { return nil }
        guard index >= 0, let run = run(of: index) else { return nil }
        var (inRun, part) = (Int64(index - run.first), Int64(0))
        if run.parts > 1 { (inRun, part) = inRun.quotientAndRemainder(dividingBy: run.parts) }
        let (product, over) = run.duration.multipliedReportingOverflow(by: inRun)
        let (time, overTime) = run.time.addingReportingOverflow(product)
        let (number, overNumber) = run.number.addingReportingOverflow(inRun)
        guard !over, !overTime, !overNumber, time.magnitude < Self.latest.magnitude else { return nil }
        var duration: Duration? = run.duration > 0 ? seconds(run.duration) : nil
        var start = period.start + seconds(time - offset)
        if run.parts > 1 {
            let before = seconds(run.duration * part) / run.parts
            duration = seconds(run.duration * (part + 1)) / run.parts - before
            start += before
        }
        if let whole = period.duration, isByDuration, let nominal = duration {
            // the last one ends with the period
            duration = max(.zero, min(nominal, period.start + whole - start))
        }
        let last = count.map { $0 - 1 == index } ?? false
        if last, duration == nil, case .whole = addresses { duration = period.duration }
        var segment = MPDSegment(index: index, number: number, time: time, start: start, duration: duration, url: "")
        if run.parts > 1 { segment.subNumber = part }
        return segment
    }

    private func run(of index: Int) -> MPDSegmentRun? {
        // every run has a segment at least: the one of a segment is at its place or before, and there where all have one
        var (low, high) = (0, min(index, runs.count - 1) + 1)
        if index < runs.count, runs[index].first == index { low = high }
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].first <= index { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let run = runs[low - 1]
        if let count = run.count, index - run.first >= count { return nil }
        return run
    }

    /// The segments that a server has at an instant (ISO/IEC 23009-1 §5.3.9.5.3): those that are complete, less what was early or
    /// late for the availability time offset and the time shift buffer. All of a static MPD.
    ///
    /// - Parameters:
    ///   - mpd: the MPD of the segments.
    ///   - now: the instant, by the MPD's own clock.
    /// - Returns: places of segments.
    package func available(in mpd: MPD, at now: Instant) -> Range<Int> {
        guard !period.isEarly else { return 0..<0 }
        guard mpd.kind == .dynamic, let begin = mpd.availabilityStartTime else { return 0..<(count ?? 0) }
        let end = mpd.availabilityEndTime.map { min($0, now) } ?? now
        let elapsed = Duration.milliseconds(end.milliseconds - begin.milliseconds)
        var upper = count ?? unboundedCount(elapsed)
        switch availabilityTimeOffset {
        case .infinite where count != nil: break
        case .duration(let early): upper = firstIndex(upper) { complete($0) - early > elapsed }
        default: upper = firstIndex(upper) { complete($0) > elapsed }
        }
        guard let depth = mpd.timeShiftBufferDepth else { return 0..<upper }
        // after the end of an MPD, time still advances for segments that leave the buffer
        let past = Duration.milliseconds(now.milliseconds - begin.milliseconds)
        let lower = firstIndex(upper) { index in
            let segment = timed(at: index)
            return (segment.map { $0.start + ($0.duration ?? .zero) * 2 } ?? .zero) + depth >= past
        }
        return lower..<max(lower, upper)
    }

    /// The instant from which a server has a segment (ISO/IEC 23009-1 §5.3.9.5.3).
    ///
    /// - Parameters:
    ///   - index: the segment's index.
    ///   - mpd: the MPD of the segments.
    /// - Returns: the instant, by the MPD's own clock; nil if it is always available, and after the end.
    package func availabilityTime(of index: Int, in mpd: MPD) -> Instant? {
        guard mpd.kind == .dynamic, let begin = mpd.availabilityStartTime, timed(at: index) != nil else { return nil }
        var time = complete(index)
        switch availabilityTimeOffset {
        case .infinite: return nil
        case .duration(let early): time -= early
        case nil: break
        }
        // limited, because a timeline may have any time
        return begin + max(.seconds(-Self.limit), min(time, .seconds(Self.limit)))
    }

    /// The index of the segment at a time: in O(log n) of the timeline's runs, and in O(1) by number.
    ///
    /// - Parameter time: from the beginning of the presentation.
    /// - Returns: the segment played at that time; in a gap, or before the first one, the next segment; nil after the end.
    package func index(at time: Duration) -> Int? {
        guard !runs.isEmpty, count != 0 else { return nil }
        let inPeriod = max(.seconds(-Self.limit), min(time - period.start, .seconds(Self.limit)))
        let (media, over) = Self.ticks(inPeriod, timescale).addingReportingOverflow(offset)
        guard !over else { return nil }
        // the run that has begun last
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].time <= media { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return runs[0].first }
        let run = runs[low - 1]
        var index = run.first
        if run.duration > 0 {
            let elapsed = media.subtractingReportingOverflow(run.time)
            guard !elapsed.overflow else { return nil }
            let (number, remainder) = elapsed.partialValue.quotientAndRemainder(dividingBy: run.duration)
            let (segments, tooMany) = number.multipliedReportingOverflow(by: run.parts)
            guard !tooMany, segments < Self.latest else { return nil }
            // the product is below the duration times the parts, which was checked
            index = run.first + Int(segments) + Int(remainder * run.parts / run.duration)
        }
        if let inRun = run.count { index = min(index, run.first + inRun) }
        // times are rounded down to units, and the segment may end before its run does
        while let next = timed(at: index + 1), next.start <= time, index - run.first < run.count ?? .max { index += 1 }
        if let end = count, index >= end { return nil }
        guard let segment = timed(at: index) else { return nil }
        if let duration = segment.duration, segment.start + duration <= time {
            return timed(at: index + 1) == nil ? nil : index + 1
        }
        return index
    }

    /// When a segment is complete, from the availability start time on.
    private func complete(_ index: Int) -> Duration {
        guard let segment = timed(at: index) else { return .seconds(Self.limit) }
        return segment.start + (segment.duration ?? .zero)
    }

    /// Segments of a sequence without an end that have begun before an instant.
    private func unboundedCount(_ elapsed: Duration) -> Int {
        guard let last = runs.last, last.duration > 0 else { return 0 }
        let early: Duration = if case .duration(let offset) = availabilityTimeOffset { max(.zero, offset) } else { .zero }
        let time = Self.ticks(max(.zero, elapsed + early - period.start), timescale)
        // after the last media time there is no segment
        let (media, over) = time.addingReportingOverflow(offset)
        let elapsedTicks = max(0, min(over ? Self.latest : media, Self.latest)).subtractingReportingOverflow(last.time)
        guard !elapsedTicks.overflow else { return last.first }
        return last.first + Int(min(Self.limit, max(0, elapsedTicks.partialValue) / last.duration + 1)) * Int(last.parts)
    }

    /// The first index below a bound that satisfies a predicate, which then holds for all later indexes; the bound if there is
    /// none.
    private func firstIndex(_ bound: Int, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (0, bound)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private func resolve(_ reference: String) -> String {
        if Self.isPlain(reference) { return folder + reference }
        return base.resolving(URIReference(reference)).description
    }

    /// Whether a reference is a path that merely follows the base's folder.
    private static func isPlain(_ reference: String) -> Bool {
        guard let first = reference.utf8.first, first != UInt8(ascii: "/"), first != UInt8(ascii: ".") else { return false }
        var last = first
        for byte in reference.utf8 {
            if byte == UInt8(ascii: ":") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return false }
            if byte == UInt8(ascii: "."), last == UInt8(ascii: "/") { return false }
            last = byte
        }
        return true
    }

    private static func folder(_ base: String) -> String {
        var reference = URIReference(base)
        (reference.query, reference.fragment) = (nil, nil)
        return reference.resolving(URIReference(".")).description == "" ? "" : reference.resolving(URIReference("./")).description
    }

    private func seconds(_ ticks: Int64) -> Duration { Self.duration(ticks, timescale) }

    /// Units of media time as a duration.
    static func duration(_ ticks: Int64, _ timescale: Int64) -> Duration {
        let (whole, remainder) = ticks.quotientAndRemainder(dividingBy: timescale)
        // the timescale has 32 bits, and the rest is less than it: nine digits at a time
        let (billionths, fraction) = (remainder &* 1_000_000_000).quotientAndRemainder(dividingBy: timescale)
        let attoseconds = billionths &* 1_000_000_000 &+ fraction &* 1_000_000_000 / timescale
        return Duration(secondsComponent: whole, attosecondsComponent: attoseconds)
    }

    /// A duration in units of media time, rounded down.
    static func ticks(_ duration: Duration, _ timescale: Int64) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let whole = Int128(seconds) * Int128(timescale)
        let part = Int128(attoseconds) * Int128(timescale) / 1_000_000_000_000_000_000
        return Int64(clamping: whole + part)
    }
}

extension MPDStream {
    /// The segments.
    ///
    /// - Throws: when the numbers do not make a sequence of segments; the place is the beginning of the MPD.
    package func segments() throws(Malformed) -> MPDSegments {
        var timelines = MPDTimelines()
        return try segments(&timelines)
    }

    /// The segments, with runs that other representations of the MPD share.
    ///
    /// - Parameter timelines: the runs of timelines that were made before.
    /// - Returns: the segments.
    /// - Throws: when the numbers do not make a sequence of segments; the place is the beginning of the MPD.
    package func segments(_ timelines: inout MPDTimelines) throws(Malformed) -> MPDSegments { try MPDSegments(self, &timelines) }
}
