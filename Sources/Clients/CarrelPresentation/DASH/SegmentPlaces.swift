// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelDASH
import CarrelMP4

/// The segments of one representation in one period: places, times and addresses.
package struct SegmentPlaces: Sendable {
    /// One of them.
    package struct Place: Sendable {
        var index: Int64
        /// The time in its name: in units of the stream, plus the index in its segment sequence, whose segments share their time.
        var time: Int64
        package var start: Duration
        package var duration: Duration
        /// Empty in lists of what the MPD names by itself.
        package var url: String
        package var range: Range<Int64>?

        var end: Duration { start + duration }

        package init(_ segment: MPDSegment) {
            index = Int64(segment.index)
            time = SegmentPlaces.name(of: segment)
            start = Self.bounded(segment.start)
            duration = Self.bounded(segment.duration ?? .zero)
            url = segment.url
            range = segment.byteRange.flatMap { range in range.length.map { range.offset..<range.offset + $0 } }
        }

        /// Limits a time to three hundred years, so that sums do not overflow.
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
    package static let limit = 200_000

    package var places: [Place]
    /// Whether the segments are parts of one file with an index.
    private(set) var isIndexed = false
    /// Whether a live timeline lists them: their indexes shift when the first ones are removed.
    var isMoving = false

    init(_ segments: MPDSegments, _ range: Range<Int>, of stream: MPDStream) {
        places = []
        places.reserveCapacity(range.count)
        for index in range {
            // a list does not need the addresses at the origin
            guard let segment = segments.timed(at: index) else { break }
            places.append(Place(segment))
        }
        // a segment without a duration lasts until the end of its period
        if let last = places.indices.last, places[last].duration <= .zero, let duration = stream.period.duration {
            places[last].duration = stream.period.start + duration - places[last].start
        }
    }

    /// - Parameters:
    ///   - index: the index of the representation.
    ///   - stream: the representation.
    ///   - range: the requested indexes; nil for all.
    package init(_ index: StreamIndex, of stream: MPDStream, _ range: Range<Int>? = nil) {
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

    /// The segment that an address names, by its index, or by its time if a reload shifted the indexes.
    static func segment(_ segments: MPDSegments, index: Int, time: Int64) -> MPDSegment? {
        if let segment = segments[index], name(of: segment) == time { return segment }
        // places move as a timeline loses its first segments: times rise with places
        var (low, high) = (0, segments.count ?? 1)
        if segments.count == nil {
            // an unbounded timeline lasts at least until this time
            while high < 1 << 40, let last = segments.timed(at: high - 1), name(of: last) < time { high *= 2 }
        }
        while low < high {
            let middle = (low + high) / 2
            guard let segment = segments.timed(at: middle) else {
                // after the last time of the timeline
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
