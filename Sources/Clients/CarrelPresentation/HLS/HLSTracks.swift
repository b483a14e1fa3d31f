// SPDX-License-Identifier: Apache-2.0

import CarrelHLS
import CarrelMedia
import CarrelMediaSource
import CarrelTimedText

/// The variants and renditions of an HLS source that a plan has taken, with their playlists.
struct HLSTracks: Sendable {
    let plan: TrackPlan
    let outline: Outline
    /// The addresses of playlists.
    private(set) var sources: [RenditionName: String] = [:]
    /// The pixels of the pictures of renditions: 0 for audio and text; renditions whose pictures have no known size are not here.
    private(set) var pixels: [RenditionName: Int] = [:]

    /// - Parameters:
    ///   - list: the top playlist.
    ///   - wishes: the preferences of the caller and the capabilities of the player.
    ///   - resolve: resolves an address of the playlist.
    /// - Throws: the errors of the plan.
    init(_ list: MultivariantPlaylist, _ wishes: TrackWishes, resolve: (String) -> String) throws(ProxyError) {
        let sounds = list.renditions.filter { $0.kind == "AUDIO" && $0.uri != nil }
        let texts = list.renditions.filter { $0.kind == "SUBTITLES" && $0.uri != nil }
        let groups = Set(sounds.map(\.groupID))
        var offered = list.variants.enumerated().map { Self.track($1, $0, groups) }
        offered += sounds.enumerated().map { Self.track($1, $0, .audio) }
        offered += texts.enumerated().map { Self.track($1, $0, .text) }
        for (place, pictures) in list.iFrameVariants.enumerated() where !pictures.uri.isEmpty {
            offered.append(Self.track(pictures, place))
        }
        plan = try TrackPlan(offered, wishes)
        outline = plan.outline
        for (place, track) in plan.video.enumerated() {
            sources[RenditionName(video: place)] = resolve(list.variants[track.place].uri)
        }
        for (place, track) in plan.pictures.enumerated() {
            sources[RenditionName(video: place, isPictures: true)] = resolve(list.iFrameVariants[track.place].uri)
        }
        for (place, track) in plan.audio.enumerated() {
            sources[RenditionName(audio: place)] = resolve(sounds[track.place].uri ?? "")
        }
        for (place, track) in plan.texts.enumerated() {
            sources[RenditionName(text: place)] = resolve(texts[track.place].uri ?? "")
        }
        measure()
    }

    /// Notes the pixels of renditions. A playlist that is offered as pictures, too, has their pixels.
    private mutating func measure() {
        let videos = plan.video.enumerated().map { (RenditionName(video: $0), $1.pixels) }
        let pictures = plan.pictures.enumerated().map { (RenditionName(video: $0, isPictures: true), $1.pixels) }
        var unknown: Set<String> = []
        var known: [String: Int] = [:]
        for (name, count) in videos + pictures {
            guard let source = sources[name] else { continue }
            if let count { known[source] = max(known[source] ?? 0, count) } else { unknown.insert(source) }
        }
        for (name, source) in sources where !unknown.contains(source) {
            if let count = known[source] { pixels[name] = count } else if name.video == nil { pixels[name] = 0 }
        }
    }

    /// Creates the tracks of a single variant without a multivariant playlist.
    ///
    /// - Parameters:
    ///   - url: the address of its playlist.
    ///   - bandwidth: bits per second.
    ///   - wishes: the preferences of the caller and the capabilities of the player.
    /// - Throws: the errors of the plan.
    init(of url: String, bandwidth: Int, _ wishes: TrackWishes) throws(ProxyError) {
        var track = OfferedTrack(kind: .video, place: 0)
        track.bandwidth = bandwidth
        track.includesAudio = true
        plan = try TrackPlan([track], wishes)
        outline = plan.outline
        sources[RenditionName(video: 0)] = url
    }

    private static func track(_ variant: MultivariantPlaylist.Variant, _ place: Int, _ groups: Set<String>) -> OfferedTrack {
        var track = OfferedTrack(kind: .video, place: place)
        track.ids = [variant.group("VIDEO"), variant.attributes.quoted("STABLE-VARIANT-ID")].compactMap { $0 }
        track.bandwidth = Int(clamping: variant.bandwidth)
        track.codecs = variant.codecs
        track.uncarried = Codecs.foreign(variant.codecs)
        track.width = variant.resolution.map { Int(clamping: $0.width) }
        track.height = variant.resolution.map { Int(clamping: $0.height) }
        track.frameRate = variant.frameRate
        track.includesAudio = true
        track.audioGroup = variant.group("AUDIO").flatMap { groups.contains($0) ? $0 : nil }
        return track
    }

    private static func track(
        _ rendition: MultivariantPlaylist.Rendition,
        _ place: Int,
        _ kind: OfferedTrack.Kind
    ) -> OfferedTrack {
        var track = OfferedTrack(kind: kind, place: place)
        track.ids = [rendition.groupID, rendition.attributes.quoted("STABLE-RENDITION-ID"), rendition.name].compactMap { $0 }
        track.label = rendition.name.isEmpty ? nil : rendition.name
        track.language = rendition.language.map { LanguageTag.canonical($0) }
        track.isDefault = rendition.isDefault
        track.group = place
        if kind == .audio { track.audioGroup = rendition.groupID }
        return track
    }

    private static func track(_ pictures: MultivariantPlaylist.PictureVariant, _ place: Int) -> OfferedTrack {
        var track = OfferedTrack(kind: .pictures, place: place)
        track.codecs = pictures.attributes.quoted("CODECS")
        track.uncarried = Codecs.foreign(track.codecs)
        track.bandwidth = Int(clamping: pictures.bandwidth ?? 0)
        track.width = pictures.resolution.map { Int(clamping: $0.width) }
        track.height = pictures.resolution.map { Int(clamping: $0.height) }
        return track
    }
}
