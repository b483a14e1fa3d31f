import CarrelBytes
import CarrelDASH
import CarrelMedia
import CarrelThreads

/// A DASH presentation as HLS: each segment is one of pictures and one of audio (ISO/IEC 23009-1).
final class DASHPresentation: Presentation {
    let origin: MediaOrigin
    let settings: SessionSettings
    private let reader: ManifestReader
    private let initializations: InitializationCache
    private let indexes: IndexCache
    /// Segments of a live list, at most: eleven hours of two seconds each.
    private static let liveLimit = 20_000
    /// A live segment may be late by its duration, at most by this.
    private static let longestWait = Duration.seconds(10)

    private let choice = Locked<TrackChoice?>(nil)
    /// The numbers of segments of live playlists, by their tracks.
    private let sequences = Locked<[String: SegmentSequence]>([:])

    init(_ origin: MediaOrigin, _ settings: SessionSettings) {
        self.origin = origin
        self.settings = settings
        reader = ManifestReader(origin)
        initializations = InitializationCache(origin)
        indexes = IndexCache(origin)
    }

    // MARK: - Tracks

    /// The tracks of the first period, chosen once.
    private func tracks(_ manifest: Manifest) throws(ProxyError) -> TrackChoice {
        if let known = choice.withLock({ $0 }) { return known }
        if settings.policy == .seed { try LiveProfile.check(manifest.mpd) }
        let made = try TrackChoice(manifest, settings)
        choice.withLock { $0 = made }
        return made
    }

    func outline() async throws -> Outline {
        let manifest = try await reader.current()
        let tracks = try tracks(manifest)
        var outline = tracks.outline
        outline.isLive = !manifest.isEnded(at: await reader.now)
        guard !tracks.video.isEmpty, let audio = tracks.audio.first, !outline.variants[0].hasAudioGroup else { return outline }
        // what is not cut alike cannot go out together
        let pairs = try await pairs(manifest, tracks, RenditionName(video: 0, audio: 0))
        guard !pairs.isAligned else { return outline }
        guard settings.policy != .seed else {
            throw ProxyError(
                .unsupported,
                "pictures and audio '\(audio.representation.id)' are not cut alike by more than half a segment"
            )
        }
        let apart = tracks.apart
        choice.withLock { $0 = apart }
        var demuxed = apart.outline
        demuxed.isLive = outline.isLive
        return demuxed
    }

    // MARK: - Segments

    func segments(of rendition: RenditionName) async throws -> SegmentList {
        let manifest = try await reader.current(isNeeded: true)
        let tracks = try tracks(manifest)
        let pairs = try await pairs(manifest, tracks, rendition)
        var list = SegmentList()
        list.isEnded = manifest.isEnded(at: await reader.now)
        list.segments = pairs.segments
        list.leastTarget = pairs.longest
        guard !list.isEnded || sequences.withLock({ $0[tracks.group(of: rendition)] != nil }) else { return list }
        let group = tracks.group(of: rendition)
        sequences.withLock { all in
            var sequence = all[group] ?? SegmentSequence()
            sequence.update(&list)
            all[group] = sequence
        }
        return list
    }

    /// The segments of a rendition in all periods.
    private func pairs(_ manifest: Manifest, _ tracks: TrackChoice, _ name: RenditionName) async throws -> SegmentPairs {
        var pairs = SegmentPairs(name)
        let now = await reader.now
        let last = manifest.timings.lastIndex { !$0.isEarly }
        for period in manifest.timings.indices where !manifest.timings[period].isEarly {
            let main = try tracks.track(name, .main).flatMap { manifest.stream($0, inPeriod: period) }
            let audio = name.video == nil ? nil : try tracks.track(name, .audio).flatMap { manifest.stream($0, inPeriod: period) }
            guard let main else { continue }
            let first = try await places(main, manifest, now)
            var second: SegmentPlaces?
            if let audio { second = try await places(audio, manifest, now) }
            pairs.add(
                first,
                second,
                period: manifest.name(ofPeriod: period),
                isLive: manifest.mpd.kind == .dynamic,
                isGrowing: manifest.mpd.kind == .dynamic && period == last
            )
        }
        return pairs
    }

    /// The segments of a stream that exist now.
    private func places(_ stream: MPDStream, _ manifest: Manifest, _ now: Instant) async throws -> SegmentPlaces {
        let segments = try manifest.segments(of: stream)
        if let index = try await indexes.index(of: stream, segments) { return SegmentPlaces(index, of: stream) }
        var range = manifest.mpd.kind == .dynamic ? segments.available(in: manifest.mpd, at: now) : 0..<(segments.count ?? 0)
        // a window without a limit would make every list longer than the one before
        if manifest.mpd.kind == .dynamic { range = range.suffix(Self.liveLimit) }
        guard range.count <= SegmentPlaces.limit else {
            throw ProxyError(.manifest, "representation '\(stream.id)' has more than \(SegmentPlaces.limit) segments")
        }
        return SegmentPlaces(segments, range, of: stream)
    }

    // MARK: - Bytes

    /// A segment of one stream, found again by its name.
    private struct Found {
        var stream: MPDStream
        var place: SegmentPlaces.Place
    }

    private func find(_ track: Manifest.Track?, _ period: Int, index: Int64, time: Int64, _ manifest: Manifest) async throws
        -> Found?
    {
        guard let track, let stream = manifest.stream(track, inPeriod: period) else { return nil }
        let segments = try manifest.segments(of: stream)
        if let sidx = try await indexes.index(of: stream, segments) {
            guard let place = SegmentPlaces(sidx, of: stream, Int(clamping: index)..<Int(clamping: index) + 1).places.first,
                place.time == time
            else { throw SegmentName.unknown }
            return Found(stream: stream, place: place)
        }
        guard let segment = SegmentPlaces.segment(segments, index: Int(clamping: index), time: time) else {
            throw manifest.mpd.kind == .dynamic
                ? ProxyError(.windowPassed, "the segment is not in the live window any more") : SegmentName.unknown
        }
        return Found(stream: stream, place: SegmentPlaces.Place(segment))
    }

    /// The streams of a segment.
    private func find(_ name: SegmentName, _ manifest: Manifest) async throws -> [Found] {
        let tracks = try tracks(manifest)
        guard let period = manifest.period(named: name.period) else {
            throw manifest.mpd.kind == .dynamic
                ? ProxyError(.windowPassed, "the period is not in the live window any more") : SegmentName.unknown
        }
        let track = try tracks.track(name.rendition, .main)
        guard let main = try await find(track, period, index: name.index, time: name.time, manifest) else {
            throw SegmentName.unknown
        }
        var found = [main]
        if name.rendition.video != nil, let audio = try tracks.track(name.rendition, .audio) {
            let other = try await find(audio, period, index: name.audioIndex, time: name.audioTime, manifest)
            if let other { found.append(other) }
        }
        return found
    }

    func open(_ name: SegmentName) async throws -> ServedMedia {
        var manifest = try await reader.known()
        let found: [Found]
        do { found = try await find(name, manifest) } catch {
            // a list that another request brought may name what this manifest does not
            guard manifest.mpd.kind == .dynamic else { throw error }
            manifest = try await reader.current()
            found = try await find(name, manifest)
        }
        var sources: [SegmentSource] = []
        for found in found { sources.append(try await source(found)) }
        if name.rendition.text != nil, let place = found.first?.place, let source = sources.first {
            let start = Int64(place.start / .milliseconds(1))
            let range = start..<start + max(1, Int64(place.duration / .milliseconds(1)))
            let text = try await TextSegment.make(source, range, origin, settings)
            return ServedMedia(contentType: "text/vtt; charset=utf-8", bytes: HeldBytes(text))
        }
        var request = SegmentRequest(
            sources: sources,
            origin: origin,
            settings: settings,
            number: Int(truncatingIfNeeded: name.index)
        )
        let edge = try await waitForEdge(found, manifest)
        request.deadline = edge?.deadline
        do {
            return settings.output == .fragments ? try await request.fragments() : try await request.transportStream()
        } catch let error as ProxyError where error.code == .missing && edge?.hasPassed == true {
            throw ProxyError(.windowPassed, "the segment is not in the live window any more")
        }
    }

    /// The state of a segment of a live source, once it is available by the clock.
    private struct Edge {
        /// Until when it may be late.
        var deadline: ContinuousClock.Instant?
        var hasPassed = false
    }

    /// Waits for a segment that is about to be available.
    private func waitForEdge(_ found: [Found], _ manifest: Manifest) async throws -> Edge? {
        guard manifest.mpd.kind == .dynamic, let main = found.first else { return nil }
        let segments = try manifest.segments(of: main.stream)
        let index = Int(clamping: main.place.index)
        let duration = max(.milliseconds(200), min(main.place.duration, Self.longestWait))
        guard let available = segments.availabilityTime(of: index, in: manifest.mpd) else {
            return Edge(deadline: .now + duration)
        }
        let now = await reader.now
        guard available <= now + duration else { throw SegmentName.unknown }
        if available > now { try await Task.sleep(for: available - now) }
        // what is older than this has been made, or never will be
        if now - available < duration * 4 { return Edge(deadline: .now + duration) }
        return Edge(hasPassed: index < segments.available(in: manifest.mpd, at: now).lowerBound)
    }

    func next(after name: SegmentName) async -> SegmentName? {
        guard let manifest = try? await reader.known(), let found = try? await find(name, manifest) else { return nil }
        let now = await reader.now
        var places: [SegmentPlaces.Place] = []
        for found in found {
            guard let place = try? await place(behind: found, manifest, now) else { return nil }
            places.append(place)
        }
        guard let main = places.first else { return nil }
        var next = name
        (next.index, next.time) = (main.index, main.time)
        if places.count > 1 { (next.audioIndex, next.audioTime) = (places[1].index, places[1].time) }
        return next
    }

    /// The segment of a stream behind another, where it exists.
    private func place(behind found: Found, _ manifest: Manifest, _ now: Instant) async throws -> SegmentPlaces.Place? {
        let segments = try manifest.segments(of: found.stream)
        let index = Int(clamping: found.place.index) + 1
        if let sidx = try await indexes.index(of: found.stream, segments) {
            return SegmentPlaces(sidx, of: found.stream, index..<index + 1).places.first
        }
        if manifest.mpd.kind == .dynamic, let time = segments.availabilityTime(of: index, in: manifest.mpd), time > now {
            return nil
        }
        return segments[index].map { SegmentPlaces.Place($0) }
    }

    func openInitialization(_ name: SegmentName) async throws -> ServedMedia {
        let manifest = try await reader.current()
        let tracks = try tracks(manifest)
        guard let period = manifest.period(named: name.period), let track = try tracks.track(name.rendition, .main),
            let stream = manifest.stream(track, inPeriod: period)
        else { throw SegmentName.unknown }
        let initialization = try await initializations.initialization(of: stream)
        let bytes: [UInt8]
        do {
            bytes = try await MediaSegmentDecrypter(initialization: initialization, keys: settings.keys).clearInitialization
        } catch {
            throw ProxyError(error, in: "the initialization segment of representation '\(stream.id)'")
        }
        return ServedMedia(contentType: "video/mp4", bytes: HeldBytes(bytes))
    }

    /// Whether a representation is a WebVTT file, or several of them.
    private static func isTextFile(_ stream: MPDStream) -> Bool { stream.properties.mimeType?.lowercased() == "text/vtt" }

    private func source(_ found: Found) async throws -> SegmentSource {
        SegmentSource(
            initialization: Self.isTextFile(found.stream) ? [] : try await initializations.initialization(of: found.stream),
            url: found.place.url,
            range: found.place.range,
            presentationTimeOffset: found.stream.information?.presentationTimeOffset ?? 0,
            timescale: found.stream.information?.timescale ?? 1,
            periodStart: found.stream.period.start,
            hasTags: found.stream.properties.inbandEventStreams.contains { TimedID3.schemes.contains($0.scheme.lowercased()) }
        )
    }
}
