// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// Serves an HLS presentation with protected segments as clear HLS (RFC 8216).
final class HLSPresentation: Presentation {
    /// The playlists of the source by their renditions here.
    private struct Top: Sendable {
        var outline = Outline()
        var sources: [RenditionName: String] = [:]
        /// The pixels of their pictures, if they are known.
        var pixels: [RenditionName: Int] = [:]
        /// Whether audio is protected and video is clear.
        var hasClearPictures = false
    }

    private struct State {
        var top: Top?
        var playlists: [RenditionName: HeldPlaylist] = [:]
        /// Those that the policy takes.
        var admitted: Set<RenditionName> = []
        /// The numbers after the last restart of the source.
        var newest = LiveNumbers()
        /// Initialization sections, by their addresses and ranges.
        var initializations = LRUCache<String, [UInt8]>(limit: HLSPresentation.initializationsLimit)
        /// Initialization sections that lists of live sources had, of each rendition those that its lists had last.
        var places: [RenditionName: LRUCache<SegmentName, InitializationPlace>] = [:]
        /// The keys of key servers; nil if the policy forbids them.
        var originKeys: OriginKeySource?
    }

    let origin: MediaOrigin
    let settings: SessionSettings
    private let loader: PlaylistLoader
    private let state: Locked<State>

    /// Bytes of an initialization section, at most.
    private static let initializationLimit = 1 << 20
    /// Bytes of a segment of subtitles, at most.
    private static let textLimit = 16 << 20
    /// How long a failing origin is retried for a playlist, and for a live playlist whose previous version can be played.
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
        state = Locked(State(originKeys: Self.originKeys(origin, settings)))
    }

    private static func originKeys(_ origin: MediaOrigin, _ settings: SessionSettings) -> OriginKeySource? {
        // a saved source has no key server
        settings.policy == .compatible || origin.package != nil ? nil : OriginKeySource(origin)
    }

    /// The keys of the session, then the keys of key servers.
    func keys(_ use: KeyUse) -> any ContentKeySource {
        let own = settings.keys.keys(for: use)
        guard let origin = state.withLock({ $0.originKeys }) else { return own }
        return ContentKeySources([own, origin.keys(for: use)])
    }

    /// Cancels the loads of playlists.
    func end() { Task { [loader] in await loader.end() } }

    // MARK: - Top

    var kind: SourceSummary.Kind { .hls }

    func protections(_ use: KeyUse) async throws -> [MediaProtection] {
        let top = try await top(use)
        var found: [MediaProtection] = []
        for (place, name) in [top.outline.variants.first?.name, top.outline.audio.first?.name].compactMap({ $0 }).enumerated() {
            let held = try await known(name, use)
            var methods = try await settings.threads.compute { held.protections }
            // packets may be scrambled without a key line
            if methods.isEmpty, place == 0, try await ScrambledSegment.isFirst(of: held, origin) {
                methods = [.scrambledTransportStream]
            }
            for method in methods where !found.contains(method) { found.append(method) }
        }
        return found
    }

    func outline(_ use: KeyUse) async throws -> Outline { try await top(use).outline }

    private func top(_ use: KeyUse) async throws -> Top {
        if let top = state.withLock({ $0.top }) { return top }
        let (playlist, url) = try await loader.playlist(at: origin.address)
        var made = Top()
        switch playlist {
        case .multivariant(let list):
            let tracks = try await tracks(of: list, url, use)
            settings.form.use(tracks.plan.output)
            (made.outline, made.sources, made.pixels) = (tracks.outline, tracks.sources, tracks.pixels)
        case .media(let list):
            // two levels, even for one variant
            let bitrate = list.segments.compactMap(\.bitrate).max().map { Int(clamping: $0) &* 1000 }
            let tracks = try HLSTracks(of: url, bandwidth: bitrate ?? settings.parameters.bitrate, settings.wishes)
            (made.outline, made.sources) = (tracks.outline, tracks.sources)
            let name = RenditionName(video: 0)
            state.withLock { $0.playlists[name] = HeldPlaylist(list, url: url, at: origin.clock.now) }
        }
        guard let first = made.outline.variants.first?.name, let source = made.sources[first] else {
            throw ProxyError(.manifest, "the playlist has no variant")
        }
        let held = try await self.playlist(first, source)
        do { try await check(held, use) } catch let error as ProxyError where error.code == .clearContent {
            // video may be clear while audio is protected
            guard let audio = made.outline.audio.first?.name, let source = made.sources[audio] else { throw error }
            try await check(try await self.playlist(audio, source), use)
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
    private func check(_ held: HeldPlaylist, _ use: KeyUse) async throws {
        guard held.playlist.segments.contains(where: { !$0.keys.isEmpty }) else {
            // packets may be scrambled, and fragments encrypted, without a key line
            if settings.takesClearContent { return }
            if try await ScrambledSegment.isFirst(of: held, origin) { return }
            guard try await isEncrypted(held, use) else { throw ProxyError(.clearContent, "the playlist names no protection") }
            guard settings.policy != .compatible else {
                throw ProxyError(.unsupported, "fragments without a key line are not taken by this policy")
            }
            return
        }
        try checkMethods(held.playlist)
    }

    /// Refuses a playlist that the policy forbids when it is first read. Each variant is checked separately.
    ///
    /// Subtitles are usually clear. Audio may be clear with protected video, and video with protected audio.
    private func admit(_ name: RenditionName, _ held: HeldPlaylist, _ top: Top, _ use: KeyUse) async throws {
        guard name.text == nil, held.playlist.segments.contains(where: { !$0.isGap }),
            !state.withLock({ $0.admitted.contains(name) })
        else { return }
        do { try await check(held, use) } catch let error as ProxyError where error.code == .clearContent {
            guard (name.audio == nil) == top.hasClearPictures else { throw error }
        }
        state.withLock { _ = $0.admitted.insert(name) }
    }

    /// Refuses every method that the policy does not take.
    private func checkMethods(_ playlist: MediaPlaylist) throws(ProxyError) {
        guard settings.policy == .compatible else { return }
        for segment in playlist.segments {
            if let key = segment.keys.first(where: { $0.method != .aes128 }) {
                throw ProxyError(.unsupported, "\(key.method.rawValue) is not taken by this policy")
            }
        }
    }

    /// Whether the first initialization section names a protection (ISO/IEC 23001-7 §4).
    private func isEncrypted(_ held: HeldPlaylist, _ use: KeyUse) async throws -> Bool {
        guard let first = held.playlist.segments.first(where: { !$0.isGap }),
            let initialization = try await initialization(first, held, use)
        else { return false }
        do { return try SegmentDecryption.isEncrypted(initialization) } catch {
            throw ProxyError(error, in: "an initialization section")
        }
    }

    // MARK: - Media playlists

    /// A media playlist; a live one is reloaded after half its target duration.
    private func playlist(_ name: RenditionName, _ source: String) async throws -> HeldPlaylist {
        let held = state.withLock { $0.playlists[name] }
        if let held, !held.isDue(at: origin.clock.now) { return held }
        guard let held else { return try await reload(name, source, Self.patience) }
        // the last playlist is played while the origin is unavailable; a late response is used for the next request
        let reloaded = try await within(Self.livePatience, sleep: origin.clock.sleep) {
            do { return try await self.reload(name, source, Self.livePatience) } catch let error as ProxyError {
                guard error.code != .unsupported else { throw error }
                return held
            }
        }
        return reloaded ?? held
    }

    /// A media playlist for the choice of tracks; nil if it cannot be loaded now.
    func survey(_ source: String) async -> HeldPlaylist? {
        guard case .media(let list)? = try? await loader.playlist(at: source, patience: .zero).playlist else { return nil }
        return HeldPlaylist(list, url: source, at: origin.clock.now)
    }

    /// Loads a media playlist.
    private func reload(_ name: RenditionName, _ source: String, _ patience: Duration) async throws -> HeldPlaylist {
        let loaded = try await loader.playlist(at: source, patience: patience)
        guard case .media(let list) = loaded.playlist else {
            throw ProxyError(.manifest, "\(MediaOrigin.shown(source)) is not a media playlist")
        }
        if name.text == nil { try checkMethods(list) }
        return state.withLock { state in
            let now = origin.clock.now
            let new =
                state.playlists[name]?.updated(with: list, url: loaded.url, at: now, newest: state.newest)
                ?? HeldPlaylist(list, url: loaded.url, at: now, state.newest)
            state.playlists[name] = new
            if new.numbers.epoch > state.newest.epoch {
                // the same addresses may have other initialization sections and keys
                state.newest = new.numbers
                state.initializations.removeAll()
                state.places = [:]
                state.originKeys = Self.originKeys(origin, settings)
            }
            return new
        }
    }

    private func playlist(_ name: RenditionName, _ use: KeyUse) async throws -> HeldPlaylist {
        let top = try await top(use)
        guard let source = top.sources[name] else { throw SegmentName.unknown }
        let held = try await playlist(name, source)
        try await admit(name, held, top, use)
        return held
    }

    /// The playlist that was read last.
    private func known(_ name: RenditionName, _ use: KeyUse) async throws -> HeldPlaylist {
        // what the policy refuses has a playlist, and no segments
        let top = try await top(use)
        guard let held = state.withLock({ $0.playlists[name] }) else { return try await playlist(name, use) }
        try await admit(name, held, top, use)
        return held
    }

    func segments(of rendition: RenditionName, _ use: KeyUse) async throws -> SegmentList {
        let held = try await playlist(rendition, use)
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

    private func segment(_ name: SegmentName, _ use: KeyUse) async throws -> (MediaSegment, HeldPlaylist) {
        var held = try await known(name.rendition, use)
        if name.index >= held.end {
            // a player may have a list that was replaced by an older one
            held = try await playlist(name.rendition, use)
        }
        guard name.index >= held.first else {
            throw ProxyError(.windowPassed, "the segment is not in the live window any more")
        }
        guard name.index < held.end else { throw SegmentName.unknown }
        return (held.playlist.segments[held.place(of: name.index)], held)
    }

    /// The place of an initialization section, including one that a player knows from an older list.
    private func place(ofInitialization name: SegmentName, _ use: KeyUse) async throws -> InitializationPlace? {
        guard name.time != 0 else {
            let (segment, held) = try await segment(name, use)
            return InitializationPlace(segment, held)
        }
        let held = try await known(name.rendition, use)
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

    func open(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
        if let picture = try await openPicture(name, use) { return picture }
        let (segment, held) = try await segment(name, use)
        let (key, keys) = resolved(segment.keys, held.url, use)
        let initialization = try await initialization(segment, held, use)
        let url = origin.resolve(segment.uri, against: held.url)
        let pixels = try await top(use).pixels[name.rendition]
        var opening = SegmentOpening(origin: origin)
        if !held.playlist.isEnded, name.index + 3 >= held.end {
            // one server of several may not have the newest segment yet
            opening.deadline = origin.clock.now + max(.milliseconds(200), min(segment.duration, .seconds(10)))
        }
        let stream = try await opening.open(url, range: segment.byteRange?.range)
        // clear packets pass unchanged
        if key == nil, initialization == nil, ScrambledSegment.isTransportStream(stream.head) {
            return ServedMedia(.transportStream, DescrambledBytes(stream, keys: keys, pixels: pixels))
        }
        // fragments that come with their movie name their keys there
        if key == nil, initialization == nil, name.rendition.text == nil, MediaBeginning.isBoxes(stream.head) {
            let number = Int(truncatingIfNeeded: name.index)
            return ServedMedia(
                .transportStream,
                RemuxedBytes(
                    [stream],
                    [SegmentRemux.Stream(tracks: [])],
                    name: stream.name,
                    number: number,
                    keys: keys
                )
            )
        }
        let decryption = SegmentDecryption(
            stream: stream,
            key: key,
            number: held.playlist.sequenceNumber(ofSegmentAt: held.place(of: name.index)),
            place: name.index,
            initialization: initialization,
            keys: keys,
            pixels: pixels
        )
        if name.rendition.text != nil {
            let isRemuxed = try await isRemuxed(use)
            let text = try await decryption.text(limit: Self.textLimit, isRemuxed: isRemuxed, settings.threads)
            return ServedMedia(text: text)
        }
        if initialization != nil, settings.output == .transportStream { return try await decryption.transportStream() }
        return try await decryption.plain(
            as: initialization != nil ? "video/mp4" : PackedFormat(uri: segment.uri)?.contentType ?? "video/mp2t"
        )
    }

    /// Whether the media of the source are fragments that become transport streams, with a clock of their own.
    private func isRemuxed(_ use: KeyUse) async throws -> Bool {
        guard settings.output == .transportStream, let first = try await top(use).outline.variants.first?.name else {
            return false
        }
        return try await playlist(first, use).playlist.segments.first?.initialization != nil
    }

    func openInitialization(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
        guard let place = try await place(ofInitialization: name, use) else { throw SegmentName.unknown }
        let initialization = try await initialization(at: place, use)
        let bytes: [UInt8]
        do {
            let (key, keys) = resolved(place.keys, place.base, use)
            let isSampled = key.map { [.sampleAES, .sampleAESCTR].contains($0.method) } ?? true
            let decrypter = try await SegmentDecryption.decrypter(isSampled ? key : nil, 0, initialization, keys, nil)
            bytes = decrypter.clear(initialization)
        } catch {
            throw ProxyError(error, in: "an initialization section")
        }
        return ServedMedia(.fragment, HeldBytes(bytes))
    }

    /// The effective key line: the first one for this key system or, if all are for other systems, the first one. Its address is
    /// resolved.
    func resolved(
        _ lines: [EncryptionKey],
        _ base: String,
        _ use: KeyUse
    ) -> (key: EncryptionKey?, keys: any ContentKeySource) {
        let keys = keys(use)
        guard var key = EncryptionKey.effective(of: lines) else { return (nil, keys) }
        guard key.contentID == nil, !key.uri.lowercased().hasPrefix("data:") else { return (key, keys) }
        let written = key.uri
        key.uri = origin.resolve(written, against: base)
        return (key, WrittenAddressKeys(keys: keys, written: written, resolved: key.uri))
    }

    /// A sync picture; nil for other segments, and of resources that are encrypted as a whole.
    ///
    /// A playlist of sync pictures names the head of a fragment with its first sample alone: that is made whole.
    private func openPicture(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia? {
        guard name.rendition.isPictures else { return nil }
        let (segment, held) = try await segment(name, use)
        let (key, keys) = resolved(segment.keys, held.url, use)
        let url = origin.resolve(segment.uri, against: held.url)
        let number = held.playlist.sequenceNumber(ofSegmentAt: held.place(of: name.index))
        let pixels = try await top(use).pixels[name.rendition]
        let initialization = try await initialization(segment, held, use) ?? []
        guard !initialization.isEmpty, initialization.first != 0x47 else {
            guard key == nil || key?.method == .sampleAES else { return nil }
            let picture = TransportPicture(
                segment: segment,
                url: url,
                range: segment.byteRange?.range,
                tables: initialization,
                pixels: pixels
            )
            return try await picture.media(origin, held.playlist, key, number, keys)
        }
        let stream = try await SegmentOpening(origin: origin).open(url, range: segment.byteRange?.range)
        let request = PictureRequest(
            stream: stream,
            form: settings.segmentForm,
            duration: segment.duration,
            number: Int(truncatingIfNeeded: name.index)
        )
        do {
            return try await request.media(try await SegmentDecryption.decrypter(key, number, initialization, keys, pixels))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }

    func initialization(_ segment: MediaSegment, _ held: HeldPlaylist, _ use: KeyUse) async throws -> [UInt8]? {
        guard let place = InitializationPlace(segment, held) else { return nil }
        return try await initialization(at: place, use)
    }

    /// An initialization section, decrypted if it is encrypted as a whole.
    private func initialization(at place: InitializationPlace, _ use: KeyUse) async throws -> [UInt8] {
        let url = origin.resolve(place.initialization.uri, against: place.base)
        let range = place.initialization.byteRange?.range
        let key = "\(url) \(range.map { "\($0)" } ?? "")"
        if let known = state.withLock({ $0.initializations[key] }) { return known }
        let bytes = try await clearWhole(
            try await SegmentOpening(origin: origin).resource(url, range: range, limit: Self.initializationLimit).bytes,
            place,
            url,
            use
        )
        // a damaged one is loaded again
        if MovieHead.isMovie(bytes) { state.withLock { $0.initializations.insert(bytes, for: key, cost: bytes.count) } }
        return bytes
    }

    private func clearWhole(
        _ bytes: [UInt8],
        _ place: InitializationPlace,
        _ url: String,
        _ use: KeyUse
    ) async throws -> [UInt8] {
        let (line, keys) = resolved(place.initialization.keys, place.base, use)
        guard let key = line, ![.sampleAES, .sampleAESCTR].contains(key.method) else { return bytes }
        do {
            var decrypter = try await MediaSegmentDecrypter(key, segment: place.mediaSequence, keys: keys, pixels: 0)
            var sink = BytesSink()
            try await decrypter.decrypt(bytes.rawSpan, to: &sink)
            try await decrypter.finish(to: &sink)
            return sink.bytes
        } catch {
            throw ProxyError(error, in: MediaOrigin.shown(url))
        }
    }
}
