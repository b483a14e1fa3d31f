// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelMP4

/// The segments of one representation in one period: places, times and addresses.
struct SegmentPlaces: Sendable {
    /// One of them.
    struct Place: Sendable {
        var index: Int64
        /// Its name: in units of the stream, with the place in its segment sequence added, whose segments share their time.
        var time: Int64
        var start: Duration
        var duration: Duration
        /// Empty in lists of what the MPD names by itself.
        var url: String
        var range: Range<Int64>?

        var end: Duration { start + duration }

        init(_ segment: MPDSegment) {
            index = Int64(segment.index)
            time = SegmentPlaces.name(of: segment)
            start = Self.bounded(segment.start)
            duration = Self.bounded(segment.duration ?? .zero)
            url = segment.url
            range = segment.byteRange.flatMap { range in range.length.map { range.offset..<range.offset + $0 } }
        }

        /// Three hundred years at most: sums of times stay within theirs.
        private static func bounded(_ time: Duration) -> Duration { max(.seconds(-limit), min(time, .seconds(limit))) }
        private static let limit: Int64 = 10_000_000_000

        init(index: Int64, time: Int64, start: Duration, duration: Duration, url: String, range: Range<Int64>) {
            self.index = index
            self.time = time
            self.start = Self.bounded(start)
            self.duration = Self.bounded(duration)
            self.url = url
            self.range = range
        }
    }

    /// Segments of a list in all its periods, at most: four days of two seconds each.
    static let limit = 200_000

    var places: [Place]
    /// Whether they lie in one file, as its index says.
    private(set) var isIndexed = false
    /// Whether a timeline of a live source lists them: their places move when it loses its first ones.
    var isMoving = false

    init(_ segments: MPDSegments, _ range: Range<Int>, of stream: MPDStream) {
        places = []
        places.reserveCapacity(range.count)
        for index in range {
            // a list does not need the addresses at the origin
            guard let segment = segments.timed(at: index) else { break }
            places.append(Place(segment))
        }
        // a segment without a duration goes on to the end of its period
        if let last = places.indices.last, places[last].duration <= .zero, let duration = stream.period.duration {
            places[last].duration = stream.period.start + duration - places[last].start
        }
    }

    /// - Parameters:
    ///   - index: of the representation.
    ///   - stream: the representation.
    ///   - range: the places that are wanted; nil for all.
    init(_ index: StreamIndex, of stream: MPDStream, _ range: Range<Int>? = nil) {
        let offset = stream.information?.presentationTimeOffset ?? 0
        let timescale = stream.information?.timescale ?? 1
        let shift = stream.period.start - Duration.seconds(1) * (Double(offset) / Double(max(1, timescale)))
        isIndexed = true
        let wanted = (range ?? index.entries.indices).clamped(to: index.entries.indices)
        places = wanted.map { place in
            let entry = index.entries[place]
            return Place(
                index: Int64(place),
                time: entry.time,
                start: shift + entry.start,
                duration: entry.duration,
                url: stream.baseURL,
                range: entry.range
            )
        }
    }

    /// The time by which an address names a segment.
    private static func name(of segment: MPDSegment) -> Int64 {
        let (time, over) = segment.time.addingReportingOverflow(segment.subNumber ?? 0)
        return over ? segment.time : time
    }

    /// The segment that an address names: at its place, or, where a reload has moved it, at its time.
    static func segment(_ segments: MPDSegments, index: Int, time: Int64) -> MPDSegment? {
        if let segment = segments[index], name(of: segment) == time { return segment }
        // places move as a timeline loses its first segments: times rise with places
        var (low, high) = (0, segments.count ?? 1)
        if segments.count == nil {
            // a timeline without an end goes on at least up to the time
            while high < 1 << 40, let last = segments.timed(at: high - 1), name(of: last) < time { high *= 2 }
        }
        while low < high {
            let middle = (low + high) / 2
            guard let segment = segments.timed(at: middle) else {
                // behind the last time that there is
                high = middle
                continue
            }
            let name = name(of: segment)
            if name == time { return segments[middle] }
            if name < time { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}
