import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelThreads

/// One MP4 file of any protection as HLS, cut at its sync samples.
final class FilePresentation: Presentation {
    private let segmentation: Locked<FileSegments>
    private let settings: SessionSettings
    private let video: SegmentTrack?
    private let audio: [SegmentTrack]
    private let reader: any ByteReader & Sendable
    /// The keys that were asked for when the file was looked into.
    private let use = KeyUse.current

    /// How long segments last, about: as short as a player's first buffer, as long as a key picture's distance.
    private static let target = Duration.seconds(6)

    /// Reads the tables of a file, and asks for its keys.
    ///
    /// - Throws: ``ProxyError``: `proxy.clear-content` when nothing is protected and the policy wants that.
    init(_ reader: any ByteReader & Sendable, name: String, isRemote: Bool, _ settings: SessionSettings) async throws(ProxyError)
    {
        do {
            if settings.policy == .seed {
                let hasRights = settings.rights != nil
                let isListed = try await settings.threads.run {
                    let found = try MediaFile(reader).protections
                    return found.contains { if case .pdcf = $0 { true } else { false } } || found.isEmpty && hasRights
                }
                guard isListed, !isRemote || hasRights else {
                    throw ProxyError(.unsupported, "\(name): of MP4 files this policy takes PDCF on this machine")
                }
            }
            let segments = try await settings.threads.runTask {
                let file = try MP4File(reader, leavesFragmentsToIndex: true)
                let protection = try await FileProtection(file, from: settings.keys)
                guard !protection.tracks.isEmpty || settings.takesClearContent else {
                    throw ProxyError(.clearContent, "\(name): no track is protected")
                }
                return try FileSegments(file, in: reader, protection, target: Self.target) {
                    $0.kind == "vide" || $0.kind == "soun"
                }
            }
            self.settings = settings
            self.reader = reader
            let tracks = segments.tracks.filter { settings.canPlay($0.codecs) }
            video = try settings.parameters.videoTrack.choose(of: tracks.filter { $0.kind == "vide" }, "video") { ["\($0.id)"] }
                .first?.element
            let heard = try settings.parameters.audioTrack.choose(of: tracks.filter { $0.kind == "soun" }, "audio") {
                ["\($0.id)"]
            }
            .map(\.element)
            let language = settings.parameters.language
            audio = heard.filter { Self.isWanted($0, language) } + heard.filter { !Self.isWanted($0, language) }
            guard video != nil || !audio.isEmpty else {
                throw ProxyError(.unsupported, "\(name): the player has none of its codecs")
            }
            segmentation = Locked(segments)
        } catch {
            throw ProxyError(error, in: name)
        }
    }

    /// Whether a track has the preferred language: ISO 639-2 in files, BCP 47 from callers.
    private static func isWanted(_ track: SegmentTrack, _ language: String?) -> Bool {
        guard let language = language?.lowercased(), let known = track.language else { return false }
        return known.hasPrefix(language.prefix(2)) || known == language
    }

    /// Whether audio goes out beside the pictures.
    private var isApart: Bool { video != nil && !audio.isEmpty && (settings.demuxesAudio || settings.output == .fragments) }

    var kind: SourceSummary.Kind { .mp4 }

    func protections() async throws -> [MediaProtection] {
        try await settings.threads.run { [reader] in try MediaFile(reader).protections }
    }

    func outline() -> Outline {
        let segments = segmentation.withLock { $0 }
        var outline = Outline()
        var variant = Outline.Variant(
            name: RenditionName(video: video == nil ? nil : 0, audio: isApart || audio.isEmpty ? nil : 0),
            bandwidth: segments.bandwidth.peak
        )
        variant.codecs = [video?.codecs, audio.first?.codecs].compactMap { $0 }.joined(separator: ",")
        if let video {
            variant.width = video.width
            variant.height = video.height
            variant.frameRate = video.frameRate.map { Decimal.thousandths($0) }
        }
        variant.hasAudioGroup = isApart
        outline.variants = [variant]
        if isApart {
            outline.audio = audio.enumerated().map { place, track in
                let label = (track.language ?? "audio") + (place > 0 ? " \(place + 1)" : "")
                return Outline.Rendition(
                    name: RenditionName(audio: place),
                    label: label,
                    language: track.language,
                    isDefault: place == 0
                )
            }
        }
        if settings.hasPictureLists, video != nil, !segments.iFrames.isEmpty {
            var pictures = variant
            pictures.name = RenditionName(video: 0, isPictures: true)
            pictures.codecs = video?.codecs
            outline.pictures = [pictures]
        }
        return outline
    }

    func segments(of rendition: RenditionName) throws -> SegmentList {
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

    func open(_ name: SegmentName) async throws -> ServedMedia {
        let tracks = try tracks(of: name.rendition)
        let index = Int(clamping: name.index)
        var segments = segmentation.withLock { $0 }
        if name.rendition.isPictures {
            guard segments.iFrames.indices.contains(index) else { throw SegmentName.unknown }
        } else {
            guard segments.segments.indices.contains(index) else { throw SegmentName.unknown }
        }
        // fragments may bring keys that were not asked for yet
        let segment = name.rendition.isPictures ? segments.iFrames[index].segment : index
        let ids = try await settings.threads.run { [segments] in try segments.keyIDs(of: segment) }
        if !ids.isEmpty {
            do {
                try await KeyUse.$current.withValue(use) { try await segments.protection.resolve(ids, from: settings.keys) }
            } catch {
                throw ProxyError(error, in: "the source")
            }
            segmentation.withLock { [protection = segments.protection] in $0.protection = protection }
        }
        let form: FileSegments.Form = settings.output == .fragments ? .fragment : .transportStream
        var media = ServedMedia(
            contentType: form == .fragment ? "video/mp4" : "video/mp2t",
            bytes: try ThreadBytes(settings.threads, name: "the source") { [segments] sink in
                if name.rendition.isPictures {
                    try segments.writeIFrame(index, as: form, to: &sink)
                } else {
                    try segments.write(index, as: form, tracks: tracks, to: &sink)
                }
            }
        )
        if let use { media.uses.append(use) }
        return media
    }

    func openInitialization(_ name: SegmentName) async throws -> ServedMedia {
        guard let id = try tracks(of: name.rendition).first else { throw SegmentName.unknown }
        let segments = segmentation.withLock { $0 }
        do {
            let bytes = try await settings.threads.run { try segments.initialization(of: id) }
            return ServedMedia(contentType: "video/mp4", bytes: HeldBytes(bytes))
        } catch {
            throw ProxyError(error, in: "the source")
        }
    }
}

/// Numbers in playlists.
enum Decimal {
    /// A number with three decimals.
    static func thousandths(_ value: Double) -> String {
        let count = Int((value * 1000).rounded())
        return "\(count / 1000).\(String(count % 1000 + 1000).dropFirst())"
    }
}
