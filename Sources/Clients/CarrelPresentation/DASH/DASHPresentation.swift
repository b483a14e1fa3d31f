// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelFileSegments
import CarrelMedia
import CarrelMediaSource
import CarrelSavedMedia
import CarrelThreads

/// A DASH presentation as HLS: each segment is one of pictures and one of audio (ISO/IEC 23009-1).
final class DASHPresentation: Presentation {
    let origin: MediaOrigin
    let settings: SessionSettings
    let reader: ManifestReader
    let initializations: InitializationCache
    private let indexes: IndexCache
    /// A live segment may be late by its duration, at most by this.
    private static let longestWait = Duration.seconds(10)

    private let choice: Locked<DASHTracks?>
    private let alignment = Locked(AlignmentState())
    /// The time of the presentation at which fragments for the player have the time 0, decided with the tracks.
    private let fragmentOrigin = Locked<Duration?>(nil)
    private let lists = Locked(LiveLists())

    /// Whether the manifest lets video and audio segments be multiplexed.
    private struct Alignment {
        /// When the manifest was requested.
        var manifest: ContinuousClock.Instant
        var decision: Task<Bool, any Error>
    }

    /// The alignment of the newest manifest checked so far.
    private struct AlignmentState {
        var newest: Alignment?
        var isEnded = false
    }

    /// The manifest was replaced by a newer one during the check.
    private struct Superseded: Error {}

    /// The facts of live playlists that last over reloads.
    private struct LiveLists {
        /// The numbers of segments, by their tracks.
        var sequences: [String: SegmentSequence] = [:]
        /// Streams with the main track of a rendition, for periods that lack it. By track: addresses may combine tracks freely.
        var streams: [RenditionName: MPDStream] = [:]
    }

    init(_ origin: MediaOrigin, _ settings: SessionSettings) {
        self.origin = origin
        self.settings = settings
        let (choice, threads) = (Locked<DASHTracks?>(nil), settings.threads)
        self.choice = choice
        reader = ManifestReader(origin, threads) { manifest in
            guard let tracks = choice.withLock({ $0 }) else { return nil }
            let played = tracks.video + tracks.audio
            return (try? await threads.compute { try manifest.spentTime(of: played) }) ?? nil
        }
        initializations = InitializationCache(origin)
        indexes = IndexCache(origin, threads)
    }

    func end() {
        let newest = alignment.withLock { state in
            state.isEnded = true
            return state.newest
        }
        newest?.decision.cancel()
        Task { [reader, indexes] in
            await reader.end()
            await indexes.end()
        }
    }

    // MARK: - Tracks

    /// The tracks of the first period, chosen once.
    private func tracks(_ manifest: Manifest) throws -> DASHTracks {
        if let known = choice.withLock({ $0 }) { return known }
        return try use(try DASHTracks(manifest, settings.wishes, saved: origin.package?.source.tracks), of: manifest)
    }

    /// Whether the tracks are chosen.
    var hasTracks: Bool { choice.withLock { $0 != nil } }

    /// Plays tracks from here on.
    @discardableResult
    func use(_ made: DASHTracks, of manifest: Manifest) throws -> DASHTracks {
        if settings.policy == .compatible { try LiveProfile.check(manifest.mpd) }
        settings.form.use(made.plan.output)
        fragmentOrigin.withLock { $0 = made.fragmentOrigin(manifest) }
        choice.withLock { $0 = made }
        return made
    }

    var kind: SourceSummary.Kind { .dash }

    /// The protection of the first video and the first audio track. Other tracks share it, or their segments declare their own.
    func protections(_ use: KeyUse) async throws -> [MediaProtection] {
        try await surveyLicense()
        let manifest = try await reader.current()
        return try await settings.threads.compute { [self] () throws -> [MediaProtection] in
            let tracks = try self.tracks(manifest)
            var found: [MediaProtection] = []
            var known: Set<MediaProtection> = []
            for track in [tracks.video.first, tracks.audio.first].compactMap({ $0 }) {
                let descriptors = manifest.stream(track, inPeriod: 0)?.properties.contentProtections ?? []
                let schemes = descriptors.filter { $0.system == .commonEncryption }.map { $0.value ?? "cenc" }
                let all: [MediaProtection] =
                    schemes.isEmpty
                    ? descriptors.map { .other($0.system?.rawValue ?? "unknown") } : schemes.map { .commonEncryption($0) }
                for protection in all where known.insert(protection).inserted { found.append(protection) }
            }
            return found
        }
    }

    func outline(_ use: KeyUse) async throws -> Outline {
        try await surveyLicense()
        while true {
            // another request may have loaded a newer manifest, which is then used here too
            do { return try await currentOutline() } catch is Superseded { try Task.checkCancellation() }
        }
    }

    private func currentOutline() async throws -> Outline {
        let manifest = try await reader.current()
        let tracks = try await settings.threads.compute { [self] in try self.tracks(manifest) }
        let isLive = !manifest.isEnded(at: await reader.now)
        func outline(_ tracks: DASHTracks) -> Outline {
            var outline = tracks.plan.outline
            outline.isLive = isLive
            outline.warnings += manifest.refusedElements.map { .remoteElement($0) }
            return outline
        }
        // segments with different boundaries cannot be multiplexed
        guard tracks.plan.isMultiplexed, try await !isAligned(manifest, tracks) else { return outline(tracks) }
        guard settings.policy != .compatible else { throw Self.isNotAligned(tracks) }
        let apart = tracks.apart
        choice.withLock { $0 = apart }
        return outline(apart)
    }

    /// Whether video and audio segments can be multiplexed. Computed once per manifest, for all waiting requests.
    ///
    /// - Throws: ``Superseded`` if another request needs the result for a newer manifest; ``ProxyError``.
    private func isAligned(_ manifest: Manifest, _ tracks: DASHTracks) async throws -> Bool {
        let lister = await lister(manifest, tracks)
        let decision = try alignment.withLock { state in
            guard !state.isEnded else { throw ProxyError(.ended, "the session has ended") }
            if let newest = state.newest {
                if newest.manifest == manifest.requested { return newest.decision }
                guard newest.manifest < manifest.requested else { throw Superseded() }
                newest.decision.cancel()
            }
            let decision = Task { [threads = settings.threads] in try await threads.compute { try await lister.isAligned() } }
            state.newest = Alignment(manifest: manifest.requested, decision: decision)
            return decision
        }
        do { return try await decision.value } catch {
            // an index that did not come may come with the next request
            alignment.withLock { if $0.newest?.decision == decision { $0.newest = nil } }
            guard decision.isCancelled, !Task.isCancelled else { throw error }
            throw Superseded()
        }
    }

    private static func isNotAligned(_ tracks: DASHTracks) -> ProxyError {
        let audio = tracks.audio.first?.representation.id ?? ""
        return ProxyError(.unsupported, "pictures and audio '\(audio)' are not cut alike by more than half a segment")
    }

    // MARK: - Segments

    /// Whether the source is or was live: its addresses stay the same after it ends.
    private func hasLiveNames(_ manifest: Manifest) -> Bool {
        manifest.mpd.kind == .dynamic || lists.withLock { !$0.sequences.isEmpty }
    }

    private func lister(_ manifest: Manifest, _ tracks: DASHTracks) async -> SegmentLister {
        SegmentLister(
            manifest: manifest,
            tracks: tracks,
            indexes: indexes,
            now: await reader.now,
            hasLiveNames: hasLiveNames(manifest)
        )
    }

    func segments(of rendition: RenditionName, _ use: KeyUse) async throws -> SegmentList {
        try await surveyLicense()
        let manifest = try await reader.current(isList: true)
        return try await settings.threads.compute { [self] in try await list(rendition, manifest) }
    }

    private func list(_ rendition: RenditionName, _ manifest: Manifest) async throws -> SegmentList {
        let tracks = try tracks(manifest)
        let lister = await lister(manifest, tracks)
        let pairs = try await lister.pairs(rendition)
        // a period that came later, or audio that drifts: a player would play wrong audio, or a part of it twice
        guard pairs.isAligned else { throw Self.isNotAligned(tracks) }
        var list = SegmentList()
        list.isEnded = manifest.isEnded(at: lister.now)
        list.segments = pairs.segments
        list.leastTarget = pairs.longest
        list.hasTimes = true
        let group = tracks.group(of: rendition)
        guard !list.isEnded || lists.withLock({ $0.sequences[group] != nil }) else { return list }
        lists.withLock { lists in
            let other = lists.sequences["video"] ?? lists.sequences.values.first
            var sequence = lists.sequences[group] ?? other.map { SegmentSequence(beside: $0, list) } ?? SegmentSequence()
            sequence.update(&list)
            lists.sequences[group] = sequence
        }
        // the address of a segment is stable while it is listed (RFC 8216 §6.2.1); the segment is found by its time
        let first = Int64(clamping: list.mediaSequence)
        for place in list.segments.indices where list.segments[place].hasMovingPlace {
            list.segments[place].name.index = first + Int64(place)
        }
        return list
    }

    // MARK: - Bytes

    /// A segment of one stream, found again by its name.
    private struct Found {
        var stream: MPDStream
        var place: SegmentPlaces.Place

        /// Whether a timeline lists it.
        var isTimed: Bool { stream.information?.timeline != nil }
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

    /// The streams of a segment; none in a period that does not have the rendition.
    private func find(_ name: SegmentName, _ manifest: Manifest) async throws -> [Found] {
        try await settings.threads.compute { [self] in try await findStreams(name, manifest) }
    }

    private func findStreams(_ name: SegmentName, _ manifest: Manifest) async throws -> [Found] {
        let tracks = try tracks(manifest)
        guard let period = manifest.period(named: name.period) else {
            throw manifest.mpd.kind == .dynamic
                ? ProxyError(.windowPassed, "the period is not in the live window any more") : SegmentName.unknown
        }
        let track = try tracks.track(name.rendition, .main)
        guard let main = try await find(track, period, index: name.index, time: name.time, manifest) else { return [] }
        var found = [main]
        if name.rendition.video != nil, let audio = try tracks.track(name.rendition, .audio) {
            let other = try await find(audio, period, index: name.audioIndex, time: name.audioTime, manifest)
            if let other { found.append(other) }
        }
        return found
    }

    func open(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
        try await surveyLicense()
        var manifest = try await reader.known()
        let found: [Found]
        do { found = try await find(name, manifest) } catch {
            // a list from a newer manifest may name segments that this manifest lacks
            guard manifest.mpd.kind == .dynamic else { throw error }
            manifest = try await reader.current()
            found = try await find(name, manifest)
        }
        guard !found.isEmpty else { return try await gap(name, manifest) }
        var sources: [SegmentSource] = []
        for found in found { sources.append(try await source(found)) }
        let edge = try await waitForEdge(found, manifest)
        do {
            return try await open(name, found, sources, SegmentOpening(origin: origin, deadline: edge?.deadline), use)
        } catch let error as ProxyError where error.code == .missing && edge?.hasPassed == true {
            throw ProxyError(.windowPassed, "the segment is not in the live window any more")
        }
    }

    private func open(
        _ name: SegmentName,
        _ found: [Found],
        _ sources: [SegmentSource],
        _ opening: SegmentOpening,
        _ use: KeyUse
    ) async throws -> ServedMedia {
        let keys = settings.keys.keys(for: use)
        if name.rendition.text != nil, let place = found.first?.place, let source = sources.first {
            let start = Int64(place.start / .milliseconds(1))
            let range = start..<start + max(1, Int64(place.duration / .milliseconds(1)))
            let text = try await TextSegment.make(source, range, opening, settings, keys)
            return ServedMedia(text: text)
        }
        var request = SegmentRequest(
            sources: sources,
            opening: opening,
            settings: settings,
            keys: keys,
            number: Int(truncatingIfNeeded: name.index)
        )
        if name.rendition.isPictures { return try await request.picture(found.first?.place.duration ?? .zero) }
        request.lacksPictures = name.rendition.video == nil && choice.withLock { $0?.plan.isMultiplexed ?? false }
        return settings.output == .fragments ? try await request.fragments() : try await request.transportStream()
    }

    /// A segment without samples, for players that load a gap.
    private func gap(_ name: SegmentName, _ manifest: Manifest) async throws -> ServedMedia {
        if name.rendition.text != nil {
            let text = Array("WEBVTT\n\n".utf8)
            return ServedMedia(text: text)
        }
        let stream = try await stream(name, manifest)
        do {
            let form = settings.segmentForm
            let bytes = try EmptySegment.bytes(of: try await initializations.initialization(of: stream), as: form)
            return ServedMedia(form, HeldBytes(bytes))
        } catch {
            throw ProxyError(error, in: "representation '\(stream.id)'")
        }
    }

    /// The stream of a rendition in a period, or in the nearest period that has the rendition, earlier ones first.
    private func stream(_ name: SegmentName, _ manifest: Manifest) async throws -> MPDStream {
        try await settings.threads.compute { [self] in try findStream(name, manifest) }
    }

    private func findStream(_ name: SegmentName, _ manifest: Manifest) throws -> MPDStream {
        guard let period = manifest.period(named: name.period), let track = try tracks(manifest).track(name.rendition, .main)
        else { throw SegmentName.unknown }
        for other in Array((0...period).reversed()) + Array(manifest.timings.indices.dropFirst(period + 1)) {
            guard let stream = manifest.stream(track, inPeriod: other) else { continue }
            lists.withLock { $0.streams[name.rendition.main] = stream }
            return stream
        }
        // the last period that had it has left the live window
        guard let stream = lists.withLock({ $0.streams[name.rendition.main] }) else { throw SegmentName.unknown }
        return stream
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
            return Edge(deadline: origin.clock.now + duration)
        }
        let now = await reader.now
        guard available <= now + duration else { throw SegmentName.unknown }
        if available > now { try await origin.clock.sleep(for: available - now) }
        // what is older than this has been made, or never will be
        if now - available < duration * 4 { return Edge(deadline: origin.clock.now + duration) }
        return Edge(hasPassed: index < segments.available(in: manifest.mpd, at: now).lowerBound)
    }

    func next(after name: SegmentName) async -> SegmentName? {
        // a player that seeks through I-frames does not continue with the next one
        if name.rendition.isPictures { return nil }
        guard let manifest = try? await reader.known(), let found = try? await find(name, manifest) else { return nil }
        let now = await reader.now
        var places: [SegmentPlaces.Place] = []
        for found in found {
            guard let place = try? await place(behind: found, manifest, now) else { return nil }
            places.append(place)
        }
        guard let main = places.first else { return nil }
        var next = name
        next.time = main.time
        // as the list names it
        let isLive = hasLiveNames(manifest)
        next.index = isLive && found[0].isTimed ? name.index + 1 : main.index
        if places.count > 1 {
            next.audioTime = places[1].time
            next.audioIndex = isLive && found[1].isTimed ? 0 : places[1].index
        }
        return next
    }

    /// The next segment of the stream, if it exists.
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

    func openInitialization(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
        let stream = try await stream(name, try await reader.current())
        let bytes = try await clearInitialization(of: stream, use)
        return ServedMedia(.fragment, HeldBytes(bytes))
    }

    private func clearInitialization(of stream: MPDStream, _ use: KeyUse) async throws -> [UInt8] {
        let initialization = try await initializations.initialization(of: stream)
        do {
            return try await MediaSegmentDecrypter(initialization: initialization, keys: settings.keys.keys(for: use), clock: nil)
                .clearInitialization
        } catch {
            throw ProxyError(error, in: "the initialization segment of representation '\(stream.id)'")
        }
    }

    func file(of name: SegmentName, _ use: KeyUse) async throws -> RangedFile {
        // subtitles are served as WebVTT, whose length differs
        guard !name.rendition.isText else { throw SegmentName.unknown }
        let manifest = try await reader.known()
        let (stream, index) = try await settings.threads.compute { [self] () async throws -> (MPDStream, StreamIndex) in
            guard let period = manifest.period(named: name.period), let track = try tracks(manifest).track(name.rendition, .main),
                let stream = manifest.stream(track, inPeriod: period),
                let index = try await indexes.index(of: stream, try manifest.segments(of: stream))
            else { throw SegmentName.unknown }
            return (stream, index)
        }
        let headLength = SegmentPlaces(index, of: stream, 0..<1).places.first?.range?.lowerBound ?? 0
        return RangedFile(count: index.entries.count, headLength: headLength) { [self] in
            try await head(of: stream, length: headLength, use)
        } segments: { place in
            guard let found = SegmentPlaces(index, of: stream, place..<place + 1).places.first, let range = found.range else {
                return nil
            }
            return RangedFile.Segment(
                name: SegmentName(period: name.period, name.rendition, index: found.index, time: found.time),
                range: range
            )
        }
    }

    /// The bytes of one file in front of its segments, in the clear.
    private func head(of stream: MPDStream, length: Int64, _ use: KeyUse) async throws -> [UInt8] {
        var head: [UInt8] = []
        // an initialization segment elsewhere has its own address
        if stream.initialization?.byteRange?.offset ?? 0 == 0, stream.initialization.map({ $0.url == stream.baseURL }) ?? true {
            head = try await clearInitialization(of: stream, use)
        }
        guard head.count < length else { return head }
        let rest = Int64(head.count)..<length
        return head
            + (try await SegmentOpening(origin: origin).resource(stream.baseURL, range: rest, limit: Self.headLimit).bytes)
    }

    /// Bytes in front of the segments of a file, at most.
    private static let headLimit = 8 << 20

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
            fragmentOrigin: fragmentOrigin.withLock { $0 },
            hasTags: found.stream.properties.inbandEventStreams.contains { TimedID3.schemes.contains($0.scheme.lowercased()) }
        )
    }
}
