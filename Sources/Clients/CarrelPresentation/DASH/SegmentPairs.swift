// SPDX-License-Identifier: Apache-2.0

/// Segments of pictures, each with the segment of audio that is sent with it.
struct SegmentPairs {
    private let name: RenditionName
    private(set) var segments: [SegmentList.Segment] = []
    /// Whether each segment of pictures has one of audio that begins within half a segment of it, and none is left out.
    private(set) var isAligned = true
    /// The longest segment, in whole seconds, rounded up.
    private(set) var longest: UInt64 = 0

    init(_ name: RenditionName) {
        self.name = name
    }

    /// Adds the segments of a period.
    ///
    /// - Parameters:
    ///   - main: the video segments, or audio segments without video.
    ///   - audio: the audio segments multiplexed with them; nil for none.
    ///   - period: the period's name in addresses.
    ///   - rendition: the tracks of the period; nil for the tracks of the list.
    ///   - isLive: whether old segments expire: an expired segment removes its counterpart.
    ///   - isGrowing: whether segments are added: a new segment waits for its counterpart.
    mutating func add(
        _ main: SegmentPlaces,
        _ audio: SegmentPlaces?,
        period: Int64,
        as rendition: RenditionName? = nil,
        isLive: Bool = false,
        isGrowing: Bool = false
    ) {
        let isLater = !segments.isEmpty
        var main = main
        if isLive, let audio, isGrowing || !audio.places.isEmpty {
            guard let begin = audio.places.first else { return }
            let gone = main.places.firstIndex { $0.start + $0.duration / 2 >= begin.start } ?? main.places.count
            main.places.removeFirst(gone)
        }
        let first = audio.map { audio in main.places.first.flatMap { Self.nearest(to: $0.start, in: audio.places) } ?? 0 } ?? 0
        if segments.isEmpty { segments.reserveCapacity(main.places.count) }
        var before = Duration.zero
        for (place, segment) in main.places.enumerated() {
            var made = SegmentName(period: period, rendition ?? name, index: segment.index, time: segment.time)
            if let audio {
                if first + place < audio.places.count {
                    let other = audio.places[first + place]
                    // the last one of a period may be short
                    let half = max(segment.duration, before) / 2
                    if Self.distance(other.start, segment.start) > half { isAligned = false }
                    // longer audio overlaps the next video segment too
                    if place + 1 < main.places.count, other.end - segment.end > half { isAligned = false }
                    made.audioIndex = audio.isMoving ? 0 : other.index
                    made.audioTime = other.time
                } else if isGrowing {
                    break
                } else {
                    // audio that ends before the pictures
                    made.rendition.audio = nil
                    if place + 1 < main.places.count { isAligned = false }
                }
            } else if made.rendition.video != nil {
                made.rendition.audio = nil
            }
            before = segment.duration
            var entry = SegmentList.Segment(name: made, start: segment.start, duration: segment.duration)
            entry.isDiscontinuity = isLater && place == 0
            entry.hasInitialization = place == 0
            entry.hasMovingPlace = main.isMoving
            if main.isIndexed, audio == nil { entry.byteRange = segment.range }
            append(entry)
        }
        if let audio, !isLive { checkRest(of: audio, first, main) }
    }

    /// Adds a period that does not have the rendition.
    ///
    /// - Parameters:
    ///   - places: the segments of an existing rendition.
    ///   - period: its name in addresses.
    mutating func addGaps(_ places: SegmentPlaces, period: Int64) {
        let isLater = !segments.isEmpty
        for (place, segment) in places.places.enumerated() {
            let made = SegmentName(period: period, name, index: segment.index, time: segment.time)
            var entry = SegmentList.Segment(name: made, start: segment.start, duration: segment.duration)
            entry.isDiscontinuity = isLater && place == 0
            entry.isGap = true
            entry.hasMovingPlace = places.isMoving
            append(entry)
        }
    }

    private mutating func append(_ entry: SegmentList.Segment) {
        segments.append(entry)
        let whole = entry.duration.components
        longest = max(longest, UInt64(max(0, whole.seconds)) + (whole.attoseconds > 0 ? 1 : 0))
    }

    /// Checks the audio without matching video: at either end, less than half a segment may remain.
    private mutating func checkRest(of audio: SegmentPlaces, _ first: Int, _ main: SegmentPlaces) {
        let longest = main.places.lazy.map(\.duration).max() ?? .zero
        let rests = [audio.places.prefix(first), audio.places.dropFirst(first + main.places.count)]
        if rests.contains(where: { $0.reduce(.zero) { $0 + $1.duration } > longest / 2 }) { isAligned = false }
    }

    /// The place of the segment that begins nearest to a time; starts rise.
    private static func nearest(to start: Duration, in places: [SegmentPlaces.Place]) -> Int? {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].start < start { low = middle + 1 } else { high = middle }
        }
        return [low - 1, low].filter { places.indices.contains($0) }
            .min { distance(places[$0].start, start) < distance(places[$1].start, start) }
    }

    private static func distance(_ a: Duration, _ b: Duration) -> Duration { a > b ? a - b : b - a }
}
