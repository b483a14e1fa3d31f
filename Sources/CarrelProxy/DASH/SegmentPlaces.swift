import CarrelBytes
import CarrelDASH
import CarrelMP4

/// The segments of one representation in one period: places, times and addresses.
struct SegmentPlaces: Sendable {
    /// One of them.
    struct Place: Sendable {
        var index: Int64
        /// In units of the stream.
        var time: Int64
        var start: Duration
        var duration: Duration
        /// Empty in lists of what the MPD names by itself.
        var url: String
        var range: Range<Int64>?

        var end: Duration { start + duration }

        init(_ segment: MPDSegment) {
            index = Int64(segment.index)
            time = segment.time
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

    /// The segment that an address names: at its place, or, where a reload has moved it, at its time.
    static func segment(_ segments: MPDSegments, index: Int, time: Int64) -> MPDSegment? {
        if let segment = segments[index], segment.time == time { return segment }
        // places move as a timeline loses its first segments: times rise with places
        var (low, high) = (0, segments.count ?? index + 1)
        while low < high {
            let middle = (low + high) / 2
            guard let segment = segments[middle] else { return nil }
            if segment.time == time { return segment }
            if segment.time < time { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}
