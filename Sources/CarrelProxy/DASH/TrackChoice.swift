import CarrelDASH

/// The tracks of a presentation that are played: those of its first period (ISO/IEC 23009-1 leaves the choice to the client).
struct TrackChoice: Sendable {
    /// Whose track of a rendition.
    enum Part {
        /// Pictures, or audio where there are none.
        case main
        /// The audio that is sent with pictures.
        case audio
    }

    /// Representations of one adaptation set, by bandwidth.
    private(set) var video: [Manifest.Track] = []
    /// The best representation of each adaptation set, the first one that of the rules.
    private(set) var audio: [Manifest.Track] = []
    private(set) var texts: [Manifest.Track] = []
    /// Those that playlists of sync pictures are made of: of the sets for fast play, or else of the pictures; none where the rules want
    /// no such playlists.
    private(set) var pictures: [Manifest.Track] = []
    /// Whether audio goes out beside the pictures.
    private(set) var isApart: Bool

    init(_ manifest: Manifest, _ settings: SessionSettings) throws(ProxyError) {
        guard let period = manifest.mpd.periods.first else { throw ProxyError(.manifest, "the MPD has no period") }
        let parameters = settings.parameters
        isApart = settings.demuxesAudio || settings.output == .fragments
        let selection = MPDSelection(languages: parameters.language.map { [$0] } ?? []) { _, codecs in settings.canPlay(codecs) }
        func sets(_ kind: String, _ selector: MediaSourceParameters.TrackSelector) throws(ProxyError) -> [MPDAdaptationSet] {
            // the rules choose where the caller does not
            if selector == .any {
                return selection.sets(of: kind, in: TrickMode.period(period, isFast: false)).map { period.adaptationSets[$0] }
            }
            let all = period.adaptationSets.filter { TrickMode.main(of: $0) == nil && $0.kind == kind }
            return try selector.choose(of: all, kind) { [$0.id] }.prefix(1).map(\.element)
        }
        func tracks(of set: MPDAdaptationSet) -> [Manifest.Track] {
            selection.representations(of: set).map { Manifest.Track(representation: set.representations[$0], set: set) }
        }
        if let set = try sets("video", parameters.videoTrack).first {
            video = tracks(of: set)
            if settings.hasPictureLists {
                pictures = period.adaptationSets.filter { TrickMode.isSet($0, for: set) }.flatMap { tracks(of: $0) }
                if pictures.isEmpty { pictures = video }
            }
        }
        for set in try sets("audio", parameters.audioTrack) {
            guard let best = selection.representations(of: set).last else { continue }
            audio.append(Manifest.Track(representation: set.representations[best], set: set))
        }
        // text that the player shows is WebVTT in any case
        for set in selection.sets(of: "text", in: period).map({ period.adaptationSets[$0] }) {
            guard let best = selection.representations(of: set).last else { continue }
            texts.append(Manifest.Track(representation: set.representations[best], set: set))
        }
        guard !video.isEmpty || !audio.isEmpty else {
            throw ProxyError(.unsupported, "the player has none of the codecs of the source")
        }
        video = Array(video.prefix(Self.limit))
        audio = Array(audio.prefix(Self.limit))
        texts = Array(texts.prefix(Self.limit))
        pictures = Array(pictures.prefix(Self.limit))
    }

    /// Tracks of each kind that are offered, at most.
    private static let limit = 64

    /// The same with audio beside the pictures.
    var apart: TrackChoice {
        var choice = self
        choice.isApart = true
        return choice
    }

    /// Whether pictures and audio go out in the same segments.
    var isMultiplexed: Bool { !isApart && !video.isEmpty && !audio.isEmpty }

    /// The track of a rendition.
    ///
    /// - Throws: `proxy.missing` when the source has no such rendition.
    func track(_ name: RenditionName, _ part: Part) throws(ProxyError) -> Manifest.Track? {
        switch part {
        case .main:
            if let place = name.video {
                let all = name.isPictures ? pictures : video
                guard all.indices.contains(place) else { throw SegmentName.unknown }
                return all[place]
            }
            if let place = name.text {
                guard texts.indices.contains(place) else { throw SegmentName.unknown }
                return texts[place]
            }
            guard let place = name.audio, audio.indices.contains(place) else { throw SegmentName.unknown }
            return audio[place]
        case .audio:
            guard let place = name.audio else { return nil }
            guard audio.indices.contains(place) else { throw SegmentName.unknown }
            return audio[place]
        }
    }

    /// The tracks whose segments have the same numbers: representations of one set are cut alike.
    func group(of name: RenditionName) -> String {
        if name.video != nil { return name.isPictures ? "pictures" : "video" }
        return name.text.map { "text \($0)" } ?? "audio \(name.audio ?? 0)"
    }

    /// The variants: one for each representation of pictures, or for audio alone.
    var outline: Outline {
        var outline = Outline()
        let sound = audio.first
        let soundBandwidth = sound.map { Self.bandwidth($0) } ?? 0
        let soundCodecs = sound.flatMap { $0.representation.properties.codecs ?? $0.set.properties.codecs }
        for (place, track) in video.enumerated() {
            let properties = track.representation.properties.inheriting(track.set.properties)
            var variant = Outline.Variant(
                name: RenditionName(video: place, audio: isApart || sound == nil ? nil : 0),
                bandwidth: Self.bandwidth(track) + soundBandwidth
            )
            variant.codecs = [properties.codecs, soundCodecs].compactMap { $0 }.joined(separator: ",")
            variant.width = properties.width.map { Int(clamping: $0) }
            variant.height = properties.height.map { Int(clamping: $0) }
            variant.frameRate = Self.frameRate(properties.frameRate)
            variant.hasAudioGroup = isApart && sound != nil
            outline.variants.append(variant)
        }
        if video.isEmpty, let sound {
            var variant = Outline.Variant(name: RenditionName(audio: 0), bandwidth: soundBandwidth)
            variant.codecs = sound.representation.properties.inheriting(sound.set.properties).codecs
            outline.variants.append(variant)
        } else if isApart {
            for (place, track) in audio.enumerated() {
                var label = track.set.properties.labels.first?.text ?? track.set.language ?? "audio"
                if outline.audio.contains(where: { $0.label == label }) { label += " \(place + 1)" }
                outline.audio.append(
                    Outline.Rendition(
                        name: RenditionName(audio: place),
                        label: label,
                        language: track.set.language,
                        isDefault: place == 0
                    )
                )
            }
        }
        for (place, track) in pictures.enumerated() {
            let properties = track.representation.properties.inheriting(track.set.properties)
            var variant = Outline.Variant(
                name: RenditionName(video: place, isPictures: true),
                bandwidth: Self.bandwidth(track)
            )
            variant.codecs = properties.codecs
            variant.width = properties.width.map { Int(clamping: $0) }
            variant.height = properties.height.map { Int(clamping: $0) }
            outline.pictures.append(variant)
        }
        for (place, track) in texts.enumerated() {
            var label = track.set.properties.labels.first?.text ?? track.set.language ?? "text"
            if outline.texts.contains(where: { $0.label == label }) { label += " \(place + 1)" }
            outline.texts.append(Outline.Rendition(name: RenditionName(text: place), label: label, language: track.set.language))
        }
        return outline
    }

    /// Bits a second, within reason.
    private static func bandwidth(_ track: Manifest.Track) -> Int { Int(min(track.representation.bandwidth, 1 << 48)) }

    /// Frames a second with three decimals, of `30000/1001` or `25`.
    private static func frameRate(_ text: String?) -> String? {
        guard let parts = text?.split(separator: "/").map({ Double($0) }), let first = parts.first ?? nil, first > 0 else {
            return nil
        }
        let divisor = parts.count > 1 ? parts[1] ?? 1 : 1
        guard divisor > 0, first / divisor < 1000 else { return nil }
        let thousandths = Int((first / divisor * 1000).rounded())
        return "\(thousandths / 1000).\(String(thousandths % 1000 + 1000).dropFirst())"
    }
}
