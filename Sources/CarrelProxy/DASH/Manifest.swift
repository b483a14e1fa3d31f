import CarrelBytes
import CarrelDASH
import CarrelThreads

/// An MPD as it was read at one time, with its streams found by their places.
struct Manifest: Sendable {
    /// A representation of the first period, which is taken to exist in all others.
    struct Track: Sendable {
        var representation: MPDRepresentation
        var set: MPDAdaptationSet
    }

    let mpd: MPD
    /// Behind redirects.
    let url: String
    let timings: [MPD.Timing]
    /// When it was requested.
    let requested: ContinuousClock.Instant
    private let streams: [[Int: MPDStream]]
    /// The periods without the sets for fast play, and with them alone.
    private let playedPeriods: [MPDPeriod]
    private let fastPeriods: [MPDPeriod]
    private let sequences = Sequences()

    /// The segments of streams, by the streams' places, each made once.
    private final class Sequences: Sendable {
        let made = Locked<[Int: MPDSegments]>([:])
    }

    init(_ mpd: MPD, url: String, requested: ContinuousClock.Instant) {
        self.mpd = mpd
        self.url = url
        self.requested = requested
        timings = mpd.timings
        var streams = [[Int: MPDStream]](repeating: [:], count: mpd.periods.count)
        for stream in mpd.streams(url: url) {
            streams[stream.place.period][Self.key(stream.place.adaptationSet, stream.place.representation)] = stream
        }
        self.streams = streams
        playedPeriods = mpd.periods.map { TrickMode.period($0, isFast: false) }
        fastPeriods = mpd.periods.map { TrickMode.period($0, isFast: true) }
    }

    private static func key(_ set: Int, _ representation: Int) -> Int { set << 20 | representation }

    /// Whether no segment will be added: of a static MPD, and of a dynamic one that does not change and whose end is over.
    func isEnded(at now: Instant) -> Bool {
        guard mpd.kind == .dynamic else { return true }
        guard mpd.reload == .never, let end = mpd.end(timings), let time = mpd.time(at: now) else { return false }
        return time >= end
    }

    /// Whether pictures or audio should have a segment by now that follows the last one here: only the next manifest has it.
    func isSpent(at now: Instant) -> Bool {
        guard let period = timings.lastIndex(where: { !$0.isEarly }) else { return true }
        return streams[period].values.contains { stream in
            guard mpd.periods[period].adaptationSets[stream.place.adaptationSet].kind != "text" else { return false }
            guard let segments = try? segments(of: stream), let count = segments.count else { return false }
            guard count > 0, let last = segments[count - 1] else { return true }
            // the next one lasts as long as this one, about
            guard let time = segments.availabilityTime(of: count - 1, in: mpd) else { return false }
            return time + SegmentPlaces.Place(last).duration <= now
        }
    }

    /// When a period begins, in milliseconds: its name in addresses.
    func name(ofPeriod period: Int) -> Int64 { Int64(timings[period].start / .milliseconds(1)) }

    /// The period of that name.
    func period(named name: Int64) -> Int? { timings.indices.first { self.name(ofPeriod: $0) == name } }

    /// The segments of one of its streams.
    ///
    /// - Throws: `proxy.manifest`.
    func segments(of stream: MPDStream) throws(ProxyError) -> MPDSegments {
        let key = stream.place.period << 40 | Self.key(stream.place.adaptationSet, stream.place.representation)
        if let known = sequences.made.withLock({ $0[key] }) { return known }
        do throws(Malformed) {
            let made = try stream.segments()
            sequences.made.withLock { $0[key] = made }
            return made
        } catch {
            throw ProxyError(.manifest, "representation '\(stream.id)': \(error.what)")
        }
    }

    /// The stream of a period that goes on with a track: the track itself, or the nearest of its kind.
    func stream(_ track: Track, inPeriod period: Int) -> MPDStream? {
        let periods = TrickMode.main(of: track.set) == nil ? playedPeriods : fastPeriods
        guard let place = MPDSelection.match(track.representation, of: track.set, in: periods[period]) else { return nil }
        return streams[period][Self.key(place.adaptationSet, place.representation)]
    }
}
