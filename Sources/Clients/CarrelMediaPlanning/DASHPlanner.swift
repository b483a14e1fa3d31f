// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation
import CarrelSavedMedia
import CarrelThreads
import CarrelTimedText

/// Plans the download of a DASH source (ISO/IEC 23009-1).
struct DASHPlanner {
    private let origin: MediaOrigin
    private let threads: SessionThreads
    private let selection: MediaSelection
    private let initializations: InitializationCache
    private let indexes: IndexCache

    init(_ origin: MediaOrigin, _ threads: SessionThreads, _ selection: MediaSelection) {
        self.origin = origin
        self.threads = threads
        self.selection = selection
        initializations = InitializationCache(origin)
        indexes = IndexCache(origin, threads)
    }

    /// A representation of the first period that is saved.
    private struct Selected {
        var kind: SavedStream.Kind
        var position: SavedTrack
        var track: Manifest.Track
    }

    func plan() async throws -> MediaPlan {
        let reader = ManifestReader(origin, threads)
        let manifest = try await reader.current()
        await reader.end()
        guard manifest.mpd.kind != .dynamic else {
            throw ProxyError(
                .live,
                "\(MediaOrigin.shown(manifest.url)) is live: its type is dynamic, and only static sources can be saved"
            )
        }
        var builder = PlanBuilder(SavedSource(address: origin.address, form: .dash))
        let selected = try await threads.compute { [builder] in
            var builder = builder
            let tracks = try select(manifest, &builder)
            return (tracks: tracks, builder: builder)
        }
        builder = selected.builder
        builder.update { plan in
            plan.source.tracks = selected.tracks.map(\.position)
            let end = manifest.timings.compactMap { timing in timing.duration.map { timing.start + $0 } }.max()
            plan.duration = manifest.mpd.mediaPresentationDuration ?? end
        }
        // representations of other periods may continue several tracks
        var known: Set<[Int]> = []
        for track in selected.tracks {
            var stream = SavedStream(
                kind: track.kind,
                bandwidth: Int(min(track.track.representation.bandwidth, 1 << 48)),
                language: track.track.set.language.map { LanguageTag.canonical($0) },
                pieces: []
            )
            for period in manifest.timings.indices where !manifest.timings[period].isEarly {
                guard let source = manifest.stream(track.track, inPeriod: period) else { continue }
                let position = source.position
                guard known.insert([position.period, position.adaptationSet, position.representation]).inserted else { continue }
                stream.pieces += try await pieces(of: source, manifest, &builder)
                guard stream.pieces.count <= SegmentPlaces.limit else {
                    throw ProxyError(.manifest, "representation '\(source.id)' has more than \(SegmentPlaces.limit) segments")
                }
            }
            try builder.add(stream)
        }
        guard !builder.plan.streams.isEmpty else { throw ProxyError(.manifest, "the MPD has no segment") }
        builder.finish()
        return builder.plan
    }

    // MARK: - Selection

    private func select(_ manifest: Manifest, _ builder: inout PlanBuilder) throws(ProxyError) -> [Selected] {
        guard let period = manifest.mpd.periods.first else { throw ProxyError(.manifest, "the MPD has no period") }
        var sets: [String: [Int]] = [:]
        for (place, set) in period.adaptationSets.enumerated() where TrickMode.main(of: set) == nil {
            guard !set.representations.isEmpty, let kind = set.kind else { continue }
            sets[kind, default: []].append(place)
        }
        var selected: [Selected] = []
        func add(_ set: Int, _ kind: SavedStream.Kind) {
            let representations = period.adaptationSets[set].representations
            // of audio and texts next to video, the best is as good as any
            let bandwidths = representations.map { Int(min($0.bandwidth, 1 << 48)) }
            let isVariant = kind == .video || kind == .audio && sets["video"] == nil
            let best = bandwidths.indices.max { bandwidths[$0] < bandwidths[$1] }
            guard let place = isVariant ? selection.variant(bandwidths) : best else { return }
            let track = Manifest.Track(representation: representations[place], set: period.adaptationSets[set])
            selected.append(
                Selected(kind: kind, position: SavedTrack(adaptationSet: set, representation: place), track: track)
            )
        }
        let videos = sets["video"] ?? []
        if let set = videos.first(where: { period.adaptationSets[$0].isMain }) ?? videos.first { add(set, .video) }
        let (audio, texts) = (sets["audio"] ?? [], sets["text"] ?? [])
        let audioChoices = audio.map { Self.choice(period.adaptationSets[$0]) }
        let textChoices = texts.map { Self.choice(period.adaptationSets[$0]) }
        for place in try selection.audio.choose(of: audioChoices, "audio", isNeeded: true) { add(audio[place], .audio) }
        for place in try selection.texts.choose(of: textChoices, "subtitles", isNeeded: false) { add(texts[place], .text) }
        guard !selected.isEmpty else { throw ProxyError(.manifest, "the source has neither pictures nor audio") }
        builder.update { plan in
            let variants = videos.isEmpty ? audio.prefix(1) : videos[...]
            plan.choices.variants = variants.flatMap { Self.variants(period.adaptationSets[$0]) }
            plan.choices.audio = audioChoices
            plan.choices.texts = textChoices
        }
        return selected
    }

    private static func choice(_ set: MPDAdaptationSet) -> MediaChoices.Rendition {
        MediaChoices.Rendition(
            name: set.labels,
            language: set.language.map { LanguageTag.canonical($0) },
            isDefault: set.isMain
        )
    }

    private static func variants(_ set: MPDAdaptationSet) -> [MediaChoices.Variant] {
        set.representations.map { representation in
            let (own, upper) = (representation.properties, set.properties)
            return MediaChoices.Variant(
                bandwidth: Int(min(representation.bandwidth, 1 << 48)),
                codecs: own.codecs ?? upper.codecs,
                width: (own.width ?? upper.width).map { Int(clamping: $0) },
                height: (own.height ?? upper.height).map { Int(clamping: $0) }
            )
        }
    }

    // MARK: - Segments

    /// The pieces of a representation in one period. Its initialization segment and its index are recorded as documents.
    private func pieces(
        of stream: MPDStream,
        _ manifest: Manifest,
        _ builder: inout PlanBuilder
    ) async throws -> [SavedPiece] {
        let segments = try manifest.segments(of: stream)
        let index = try await indexes.index(of: stream, segments)
        let isText = stream.properties.mimeType?.lowercased() == "text/vtt"
        let head = isText ? [] : try await initializations.initialization(of: stream)
        let isEncrypted = try addKeys(of: stream, head, &builder)
        if let index {
            let places = SegmentPlaces(index, of: stream).places
            let rest = remainder(of: stream, head, upTo: places.first?.range?.lowerBound)
            return try rest + places.map { place throws(ProxyError) in try piece(place, isEncrypted) }
        }
        guard let count = segments.count else {
            throw ProxyError(.manifest, "representation '\(stream.id)': its segments have no end")
        }
        guard count <= SegmentPlaces.limit else {
            throw ProxyError(.manifest, "representation '\(stream.id)' has more than \(SegmentPlaces.limit) segments")
        }
        return try await threads.compute { [addressRoom = builder.addressRoom] in
            var room = addressRoom
            var pieces: [SavedPiece] = []
            pieces.reserveCapacity(count)
            for number in 0..<count {
                guard let segment = segments[number] else { break }
                var place = SegmentPlaces.Place(segment)
                // a segment without a duration lasts until the end of its period
                if number == count - 1, place.duration <= .zero, let duration = stream.period.duration {
                    place.duration = stream.period.start + duration - place.start
                }
                room -= place.url.utf8.count
                guard room >= 0 else { throw PlanBuilder.longAddresses }
                pieces.append(try piece(place, isEncrypted))
            }
            return pieces
        }
    }

    private func piece(_ place: SegmentPlaces.Place, _ isEncrypted: Bool) throws(ProxyError) -> SavedPiece {
        guard place.range.map({ !$0.isEmpty && $0.upperBound <= SavedLimits.rangeEnd }) ?? true else {
            throw ProxyError(.manifest, "a byte range of the MPD is empty or out of bounds")
        }
        return SavedPiece(
            address: place.url,
            range: place.range,
            duration: place.duration,
            start: max(.zero, place.start),
            isEncrypted: isEncrypted
        )
    }

    /// The bytes of one file between its initialization segment and its first segment, unless they are the index alone, which is a
    /// document: players of the file read them.
    private func remainder(of stream: MPDStream, _ head: [UInt8], upTo end: Int64?) -> [SavedPiece] {
        let isInFile = stream.initialization?.byteRange?.offset ?? 0 == 0
            && stream.initialization.map { $0.url == stream.baseURL } ?? true
        let start = isInFile ? Int64(head.count) : 0
        guard let end, start < end else { return [] }
        if let range = stream.information?.indexRange, range.offset == start, range.length == end - start { return [] }
        return [
            SavedPiece(
                address: stream.baseURL,
                range: start..<end,
                duration: .zero,
                start: .zero,
                isInitialization: true,
                isEncrypted: false
            )
        ]
    }

    /// Adds the keys of a representation, by the manifest and by its initialization segment.
    ///
    /// - Returns: whether it is protected.
    private func addKeys(of stream: MPDStream, _ head: [UInt8], _ builder: inout PlanBuilder) throws(ProxyError) -> Bool {
        let protections = stream.properties.contentProtections
        let tracks = head.initializationKeys
        let schemes = protections.filter { $0.system == .commonEncryption }.map { $0.value ?? "cenc" }
        for scheme in schemes { builder.add(.commonEncryption(scheme)) }
        if schemes.isEmpty { for protection in protections { builder.add(.other(protection.system?.rawValue ?? "unknown")) } }
        if protections.isEmpty, !tracks.isEmpty { builder.add(.commonEncryption("cenc")) }
        let urls = protections.flatMap(\.licenseURLs)
        for content in protections.flatMap(\.marlinContentIDs) {
            var names: [ContentKeyName] = [.content(content)]
            if let id = protections.lazy.flatMap(\.defaultKeyIDs).first.flatMap({ Hex.decode($0) }), protections.count == 1 {
                names.append(.id(id))
            }
            try builder.add(PlannedKey(names, method: schemes.first, licenseURLs: urls))
        }
        for id in protections.flatMap(\.defaultKeyIDs).compactMap({ Hex.decode($0) }) where !id.allSatisfy({ $0 == 0 }) {
            try builder.add(PlannedKey([.id(id)], method: schemes.first, licenseURLs: urls))
        }
        for names in tracks { try builder.add(PlannedKey(names, method: schemes.first, licenseURLs: urls)) }
        return !protections.isEmpty || !tracks.isEmpty
    }
}

extension MPDAdaptationSet {
    /// The name that players show: the first label, or the language.
    fileprivate var labels: String { properties.labels.first?.text ?? language ?? "" }
}
