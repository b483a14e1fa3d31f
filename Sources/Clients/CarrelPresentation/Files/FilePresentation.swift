// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelThreads
import CarrelTimedText

/// One MP4 file of any protection as HLS, cut at its sync samples.
final class FilePresentation: Presentation {
    private let segmentation: Locked<FileSegments>
    private let settings: SessionSettings
    private let plan: TrackPlan
    private let video: SegmentTrack?
    private let audio: [SegmentTrack]
    private let reader: any ByteReader & Sendable
    /// The tracks that the license withholds, each with the reason.
    private let withheld: [String]
    /// The keys of the file; their use is shared by all its segments.
    private let keys: ResponseKeys
    private let use: KeyUse

    /// How long segments last, about: as short as a player's first buffer, as long as a key picture's distance.
    private static let target = Duration.seconds(6)

    /// Reads the tables of a file and requests its keys.
    ///
    /// - Throws: ``ProxyError``: `proxy.clear-content` if nothing is protected and the policy requires protection.
    init(_ reader: any ByteReader & Sendable, name: String, isRemote: Bool, _ settings: SessionSettings, _ use: KeyUse)
        async throws(ProxyError)
    {
        self.use = use
        keys = settings.keys.keys(for: use)
        do {
            if settings.policy == .compatible {
                let hasRights = settings.hasRights
                let isListed = try await settings.threads.run {
                    let found = try MediaFile(reader).protections
                    return found.contains { if case .pdcf = $0 { true } else { false } } || found.isEmpty && hasRights
                }
                guard isListed, !isRemote || hasRights else {
                    throw ProxyError(.unsupported, "\(name): of MP4 files this policy takes PDCF on this machine")
                }
            }
            let mayLeaveOut = settings.mayHaveLicense
            let segments = try await settings.threads.runTask { [keys] in
                let file = try MP4File(reader, leavesFragmentsToIndex: true)
                let protection = try await FileProtection(file, from: keys, leavesOut: mayLeaveOut)
                let (all, left) = (file.tracks.map(\.id), protection.withheld)
                if let first = left.values.first, all.allSatisfy({ left[$0] != nil }) { throw first }
                guard !protection.tracks.isEmpty || settings.takesClearContent else {
                    throw ProxyError(.clearContent, "\(name): no track is protected")
                }
                return try FileSegments(file, in: reader, protection, target: Self.target) {
                    left[$0.id] == nil && ($0.kind == "vide" && !$0.isCover || $0.kind == "soun")
                }
            }
            self.settings = settings
            self.reader = reader
            withheld = segments.protection.withheld.sorted { $0.key < $1.key }.map(\.value.message)
            plan = try TrackPlan(Self.offer(segments), settings.wishes)
            settings.form.use(plan.output)
            let (pictures, sounds) = (Self.tracks(segments, "vide"), Self.tracks(segments, "soun"))
            video = plan.video.first.map { pictures[$0.place] }
            audio = plan.audio.map { sounds[$0.place] }
            segmentation = Locked(segments)
        } catch {
            throw ProxyError(error, in: name)
        }
    }

    /// The tracks of a kind. Covers and pictures of chapters are not among them: no segment begins with them.
    private static func tracks(_ segments: FileSegments, _ kind: String) -> [SegmentTrack] {
        segments.tracks.filter { $0.kind == kind }
    }

    /// The tracks as a plan may take them.
    private static func offer(_ segments: FileSegments) -> [OfferedTrack] {
        let pictures = tracks(segments, "vide")
        var offered: [OfferedTrack] = []
        for (kind, tracks) in [(OfferedTrack.Kind.video, pictures), (.audio, tracks(segments, "soun"))] {
            for (place, track) in tracks.enumerated() {
                var made = OfferedTrack(kind: kind, place: place)
                made.ids = ["\(track.id)"]
                made.language = track.language.map { LanguageTag.canonical($0) }
                made.codecs = track.codecs
                made.uncarried = track.isInTransportStreams ? nil : track.codecs ?? track.format
                made.group = place
                if kind == .video {
                    (made.width, made.height) = (track.width, track.height)
                    made.frameRate = track.frameRate.map { Decimal.thousandths($0) }
                    made.hasPictures = !segments.iFrames.isEmpty
                }
                // bits are known of all tracks together
                if kind == .video || pictures.isEmpty { made.bandwidth = segments.bandwidth.peak }
                offered.append(made)
            }
        }
        return offered
    }

    var kind: SourceSummary.Kind { .mp4 }

    func protections(_ use: KeyUse) async throws -> [MediaProtection] {
        try await settings.threads.run { [reader] in try MediaFile(reader).protections }
    }

    func outline(_ use: KeyUse) -> Outline {
        var outline = plan.outline
        outline.warnings += withheld.map { .withheld($0) }
        return outline
    }

    func segments(of rendition: RenditionName, _ use: KeyUse) throws -> SegmentList {
        _ = try tracks(of: rendition)
        let known = segmentation.withLock { $0 }
        var list = SegmentList()
        let durations = rendition.isPictures ? known.iFrames.map(\.duration) : known.segments.map(\.duration)
        list.segments = durations.enumerated().map { place, duration in
            SegmentList.Segment(name: SegmentName(rendition, index: Int64(place)), duration: duration)
        }
        return list
    }

    /// The tracks of a rendition.
    private func tracks(of name: RenditionName) throws(ProxyError) -> Set<UInt32> {
        var ids: Set<UInt32> = []
        if let place = name.video {
            guard place == 0, let video else { throw SegmentName.unknown }
            ids.insert(video.id)
        }
        if let place = name.audio {
            guard audio.indices.contains(place) else { throw SegmentName.unknown }
            ids.insert(audio[place].id)
        }
        guard !ids.isEmpty, name.text == nil else { throw SegmentName.unknown }
        return ids
    }

    func open(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
        let tracks = try tracks(of: name.rendition)
        let index = Int(clamping: name.index)
        var segments = segmentation.withLock { $0 }
        if name.rendition.isPictures {
            guard segments.iFrames.indices.contains(index) else { throw SegmentName.unknown }
        } else {
            guard segments.segments.indices.contains(index) else { throw SegmentName.unknown }
        }
        // fragments may use keys that were not requested yet
        let segment = name.rendition.isPictures ? segments.iFrames[index].segment : index
        let ids = try await settings.threads.run { [segments] in try segments.keyIDs(of: segment) }
        if !ids.isEmpty {
            do {
                try await segments.protection.resolve(ids, from: keys)
            } catch {
                throw ProxyError(error, in: "the source")
            }
            segmentation.withLock { [protection = segments.protection] in $0.protection = protection }
        }
        let form = settings.segmentForm
        var media = ServedMedia(
            form,
            try ThreadBytes(settings.threads, name: "the source") { [segments] sink in
                if name.rendition.isPictures {
                    try segments.writeIFrame(index, as: form, to: &sink)
                } else {
                    try segments.write(index, as: form, tracks: tracks, to: &sink)
                }
            }
        )
        media.uses.append(self.use)
        return media
    }

    func openInitialization(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
        guard let id = try tracks(of: name.rendition).first else { throw SegmentName.unknown }
        let segments = segmentation.withLock { $0 }
        do {
            let bytes = try await settings.threads.run { try segments.initialization(of: id) }
            return ServedMedia(.fragment, HeldBytes(bytes))
        } catch {
            throw ProxyError(error, in: "the source")
        }
    }
}
