// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource

/// The tracks of a source that are played, and how they are served: the same selection for files, HLS, DASH and transport
/// streams.
///
/// Selectors index all tracks of the source. Tracks that the player or the segment format does not support are left out. The
/// first group with remaining tracks is chosen: by language, then by the default flag of the source, then in source order.
struct TrackPlan: Sendable {
    /// Pictures of one group, or variants, in the order of the source.
    let video: [OfferedTrack]
    /// The best track of each group, the selected group first.
    let audio: [OfferedTrack]
    let texts: [OfferedTrack]
    /// The tracks that playlists of sync pictures are made of.
    let pictures: [OfferedTrack]
    /// Whether audio is served as separate renditions.
    private(set) var isApart: Bool
    /// The form of segments.
    let output: ProxyOptions.Output
    /// The tracks that the license withholds, each with the reason.
    let withheld: [String]

    /// Tracks of each kind that are offered to players, at most.
    static let limit = 64

    /// - Parameters:
    ///   - offered: the tracks of the source.
    ///   - wishes: the preferences of the caller and the capabilities of the player.
    /// - Throws: `proxy.usage` if a selector matches nothing; `proxy.unsupported` if the player or the segment format supports
    ///   none of the video or audio codecs; `proxy.manifest` if the source has neither.
    init(_ offered: [OfferedTrack], _ wishes: TrackWishes) throws(ProxyError) {
        let tracks = try Tracks(offered, wishes)
        withheld = tracks.withheld
        guard !tracks.video.isEmpty || !tracks.audio.isEmpty else {
            if let first = withheld.first { throw ProxyError(.outputControl, "no track is left: \(first)") }
            throw ProxyError(.manifest, "the source has neither pictures nor audio")
        }
        let lack = tracks.lack(in: wishes.output)
        if let lack, !(lack.isOfForm && wishes.allowsFragments) { throw lack.error }
        output = lack == nil ? wishes.output : .fragments
        if let lack = tracks.lack(in: output) { throw lack.error }
        let video = Array(tracks.video(in: output).prefix(Self.limit))
        let audio = tracks.audio(in: output, of: video)
        self.video = video
        self.audio = Array(audio.prefix(Self.limit))
        texts = Array(offered.filter { $0.kind == .text }.bestOfGroups { ($0.isMarked ? 0 : 1, 0) }.prefix(Self.limit))
        pictures = wishes.hasPictureLists ? Array(tracks.pictures(in: output, of: video).prefix(Self.limit)) : []
        let isSeparate = audio.contains { $0.audioGroup != nil }
        isApart = !video.isEmpty && !audio.isEmpty && (isSeparate || wishes.demuxesAudio || output == .fragments)
    }

    /// The same plan, with audio as separate renditions.
    var apart: TrackPlan {
        var plan = self
        plan.isApart = true
        return plan
    }

    /// Whether segments multiplex video and audio.
    var isMultiplexed: Bool { !isApart && !video.isEmpty && !audio.isEmpty && !video[0].includesAudio }
}

/// The tracks that a caller selects.
private struct Tracks {
    let video: [OfferedTrack]
    let audio: [OfferedTrack]
    let withheld: [String]
    private let fast: [OfferedTrack]
    private let wishes: TrackWishes

    init(_ offered: [OfferedTrack], _ wishes: TrackWishes) throws(ProxyError) {
        self.wishes = wishes
        let chosen = try wishes.videoTrack.choose(of: offered.filter { $0.kind == .video }, .video)
        let heard = try wishes.audioTrack.choose(of: offered.filter { $0.kind == .audio }, .audio)
        withheld = (chosen + heard).compactMap { track in wishes.reason(toWithhold: track).map { "\(track.name): \($0)" } }
        video = chosen.filter { wishes.reason(toWithhold: $0) == nil }
        audio = heard.filter { wishes.reason(toWithhold: $0) == nil }
        fast = offered.filter { $0.kind == .pictures && wishes.reason(toWithhold: $0) == nil }
    }

    private func isPlayed(_ track: OfferedTrack, in output: ProxyOptions.Output) -> Bool {
        wishes.missingCodec(track.codecs) == nil && (output == .fragments || track.uncarried == nil)
    }

    /// Video or audio without a track that can be served.
    struct Lack {
        /// Whether another form of segments would carry it.
        var isOfForm: Bool
        var error: ProxyError
    }

    func lack(in output: ProxyOptions.Output) -> Lack? { lack(of: video, in: output) ?? lack(of: audio, in: output) }

    private func lack(of tracks: [OfferedTrack], in output: ProxyOptions.Output) -> Lack? {
        guard let first = tracks.first, !tracks.contains(where: { isPlayed($0, in: output) }) else { return nil }
        let uncarried = tracks.first { wishes.missingCodec($0.codecs) == nil }
        guard let uncarried else {
            let codec = wishes.missingCodec(first.codecs) ?? ""
            return Lack(
                isOfForm: false,
                error: ProxyError(.unsupported, "the player has none of the codecs of the source: \(first.name) has \(codec)")
            )
        }
        return Lack(
            isOfForm: true,
            error: ProxyError(
                .unsupported,
                "transport streams cannot carry \(uncarried.name), whose codec is \(uncarried.uncarried ?? "not known")",
                recommendation: "Choose fragmented MP4 as the form of segments."
            )
        )
    }

    /// The pictures of the best group that has a track for the player.
    func video(in output: ProxyOptions.Output) -> [OfferedTrack] {
        let played = video.filter { isPlayed($0, in: output) }
        let best = played.min { ($0.isMain ? 0 : 1, $0.group) < ($1.isMain ? 0 : 1, $1.group) }
        return played.filter { $0.group == best?.group }
    }

    /// The best audio of each group; for separate audio playlists, the audio of the best variant.
    func audio(in output: ProxyOptions.Output, of video: [OfferedTrack]) -> [OfferedTrack] {
        var played = audio.filter { isPlayed($0, in: output) }
        if played.contains(where: { $0.audioGroup != nil }) {
            let names = Set(played.compactMap(\.audioGroup))
            let best = video.filter { names.contains($0.audioGroup ?? "") }.max { $0.bandwidth < $1.bandwidth }
            // without variants, as a license may leave a source, the first group is as good as any
            let group = video.isEmpty ? played.first?.audioGroup : best?.audioGroup
            played = played.filter { $0.audioGroup == group }
        }
        return played.bestOfGroups { (wishes.rank(ofLanguage: $0.language), $0.isMarked ? 0 : 1) }
    }

    /// The sync pictures of video: of tracks that have nothing else, or those in it.
    func pictures(in output: ProxyOptions.Output, of video: [OfferedTrack]) -> [OfferedTrack] {
        let own = fast.filter { track in
            isPlayed(track, in: output) && video.contains { track.mains?.contains($0.group) ?? true }
        }
        return own.isEmpty ? video.filter(\.hasPictures) : own
    }
}

extension [OfferedTrack] {
    /// The track with the most bits per second of each group, the groups by their rank, then in their order.
    fileprivate func bestOfGroups(rank: (OfferedTrack) -> (Int, Int)) -> [OfferedTrack] {
        var best: [Int: OfferedTrack] = [:]
        for track in self where best[track.group].map({ $0.bandwidth <= track.bandwidth }) ?? true { best[track.group] = track }
        return best.values.map { ($0, rank($0)) }.sorted { a, b in
            (a.1.0, a.1.1, a.0.group) < (b.1.0, b.1.1, b.0.group)
        }
        .map(\.0)
    }
}

extension OfferedTrack {
    /// Whether the source prefers it to others of its kind.
    fileprivate var isMarked: Bool { isMain || isDefault }

    /// The track, as errors name it.
    fileprivate var name: String {
        let kind = kind == .audio ? "audio" : "video"
        return ids.last.map { "\(kind) track '\($0)'" } ?? "\(kind) track \(place)"
    }
}
