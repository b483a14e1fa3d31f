// SPDX-License-Identifier: Apache-2.0

import CarrelHLS
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation
import CarrelSavedMedia
import CarrelThreads
import CarrelTimedText

/// Plans the download of an HLS source (RFC 8216).
struct HLSPlanner {
    private let origin: MediaOrigin
    private let threads: SessionThreads
    private let selection: MediaSelection
    private let loader: PlaylistLoader

    init(_ origin: MediaOrigin, _ threads: SessionThreads, _ selection: MediaSelection) {
        self.origin = origin
        self.threads = threads
        self.selection = selection
        loader = PlaylistLoader(origin, threads)
    }

    /// A media playlist that is saved.
    private struct Rendition {
        var kind: SavedStream.Kind
        var bandwidth: Int
        var language: String?
        var url: String
    }

    func plan() async throws -> MediaPlan {
        var builder = PlanBuilder(SavedSource(address: origin.address, form: .hls))
        let (playlist, url) = try await loader.playlist(at: origin.address)
        switch playlist {
        case .media(let list):
            let bitrate = list.segments.lazy.compactMap(\.bitrate).max().map { Int(clamping: $0) &* 1000 } ?? 0
            builder.update { $0.choices.variants = [MediaChoices.Variant(bandwidth: bitrate)] }
            let rendition = Rendition(kind: .video, bandwidth: bitrate, url: origin.address)
            try await add(rendition, list, base: url, to: &builder)
        case .multivariant(let list):
            for rendition in try select(list, url, &builder) {
                let (playlist, base) = try await loader.playlist(at: rendition.url)
                guard case .media(let media) = playlist else {
                    throw ProxyError(.manifest, "\(MediaOrigin.shown(rendition.url)) is not a media playlist")
                }
                try await add(rendition, media, base: base, to: &builder)
            }
        }
        guard !builder.plan.streams.isEmpty else { throw ProxyError(.manifest, "the playlist has no segment") }
        builder.finish()
        return builder.plan
    }

    // MARK: - Selection

    /// The renditions to be saved, each playlist once.
    private func select(_ list: MultivariantPlaylist, _ url: String, _ builder: inout PlanBuilder) throws(ProxyError) -> [Rendition] {
        let variants = list.variants.filter { !$0.uri.isEmpty }
        guard let place = selection.variant(variants.map { Int(clamping: $0.bandwidth) }) else {
            throw ProxyError(.manifest, "the playlist has no variant")
        }
        let variant = variants[place]
        let audio = list.renditions.filter { $0.kind == "AUDIO" && $0.uri != nil && $0.groupID == variant.group("AUDIO") }
        let texts = list.renditions.filter { $0.kind == "SUBTITLES" && $0.uri != nil && $0.groupID == variant.group("SUBTITLES") }
        let (audioChoices, textChoices) = (audio.map { Self.choice($0) }, texts.map { Self.choice($0) })
        builder.update { plan in
            plan.choices.variants = variants.map { variant in
                MediaChoices.Variant(
                    bandwidth: Int(clamping: variant.bandwidth),
                    codecs: variant.codecs,
                    width: variant.resolution.map { Int(clamping: $0.width) },
                    height: variant.resolution.map { Int(clamping: $0.height) }
                )
            }
            plan.choices.audio = audioChoices
            plan.choices.texts = textChoices
        }
        var renditions = [
            Rendition(kind: .video, bandwidth: Int(clamping: variant.bandwidth), url: origin.resolve(variant.uri, against: url))
        ]
        // the variant itself may have the audio of the default rendition
        let hasOwnAudio = list.renditions.contains {
            $0.kind == "AUDIO" && $0.uri == nil && $0.groupID == variant.group("AUDIO")
        }
        for place in try selection.audio.choose(of: audioChoices, "audio", isNeeded: !hasOwnAudio) {
            renditions.append(rendition(audio[place], .audio, url))
        }
        for place in try selection.texts.choose(of: textChoices, "subtitles", isNeeded: false) {
            renditions.append(rendition(texts[place], .text, url))
        }
        var known: Set<String> = []
        return renditions.filter { known.insert($0.url).inserted }
    }

    private func rendition(
        _ rendition: MultivariantPlaylist.Rendition,
        _ kind: SavedStream.Kind,
        _ base: String
    ) -> Rendition {
        Rendition(
            kind: kind,
            bandwidth: 0,
            language: rendition.language.map { LanguageTag.canonical($0) },
            url: origin.resolve(rendition.uri ?? "", against: base)
        )
    }

    private static func choice(_ rendition: MultivariantPlaylist.Rendition) -> MediaChoices.Rendition {
        MediaChoices.Rendition(
            name: rendition.name,
            language: rendition.language.map { LanguageTag.canonical($0) },
            isDefault: rendition.isDefault
        )
    }

    // MARK: - Segments

    /// Adds the segments of a playlist, and their keys.
    private func add(
        _ rendition: Rendition,
        _ list: MediaPlaylist,
        base: String,
        to builder: inout PlanBuilder
    ) async throws {
        let name = MediaOrigin.shown(rendition.url)
        guard list.isEnded else {
            throw ProxyError(.live, "\(name) is live: it has no end, and only sources that have ended can be saved")
        }
        var stream = SavedStream(
            kind: rendition.kind,
            bandwidth: rendition.bandwidth,
            language: rendition.language,
            pieces: []
        )
        var heads: [InitializationSection: [[ContentKeyName]]] = [:]
        var start = Duration.zero
        var isScrambled: Bool?
        var room = builder.addressRoom
        for segment in list.segments {
            defer { start += segment.duration }
            guard !segment.isGap else { continue }
            var isEncrypted = false
            let key = EncryptionKey.effective(of: segment.keys)
            if let key {
                isEncrypted = true
                builder.add(.hls(key.method.rawValue))
            }
            if let initialization = segment.initialization {
                let section = InitializationSection(initialization, base, origin)
                if heads[section] == nil {
                    let bytes = try await section.load(origin)
                    heads[section] = section.isEncrypted ? [] : bytes.initializationKeys
                }
                let keys = heads[section] ?? []
                if !keys.isEmpty { isEncrypted = true }
                try addKeys(key, keys, base, to: &builder)
            } else {
                try addKeys(key, [], base, to: &builder)
                // packets may be scrambled without a key line
                if key == nil, rendition.kind != .text, isScrambled == nil {
                    isScrambled = try await addScrambled(segment, base, to: &builder)
                }
                isEncrypted = isEncrypted || isScrambled == true
            }
            let piece = piece(segment, base, try range(segment, name), start, isEncrypted)
            room -= piece.address.utf8.count
            guard room >= 0 else { throw PlanBuilder.longAddresses }
            stream.pieces.append(piece)
        }
        if rendition.kind == .video { builder.update { [start] in $0.duration = start } }
        try builder.add(stream)
    }

    private func range(_ segment: MediaSegment, _ name: String) throws(ProxyError) -> Range<Int64>? {
        guard let written = segment.byteRange else { return nil }
        guard let range = written.range, !range.isEmpty, range.upperBound <= SavedLimits.rangeEnd else {
            throw ProxyError(.manifest, "\(name): a byte range is empty or out of bounds")
        }
        return range
    }

    private func piece(
        _ segment: MediaSegment,
        _ base: String,
        _ range: Range<Int64>?,
        _ start: Duration,
        _ isEncrypted: Bool
    ) -> SavedPiece {
        SavedPiece(
            address: origin.resolve(segment.uri, against: base),
            range: range,
            duration: segment.duration,
            start: start,
            isEncrypted: isEncrypted
        )
    }

    /// Adds the keys of a segment: of its key line, and of the tracks of its initialization section.
    private func addKeys(
        _ key: EncryptionKey?,
        _ tracks: [[ContentKeyName]],
        _ base: String,
        to builder: inout PlanBuilder
    ) throws(ProxyError) {
        var named: [ContentKeyName] = []
        if let key {
            if let content = key.contentID {
                named = [.content(content), .address(key.uri)]
            } else if !key.uri.lowercased().hasPrefix("data:") {
                named = [.address(origin.resolve(key.uri, against: base))]
            }
        }
        let format = key?.keyFormat.flatMap { $0.lowercased() == "identity" ? nil : $0 }
        guard !tracks.isEmpty else {
            guard !named.isEmpty else { return }
            return try builder.add(PlannedKey(named, method: key?.method.rawValue, keyFormat: format))
        }
        for names in tracks {
            let all = Array(names.prefix(1)) + named + names.dropFirst()
            try builder.add(PlannedKey(all, method: key?.method.rawValue, keyFormat: format))
        }
    }

    /// Looks whether the first segment is scrambled, and adds its keys.
    private func addScrambled(_ segment: MediaSegment, _ base: String, to builder: inout PlanBuilder) async throws -> Bool {
        let url = origin.resolve(segment.uri, against: base)
        let stream = try await SegmentOpening(origin: origin).open(url, range: segment.byteRange?.range)
        defer { stream.cancel() }
        return try await ScrambledKeys.add(stream, to: &builder)
    }
}

/// An initialization section, loaded once for each playlist.
private struct InitializationSection: Hashable {
    private let url: String
    private let range: Range<Int64>?
    /// Whether it is encrypted as a whole, so that its tracks are not known yet.
    let isEncrypted: Bool

    private static let limit = 1 << 20

    init(_ initialization: MediaSegment.Initialization, _ base: String, _ origin: MediaOrigin) {
        url = origin.resolve(initialization.uri, against: base)
        range = initialization.byteRange?.range
        let key = EncryptionKey.effective(of: initialization.keys)
        isEncrypted = key.map { ![.sampleAES, .sampleAESCTR].contains($0.method) } ?? false
    }

    /// Loads the section, which records it.
    func load(_ origin: MediaOrigin) async throws -> [UInt8] {
        try await SegmentOpening(origin: origin).resource(url, range: range, limit: Self.limit).bytes
    }
}
