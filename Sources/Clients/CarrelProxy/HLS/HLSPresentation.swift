// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelThreads

/// An HLS presentation whose segments are protected, as HLS in the clear (RFC 8216).
final class HLSPresentation: Presentation {
    /// The playlists of the source by their renditions here.
    private struct Top: Sendable {
        var outline = Outline()
        var sources: [RenditionName: String] = [:]
        /// Whether audio is what is protected, and pictures beside it are clear.
        var hasClearPictures = false
    }

    private struct State {
        var top: Top?
        var playlists: [RenditionName: HeldPlaylist] = [:]
        /// Those that the policy takes.
        var admitted: Set<RenditionName> = []
        /// The numbers behind the last restart of the source.
        var newest = LiveNumbers()
        /// Initialization sections, by their addresses and ranges.
        var initializations = LRUCache<String, [UInt8]>(limit: HLSPresentation.initializationsLimit)
        /// Initialization sections that lists of live sources had, of each rendition those that its lists had last.
        var places: [RenditionName: LRUCache<SegmentName, InitializationPlace>] = [:]
        /// Has keys of the session, and, unless the policy forbids it, those of key servers.
        var keys: any ContentKeySource
    }

    private let origin: MediaOrigin
    private let settings: SessionSettings
    let loader: PlaylistLoader
    private let state: Locked<State>

    /// Bytes of an initialization section, at most.
    private static let initializationLimit = 1 << 20
    /// Bytes of a segment of subtitles, at most.
    private static let textLimit = 16 << 20
    /// How long an origin that fails is asked for a playlist, and for a live one of which the last list can be played.
    private static let patience = Duration.seconds(6)
    private static let livePatience = Duration.milliseconds(1500)
    /// Bytes of initialization sections that are kept, at most.
    private static let initializationsLimit = 4 << 20
    /// Bytes of the places of initialization sections that are kept of each rendition, at most.
    private static let placesLimit = 64 << 10

    init(_ origin: MediaOrigin, _ settings: SessionSettings) {
        self.origin = origin
        self.settings = settings
        loader = PlaylistLoader(origin, settings.threads)
        state = Locked(State(keys: Self.keys(origin, settings)))
    }

    private static func keys(_ origin: MediaOrigin, _ settings: SessionSettings) -> any ContentKeySource {
        settings.policy == .seed ? settings.keys : ContentKeySources([settings.keys, OriginKeySource(origin)])
    }

    // MARK: - Top

    var kind: SourceSummary.Kind { .hls }

    func protections() async throws -> [MediaProtection] {
        let top = try await top()
        var found: [MediaProtection] = []
        for (place, name) in [top.outline.variants.first?.name, top.outline.audio.first?.name].compactMap({ $0 }).enumerated() {
            let held = try await known(name)
            var methods = try await settings.threads.compute { held.protections }
            // packets may be scrambled where no key line speaks of them
            if methods.isEmpty, place == 0, try await ScrambledSegment.isFirst(of: held, origin) {
                methods = [.scrambledTransportStream]
            }
            for method in methods where !found.contains(method) { found.append(method) }
        }
        return found
    }

    func outline() async throws -> Outline { try await top().outline }

    private func top() async throws -> Top {
        if let top = state.withLock({ $0.top }) { return top }
        let (playlist, url) = try await loader.playlist(at: origin.address)
        var made = Top()
        switch playlist {
        case .multivariant(let list):
            let tracks = try await settings.threads.compute { [origin, settings] in
                try HLSTracks(list, settings.wishes) { origin.resolve($0, against: url) }
            }
            settings.form.use(tracks.plan.output)
            (made.outline, made.sources) = (tracks.outline, tracks.sources)
        case .media(let list):
            // two levels, even for one variant
            let bitrate = list.segments.compactMap(\.bitrate).max().map { Int(clamping: $0) &* 1000 }
            let tracks = try HLSTracks(of: url, bandwidth: bitrate ?? settings.parameters.bitrate, settings.wishes)
            (made.outline, made.sources) = (tracks.outline, tracks.sources)
            let name = RenditionName(video: 0)
            state.withLock { $0.playlists[name] = HeldPlaylist(list, url: url, at: .now) }
        }
        guard let first = made.outline.variants.first?.name, let source = made.sources[first] else {
            throw ProxyError(.manifest, "the playlist has no variant")
        }
        let held = try await self.playlist(first, source)
        do { try await check(held) } catch let error as ProxyError where error.code == .clearContent {
            // pictures may be in the clear beside protected audio
            guard let audio = made.outline.audio.first?.name, let source = made.sources[audio] else { throw error }
            try await check(try await self.playlist(audio, source))
            made.hasClearPictures = true
        }
        made.outline.isLive = !held.playlist.isEnded
        if settings.output == .fragments, held.playlist.segments.first.map({ $0.initialization == nil }) ?? false {
            made.outline.warnings.append(.transportStream)
        }
        state.withLock { [made] state in
            state.top = made
            state.admitted.insert(first)
        }
        return made
    }

    // MARK: - Policy

    /// Refuses what the policy does not take, by a media playlist.
    private func check(_ held: HeldPlaylist) async throws {
        guard held.playlist.segments.contains(where: { !$0.keys.isEmpty }) else {
            // packets may be scrambled, and fragments encrypted, where no key line speaks of them
            if settings.takesClearContent { return }
            if try await ScrambledSegment.isFirst(of: held, origin) { return }
            guard try await isEncrypted(held) else { throw ProxyError(.clearContent, "the playlist names no protection") }
            guard settings.policy != .seed else {
                throw ProxyError(.unsupported, "fragments without a key line are not taken by this policy")
            }
            return
        }
        try checkMethods(held.playlist)
    }

    /// Refuses a playlist that the policy does not take, when it is read first: each variant is judged by itself.
    ///
    /// Subtitles are clear as a rule, and so may audio be beside protected pictures, or pictures beside protected audio.
    private func admit(_ name: RenditionName, _ held: HeldPlaylist, _ top: Top) async throws {
        guard name.text == nil, held.playlist.segments.contains(where: { !$0.isGap }),
            !state.withLock({ $0.admitted.contains(name) })
        else { return }
        do { try await check(held) } catch let error as ProxyError where error.code == .clearContent {
            guard (name.audio == nil) == top.hasClearPictures else { throw error }
        }
        state.withLock { _ = $0.admitted.insert(name) }
    }

    /// Refuses every method that the policy does not take.
    private func checkMethods(_ playlist: MediaPlaylist) throws(ProxyError) {
        guard settings.policy == .seed else { return }
        for segment in playlist.segments {
            if let key = segment.keys.first(where: { $0.method != .aes128 }) {
                throw ProxyError(.unsupported, "\(key.method.rawValue) is not taken by this policy")
            }
        }
    }

    /// Whether the first initialization section names a protection (ISO/IEC 23001-7 §4).
    private func isEncrypted(_ held: HeldPlaylist) async throws -> Bool {
        guard let first = held.playlist.segments.first(where: { !$0.isGap }),
            let initialization = try await initialization(first, held)
        else { return false }
        do { return try SegmentDecryption.isEncrypted(initialization) } catch {
            throw ProxyError(error, in: "an initialization section")
        }
    }

    // MARK: - Media playlists

    /// A media playlist; a live one is read again when half its target duration has gone by.
    private func playlist(_ name: RenditionName, _ source: String) async throws -> HeldPlaylist {
        let held = state.withLock { $0.playlists[name] }
        if let held, !held.isDue(at: .now) { return held }
        guard let held else { return try await reload(name, source, Self.patience) }
        // the last playlist goes on to be played while the origin is away; a late one comes with the next request
        let reloaded = try await within(Self.livePatience) {
            do { return try await self.reload(name, source, Self.livePatience) } catch let error as ProxyError {
                guard error.code != .unsupported else { throw error }
                return held
            }
        }
        return reloaded ?? held
    }

    /// Loads a media playlist.
    private func reload(_ name: RenditionName, _ source: String, _ patience: Duration) async throws -> HeldPlaylist {
        let loaded = try await loader.playlist(at: source, patience: patience)
        guard case .media(let list) = loaded.playlist else {
            throw ProxyError(.manifest, "\(MediaOrigin.shown(source)) is not a media playlist")
        }
        if name.text == nil { try checkMethods(list) }
        return state.withLock { state in
            let now = ContinuousClock.now
            let new =
                state.playlists[name]?.updated(with: list, url: loaded.url, at: now, newest: state.newest)
                ?? HeldPlaylist(list, url: loaded.url, at: now, state.newest)
            state.playlists[name] = new
            if new.numbers.epoch > state.newest.epoch {
                // the same addresses may have other initialization sections and keys
                state.newest = new.numbers
                state.initializations.removeAll()
                state.places = [:]
                state.keys = Self.keys(origin, settings)
            }
            return new
        }
    }

    private func playlist(_ name: RenditionName) async throws -> HeldPlaylist {
        let top = try await top()
        guard let source = top.sources[name] else { throw SegmentName.unknown }
        let held = try await playlist(name, source)
        try await admit(name, held, top)
        return held
    }

    /// The playlist that was read last.
    private func known(_ name: RenditionName) async throws -> HeldPlaylist {
        // what the policy refuses has a playlist, and no segments
        let top = try await top()
        guard let held = state.withLock({ $0.playlists[name] }) else { return try await playlist(name) }
        try await admit(name, held, top)
        return held
    }

    func segments(of rendition: RenditionName) async throws -> SegmentList {
        let held = try await playlist(rendition)
        return try await settings.threads.compute { [self] in list(rendition, held) }
    }

    private func list(_ rendition: RenditionName, _ held: HeldPlaylist) -> SegmentList {
        let playlist = held.playlist
        var list = SegmentList()
        list.mediaSequence = UInt64(clamping: held.first)
        list.discontinuitySequence = held.discontinuitySequence
        list.isEnded = playlist.isEnded
        list.leastTarget = held.target
        list.isTransportStream = playlist.segments.first?.initialization == nil
        if list.isTransportStream, rendition.text == nil {
            list.packedAudio = playlist.segments.first { !$0.isGap }.flatMap { PackedFormat(uri: $0.uri) }
        }
        list.segments.reserveCapacity(playlist.segments.count)
        var initialization: MediaSegment.Initialization?
        for (place, segment) in playlist.segments.enumerated() {
            let number = held.first &+ Int64(place)
            var made = SegmentList.Segment(name: SegmentName(rendition, index: number), duration: segment.duration)
            made.isDiscontinuity = held.isDiscontinuity(segment, number: number)
            made.isGap = segment.isGap
            made.hasInitialization = segment.initialization != initialization
            initialization = segment.initialization
            if made.hasInitialization || place == 0, let known = InitializationPlace(segment, held) {
                made.initialization = known.name(rendition)
                if !playlist.isEnded { note(known, rendition) }
            }
            made.date = segment.programDateTime
            list.segments.append(made)
        }
        return list
    }

    // MARK: - Bytes

    private func segment(_ name: SegmentName) async throws -> (MediaSegment, HeldPlaylist) {
        var held = try await known(name.rendition)
        if name.index >= held.end {
            // a player may know of a list that was taken back meanwhile
            held = try await playlist(name.rendition)
        }
        guard name.index >= held.first else {
            throw ProxyError(.windowPassed, "the segment is not in the live window any more")
        }
        guard name.index < held.end else { throw SegmentName.unknown }
        return (held.playlist.segments[held.place(of: name.index)], held)
    }

    /// The place of an initialization section; that of a player with an older list too.
    private func place(ofInitialization name: SegmentName) async throws -> InitializationPlace? {
        guard name.time != 0 else {
            let (segment, held) = try await segment(name)
            return InitializationPlace(segment, held)
        }
        let held = try await known(name.rendition)
        let listed = try await settings.threads.compute { InitializationPlace(name, in: held) }
        let place = listed ?? state.withLock { $0.places[name.rendition]?[name] }
        guard let place else { throw ProxyError(.windowPassed, "the initialization section is not in the live window any more") }
        return place
    }

    private func note(_ place: InitializationPlace, _ rendition: RenditionName) {
        state.withLock { state in
            state.places[rendition, default: LRUCache(limit: Self.placesLimit)]
                .insert(place, for: place.name(rendition), cost: place.cost)
        }
    }

    func next(after name: SegmentName) async -> SegmentName? {
        guard let held = state.withLock({ $0.playlists[name.rendition] }) else { return nil }
        let place = held.place(of: name.index + 1)
        guard held.playlist.segments.indices.contains(place), !held.playlist.segments[place].isGap else { return nil }
        var next = name
        next.index += 1
        return next
    }

    func open(_ name: SegmentName) async throws -> ServedMedia {
        if let picture = try await openPicture(name) { return picture }
        let (segment, held) = try await segment(name)
        let (key, keys) = resolved(segment.keys, held.url)
        let initialization = try await initialization(segment, held)
        let url = origin.resolve(segment.uri, against: held.url)
        var opening = SegmentOpening(origin: origin)
        if !held.playlist.isEnded, name.index + 3 >= held.end {
            // a server behind another may not have the newest yet
            opening.deadline = .now + max(.milliseconds(200), min(segment.duration, .seconds(10)))
        }
        let stream = try await opening.open(url, range: segment.byteRange?.range)
        // packets that are not scrambled pass as they are
        if key == nil, initialization == nil, ScrambledSegment.isTransportStream(stream.head) {
            return ServedMedia(contentType: "video/mp2t", bytes: DescrambledBytes(stream, keys: keys))
        }
        // fragments that come with their movie name their keys there
        if key == nil, initialization == nil, name.rendition.text == nil, MediaBeginning.isBoxes(stream.head) {
            let number = Int(truncatingIfNeeded: name.index)
            return ServedMedia(
                contentType: "video/mp2t",
                bytes: RemuxedBytes([stream], [SegmentRemux.Stream(tracks: [])], number: number, keys: keys)
            )
        }
        let decryption = SegmentDecryption(
            stream: stream,
            key: key,
            number: held.playlist.sequenceNumber(ofSegmentAt: held.place(of: name.index)),
            place: name.index,
            initialization: initialization,
            keys: keys
        )
        if name.rendition.text != nil {
            let isRemuxed = try await isRemuxed()
            let text = try await decryption.text(limit: Self.textLimit, isRemuxed: isRemuxed, settings.threads)
            return ServedMedia(contentType: "text/vtt; charset=utf-8", bytes: HeldBytes(text))
        }
        if initialization != nil, settings.output == .transportStream { return try await decryption.transportStream() }
        return try await decryption.plain(
            as: initialization != nil ? "video/mp4" : PackedFormat(uri: segment.uri)?.contentType ?? "video/mp2t"
        )
    }

    /// Whether the media of the source are fragments that become transport streams, with a clock of their own.
    private func isRemuxed() async throws -> Bool {
        guard settings.output == .transportStream, let first = try await top().outline.variants.first?.name else { return false }
        return try await playlist(first).playlist.segments.first?.initialization != nil
    }

    func openInitialization(_ name: SegmentName) async throws -> ServedMedia {
        guard let place = try await place(ofInitialization: name) else { throw SegmentName.unknown }
        let initialization = try await initialization(at: place)
        let bytes: [UInt8]
        do {
            let (key, keys) = resolved(place.keys, place.base)
            let isSampled = key.map { [.sampleAES, .sampleAESCTR].contains($0.method) } ?? true
            let decrypter = try await SegmentDecryption.decrypter(isSampled ? key : nil, 0, initialization, keys)
            bytes = decrypter.clearInitialization.isEmpty ? initialization : decrypter.clearInitialization
        } catch {
            throw ProxyError(error, in: "an initialization section")
        }
        return ServedMedia(contentType: "video/mp4", bytes: HeldBytes(bytes))
    }

    /// The key line that counts: the first one whose key is not that of another system, its address resolved.
    private func resolved(_ lines: [EncryptionKey], _ base: String) -> (key: EncryptionKey?, keys: any ContentKeySource) {
        let keys = state.withLock { $0.keys }
        let isPlain = { (line: EncryptionKey) in line.keyFormat == nil || line.keyFormat?.lowercased() == "identity" }
        guard var key = lines.first(where: { $0.contentID != nil || isPlain($0) }) ?? lines.first else { return (nil, keys) }
        guard key.contentID == nil, !key.uri.lowercased().hasPrefix("data:") else { return (key, keys) }
        let written = key.uri
        key.uri = origin.resolve(written, against: base)
        return (key, WrittenAddressKeys(keys: keys, written: written, resolved: key.uri))
    }

    /// A sync picture; nil of other segments, and of resources that are encrypted as a whole.
    ///
    /// A playlist of sync pictures names the head of a fragment with its first sample alone: that is made whole.
    private func openPicture(_ name: SegmentName) async throws -> ServedMedia? {
        guard name.rendition.isPictures else { return nil }
        let (segment, held) = try await segment(name)
        let (key, keys) = resolved(segment.keys, held.url)
        let url = origin.resolve(segment.uri, against: held.url)
        let number = held.playlist.sequenceNumber(ofSegmentAt: held.place(of: name.index))
        let initialization = try await initialization(segment, held) ?? []
        guard !initialization.isEmpty, initialization.first != 0x47 else {
            guard key == nil || key?.method == .sampleAES else { return nil }
            let picture = TransportPicture(segment: segment, url: url, range: segment.byteRange?.range, tables: initialization)
            return try await picture.media(origin, held.playlist, key, number, keys)
        }
        let stream = try await SegmentOpening(origin: origin).open(url, range: segment.byteRange?.range)
        let request = PictureRequest(
            stream: stream,
            form: settings.output == .fragments ? .fragment : .transportStream,
            duration: segment.duration,
            number: Int(truncatingIfNeeded: name.index)
        )
        do {
            return try await request.media(try await SegmentDecryption.decrypter(key, number, initialization, keys))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }

    private func initialization(_ segment: MediaSegment, _ held: HeldPlaylist) async throws -> [UInt8]? {
        guard let place = InitializationPlace(segment, held) else { return nil }
        return try await initialization(at: place)
    }

    /// An initialization section, decrypted where it is encrypted as a whole.
    private func initialization(at place: InitializationPlace) async throws -> [UInt8] {
        let url = origin.resolve(place.initialization.uri, against: place.base)
        let range = place.initialization.byteRange?.range
        let key = "\(url) \(range.map { "\($0)" } ?? "")"
        if let known = state.withLock({ $0.initializations[key] }) { return known }
        let bytes = try await clearWhole(
            try await SegmentOpening(origin: origin).resource(url, range: range, limit: Self.initializationLimit).bytes,
            place,
            url
        )
        // a damaged one is loaded again
        if MovieHead.isMovie(bytes) { state.withLock { $0.initializations.insert(bytes, for: key, cost: bytes.count) } }
        return bytes
    }

    private func clearWhole(_ bytes: [UInt8], _ place: InitializationPlace, _ url: String) async throws -> [UInt8] {
        let (line, keys) = resolved(place.initialization.keys, place.base)
        guard let key = line, ![.sampleAES, .sampleAESCTR].contains(key.method) else { return bytes }
        do {
            var decrypter = try await MediaSegmentDecrypter(key, segment: place.mediaSequence, keys: keys)
            var sink = BytesSink()
            try await decrypter.decrypt(bytes.rawSpan, to: &sink)
            try await decrypter.finish(to: &sink)
            return sink.bytes
        } catch {
            throw ProxyError(error, in: MediaOrigin.shown(url))
        }
    }
}
