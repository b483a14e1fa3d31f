// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelDASH
package import CarrelMediaSource
import CarrelThreads

/// An MPD as it was read at one time, with its streams found by their places.
package struct Manifest: Sendable {
    /// A representation of the first period, which is taken to exist in all others.
    package struct Track: Sendable {
        package var representation: MPDRepresentation
        package var set: MPDAdaptationSet

        package init(representation: MPDRepresentation, set: MPDAdaptationSet) {
            self.representation = representation
            self.set = set
        }
    }

    package let mpd: MPD
    /// The final URL, after redirects.
    package let url: String
    package let timings: [MPD.Timing]
    /// When it was requested.
    let requested: ContinuousClock.Instant
    /// The addresses of remote elements of other origins, which are not loaded.
    var refusedElements: [String] = []
    private let streams: [[Int: MPDStream]]
    /// The periods without the sets for fast play, and with them alone.
    private let playedPeriods: [MPDPeriod]
    private let fastPeriods: [MPDPeriod]
    private let cache = Cache()

    /// Values made from the manifest at their first use.
    private final class Cache: Sendable {
        let sequences = Locked(Sequences())
        let spent = Locked<Instant??>(nil)
    }

    /// The segments of streams, by the streams' places.
    private struct Sequences {
        var made: [Int: MPDSegments] = [:]
        var timelines = MPDTimelines()

        /// Maximum number of timeline runs kept, and the cost of a stream in runs.
        private static let limit = 300_000
        private static let streamCost = 8

        var isFull: Bool { timelines.count + made.count * Self.streamCost > Self.limit }
    }

    init(_ mpd: MPD, url: String, requested: ContinuousClock.Instant) {
        self.mpd = mpd
        self.url = url
        self.requested = requested
        timings = mpd.timings
        var streams = [[Int: MPDStream]](repeating: [:], count: mpd.periods.count)
        for stream in mpd.streams(url: url) {
            streams[stream.position.period][Self.key(stream.position.adaptationSet, stream.position.representation)] = stream
        }
        self.streams = streams
        playedPeriods = mpd.periods.map { TrickMode.period($0, isFast: false) }
        fastPeriods = mpd.periods.map { TrickMode.period($0, isFast: true) }
    }

    private static func key(_ set: Int, _ representation: Int) -> Int { set << 20 | representation }

    /// Whether no segment will be added: the MPD is static, or dynamic without updates and its end has passed.
    func isEnded(at now: Instant) -> Bool {
        guard mpd.kind == .dynamic else { return true }
        guard mpd.reload == .never, let end = mpd.end(timings), let time = mpd.time(at: now) else { return false }
        return time >= end
    }

    /// The time at which video or audio needs a segment after the last one listed here: only the next manifest has it.
    ///
    /// The work grows with the timelines of the tracks, and is done once.
    /// - Parameter tracks: the video and audio tracks that are played.
    /// - Returns: the time by the manifest's clock; nil if segments are unbounded.
    /// - Throws: `CancellationError`.
    func spentTime(of tracks: [Track]) throws -> Instant? {
        if let known = cache.spent.withLock({ $0 }) { return known }
        let made = try findSpentTime(of: tracks)
        cache.spent.withLock { $0 = .some(made) }
        return made
    }

    private func findSpentTime(of tracks: [Track]) throws -> Instant? {
        let always = Instant(milliseconds: 0)
        guard let period = timings.lastIndex(where: { !$0.isEarly }) else { return always }
        // only the last segment is needed
        var timelines = MPDTimelines(keepsRuns: false)
        var earliest: Instant?
        for track in tracks {
            try Task.checkCancellation()
            guard let stream = stream(track, inPeriod: period), let segments = try? stream.segments(&timelines),
                let count = segments.count
            else { continue }
            guard count > 0, let last = segments[count - 1] else { return always }
            // assumes that the next segment is about as long as this one
            guard let time = segments.availabilityTime(of: count - 1, in: mpd) else { continue }
            let end = time + SegmentPlaces.Place(last).duration
            earliest = min(earliest ?? end, end)
        }
        return earliest
    }

    /// When a period begins, in milliseconds: its name in addresses.
    func name(ofPeriod period: Int) -> Int64 { Int64(timings[period].start / .milliseconds(1)) }

    /// The period of that name.
    func period(named name: Int64) -> Int? { timings.indices.first { self.name(ofPeriod: $0) == name } }

    /// The segments of one of its streams.
    ///
    /// - Throws: `proxy.manifest`.
    package func segments(of stream: MPDStream) throws(ProxyError) -> MPDSegments {
        let key = stream.position.period << 40 | Self.key(stream.position.adaptationSet, stream.position.representation)
        do throws(Malformed) {
            return try cache.sequences.withLock { sequences throws(Malformed) in
                if let known = sequences.made[key] { return known }
                if sequences.isFull { sequences = Sequences() }
                let made = try stream.segments(&sequences.timelines)
                sequences.made[key] = made
                return made
            }
        } catch {
            throw ProxyError(.manifest, "representation '\(stream.id)': \(error.what)")
        }
    }

    /// Frees the memory of derived data, which are computed again on demand.
    func evict() { cache.sequences.withLock { $0 = Sequences() } }

    /// The stream that continues a track in a period: the track itself, or the nearest of its kind.
    package func stream(_ track: Track, inPeriod period: Int) -> MPDStream? {
        let periods = TrickMode.main(of: track.set) == nil ? playedPeriods : fastPeriods
        guard let place = MPDSelection.match(track.representation, of: track.set, in: periods[period]) else { return nil }
        return streams[period][Self.key(place.adaptationSet, place.representation)]
    }
}
