// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelMedia
import CarrelMediaSource
import CarrelSavedMedia
import CarrelTimedText

/// The tracks of an MPD that a plan selected, from its first period (ISO/IEC 23009-1 leaves the choice to the client).
struct DASHTracks: Sendable {
    /// Whose track of a rendition.
    enum Part {
        /// Video, or audio if the source has no video.
        case main
        /// The audio that is sent with pictures.
        case audio
    }

    private(set) var plan: TrackPlan
    let video: [Manifest.Track]
    let audio: [Manifest.Track]
    let texts: [Manifest.Track]
    private let pictures: [Manifest.Track]

    /// - Parameters:
    ///   - manifest: the MPD.
    ///   - wishes: the preferences of the caller and the capabilities of the player.
    ///   - saved: the representations that a package has; nil if the source is not saved.
    /// - Throws: the errors of the plan; `proxy.address` if a part of the MPD may not be loaded; `CancellationError`.
    init(_ manifest: Manifest, _ wishes: TrackWishes, saved: [SavedTrack]? = nil) throws {
        guard let period = manifest.mpd.periods.first else { throw ProxyError(.manifest, "the MPD has no period") }
        var offer = Offer(saved: saved.map { Set($0) })
        try offer.add(period)
        do throws(ProxyError) { plan = try TrackPlan(offer.offered, wishes) } catch {
            guard let refused = manifest.refusedElements.first else { throw error }
            throw ProxyError(
                .address,
                "\(error.message), and a part of the MPD at \(MediaOrigin.shown(refused)) is not loaded: it is of another origin",
                recommendation: "Ask the provider for a manifest without remote elements of other origins."
            )
        }
        func tracks(_ planned: [OfferedTrack]) -> [Manifest.Track] {
            planned.compactMap { offer.tracks[Offer.Key(kind: $0.kind, place: $0.place)] }
        }
        video = tracks(plan.video)
        audio = tracks(plan.audio)
        texts = tracks(plan.texts)
        pictures = tracks(plan.pictures)
    }

    /// The same tracks, with audio as separate renditions.
    var apart: DASHTracks {
        var tracks = self
        tracks.plan = plan.apart
        return tracks
    }

    /// The track of a rendition.
    ///
    /// - Throws: `proxy.missing` if the source has no such rendition.
    func track(_ name: RenditionName, _ part: Part) throws(ProxyError) -> Manifest.Track? {
        func find(_ place: Int, in tracks: [Manifest.Track]) throws(ProxyError) -> Manifest.Track {
            guard tracks.indices.contains(place) else { throw SegmentName.unknown }
            return tracks[place]
        }
        switch part {
        case .main:
            if let place = name.video { return try find(place, in: name.isPictures ? pictures : video) }
            if let place = name.text { return try find(place, in: texts) }
            guard let place = name.audio else { throw SegmentName.unknown }
            return try find(place, in: audio)
        case .audio:
            guard let place = name.audio else { return nil }
            return try find(place, in: audio)
        }
    }

    /// The presentation time at which fragments have the time 0, so that fragments of the first period keep their media times.
    ///
    /// Fragment times are not negative: the track whose media begin last determines it.
    func fragmentOrigin(_ manifest: Manifest) -> Duration {
        let streams = (video + audio + texts).compactMap { manifest.stream($0, inPeriod: 0) }
        let offsets = streams.compactMap(\.information).map { information in
            let timescale = max(1, information.timescale ?? 1)
            let (whole, rest) = (information.presentationTimeOffset ?? 0).quotientAndRemainder(dividingBy: timescale)
            // less than a second, in nanoseconds
            return Duration.seconds(whole) + .nanoseconds(Int64(Double(rest) / Double(timescale) * 1e9))
        }
        return (manifest.timings.first?.start ?? .zero) - (offsets.max() ?? .zero)
    }

    /// The tracks whose segments have the same numbers: representations of one set have the same boundaries.
    func group(of name: RenditionName) -> String {
        if name.video != nil { return name.isPictures ? "pictures" : "video" }
        return name.text.map { "text \($0)" } ?? "audio \(name.audio ?? 0)"
    }
}

/// The representations of a period, as tracks that a plan may take.
private struct Offer {
    struct Key: Hashable {
        var kind: OfferedTrack.Kind
        var place: Int
    }

    private(set) var offered: [OfferedTrack] = []
    private(set) var tracks: [Key: Manifest.Track] = [:]
    private var counts: [OfferedTrack.Kind: Int] = [:]
    /// The representations that a package has; nil for all.
    private let saved: Set<SavedTrack>?

    init(saved: Set<SavedTrack>?) {
        self.saved = saved
    }

    /// Offers the representations of a period.
    ///
    /// - Throws: `CancellationError`.
    mutating func add(_ period: MPDPeriod) throws {
        var videoSets: [Substring: [Int]] = [:]
        var fastSets: [(place: Int, ids: String)] = []
        for (place, set) in period.adaptationSets.enumerated() {
            try Task.checkCancellation()
            guard let kind = set.kind.flatMap({ OfferedTrack.Kind(rawValue: $0) }), kind != .pictures else { continue }
            if let ids = TrickMode.main(of: set) {
                // each may be for all others
                if kind == .video, fastSets.count < TrackPlan.limit { fastSets.append((place, ids)) }
            } else {
                if kind == .video, let id = set.id { videoSets[Substring(id), default: []].append(place) }
                add(set, place, as: kind)
            }
        }
        for (place, ids) in fastSets {
            try Task.checkCancellation()
            let mains = TrickMode.ids(in: ids).map { Set($0.lazy.flatMap { videoSets[$0] ?? [] }) }
            add(period.adaptationSets[place], place, as: .pictures, mains)
        }
    }

    private mutating func add(_ set: MPDAdaptationSet, _ group: Int, as kind: OfferedTrack.Kind, _ mains: Set<Int>? = nil) {
        var made: [OfferedTrack] = []
        for (index, representation) in set.representations.enumerated() {
            if let saved, !saved.contains(SavedTrack(adaptationSet: group, representation: index)) { continue }
            let place = counts[kind, default: 0]
            counts[kind] = place + 1
            tracks[Key(kind: kind, place: place)] = Manifest.Track(representation: representation, set: set)
            made.append(track(representation, of: set, kind, place, group, mains))
        }
        offered += made.sorted { $0.bandwidth == $1.bandwidth ? $0.place < $1.place : $0.bandwidth < $1.bandwidth }
    }

    private func track(
        _ representation: MPDRepresentation,
        of set: MPDAdaptationSet,
        _ kind: OfferedTrack.Kind,
        _ place: Int,
        _ group: Int,
        _ mains: Set<Int>?
    ) -> OfferedTrack {
        let (own, upper) = (representation.properties, set.properties)
        var track = OfferedTrack(kind: kind, place: place)
        track.ids = [set.id, representation.id].compactMap { $0 }.filter { !$0.isEmpty }
        track.label = upper.labels.first?.text
        track.language = set.language.map { LanguageTag.canonical($0) }
        track.isMain = set.isMain
        track.codecs = own.codecs ?? upper.codecs
        track.uncarried = kind == .text ? nil : Codecs.uncarried(track.codecs)
        // within reason
        track.bandwidth = Int(min(representation.bandwidth, 1 << 48))
        track.width = (own.width ?? upper.width).map { Int(clamping: $0) }
        track.height = (own.height ?? upper.height).map { Int(clamping: $0) }
        track.frameRate = Self.frameRate(own.frameRate ?? upper.frameRate)
        track.group = group
        track.mains = mains
        track.hasPictures = kind == .video
        return track
    }

    /// Frames a second with three decimals, of `30000/1001` or `25`.
    private static func frameRate(_ text: String?) -> String? {
        guard let parts = text?.split(separator: "/").map({ Double($0) }), let first = parts.first ?? nil, first > 0 else {
            return nil
        }
        let divisor = parts.count > 1 ? parts[1] ?? 1 : 1
        guard divisor > 0, first / divisor < 1000 else { return nil }
        return Decimal.thousandths(first / divisor)
    }
}
