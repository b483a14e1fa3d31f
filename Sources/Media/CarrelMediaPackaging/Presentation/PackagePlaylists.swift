// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMP4

/// The HLS playlists of a package (RFC 8216).
struct PackagePlaylists {
    private let contents: PackageContents

    private static let textGroup = "text"

    init(_ contents: PackageContents) {
        self.contents = contents
    }

    private var renditions: [PackagedRendition] { contents.renditions }

    private var videos: [PackagedRendition] { renditions.filter { $0.track.kind == .video } }
    private var audios: [PackagedRendition] { renditions.filter { $0.track.kind == .audio } }

    /// Writes all playlists; none if playlists have no name for the scheme.
    func write(to folder: PackageFolder) throws {
        guard contents.options.hasPlaylists else { return }
        for rendition in renditions {
            try folder.write("\(rendition.name).m3u8", playlist(of: rendition).write())
            guard let pictures = picturePlaylist(of: rendition) else { continue }
            try folder.write("\(rendition.name)-iframes.m3u8", pictures.write())
        }
        for text in contents.texts { try folder.write("\(text.name).m3u8", playlist(of: text).write()) }
        if let thumbnails = contents.thumbnails { try folder.write("thumbnails.m3u8", playlist(of: thumbnails).write()) }
        try folder.write(PackageFolder.playlistName, multivariant().write())
    }

    // MARK: - Media playlists

    /// A playlist of version 7 that has ended, without segments yet.
    private static var ended: MediaPlaylist {
        var playlist = MediaPlaylist(targetDuration: 1)
        playlist.version = 7
        playlist.kind = .vod
        playlist.isEnded = true
        return playlist
    }

    private static func microseconds(_ value: Int64) -> Duration { .microseconds(value) }

    private func playlist(of rendition: PackagedRendition) -> MediaPlaylist {
        var playlist = Self.ended
        playlist.independentSegments = rendition.hasIndependentSegments
        for gap in gaps(of: rendition) { playlist.segments.append(gap) }
        let times = rendition.times
        for (i, written) in rendition.segments.enumerated() {
            let length = times[i + 1] - times[i]
            var segment = MediaSegment(uri: rendition.path(ofSegment: i), duration: Self.microseconds(max(0, length)))
            if !rendition.isTransport { segment.initialization = initialization(of: rendition) }
            if rendition.layout == .ranges {
                segment.byteRange = Self.range(written.offset, written.length)
            }
            segment.keys = keys(of: written)
            playlist.segments.append(segment)
        }
        playlist.targetDuration = Self.targetDuration(playlist.segments)
        return playlist
    }

    /// Whole seconds that no segment is longer than, rounded (RFC 8216 §4.3.3.1).
    private static func targetDuration(_ segments: some Sequence<MediaSegment>) -> UInt64 {
        let longest = segments.map(\.duration).max() ?? .zero
        return max(1, UInt64(clamping: (longest + .milliseconds(500)).components.seconds))
    }

    /// Segments before the first one of a rendition that begins later than others, so that it keeps its place
    /// (`EXT-X-GAP`, draft-pantos-hls-rfc8216bis §4.4.4.7). Players that do not know the tag load a segment without samples.
    private func gaps(of rendition: PackagedRendition) -> [MediaSegment] {
        rendition.gaps.map { duration in
            var segment = MediaSegment(uri: rendition.gapPath, duration: Self.microseconds(duration))
            if !rendition.isTransport { segment.initialization = initialization(of: rendition) }
            segment.isGap = true
            return segment
        }
    }

    private static func range(_ offset: Int64, _ length: Int64) -> MediaSegment.ByteRange {
        MediaSegment.ByteRange(offset: UInt64(clamping: offset), length: UInt64(clamping: length))
    }

    private func initialization(of rendition: PackagedRendition) -> MediaSegment.Initialization {
        MediaSegment.Initialization(
            uri: rendition.initializationPath,
            byteRange: rendition.layout == .ranges ? Self.range(0, rendition.initializationLength) : nil
        )
    }

    private func keys(of segment: PackagedSegment) -> [EncryptionKey] {
        // a scrambled stream names its keys itself
        guard let key = segment.key, contents.options.transport != .cissa else { return [] }
        return [line(for: key, iv: (segment.iv ?? segment.encryption?.constantIV)?.bytes)]
    }

    /// The line of a key (RFC 8216 §4.3.2.4). Without a URI of a key server it names the key by the header of the common system.
    private func line(for key: PackagingKey, iv: [UInt8]?) -> EncryptionKey {
        let method: EncryptionKey.Method =
            switch contents.options.transport {
            case .aes128: .aes128
            case .sampleAES: .sampleAES
            default: contents.options.scheme == .cbcs ? .sampleAES : .sampleAESCTR
            }
        if let address = contents.options.keyURI {
            return EncryptionKey(
                method: method,
                uri: address.replacing("{kid}", with: "\(key.id)"),
                initializationVector: iv,
                // the format without a name, which the oldest players know
                keyFormat: contents.options.transport == .aes128 ? nil : "identity"
            )
        }
        var writer = BoxWriter()
        ProtectionSystemHeader(system: ProtectionSystemHeader.common, keyIDs: [key.id]).write(to: &writer)
        var line = EncryptionKey(
            method: method,
            uri: "data:text/plain;base64,\(Base64.encode(writer.bytes))",
            initializationVector: iv,
            keyFormat: "urn:uuid:1077efec-c0b2-4d02-ace3-3c1e52e2fb4b",
            keyFormatVersions: "1"
        )
        line.otherAttributes["KEYID"] = .bare("0x\(key.id)")
        return line
    }

    /// One picture each: a fragment's head with its first sample (§4.3.3.6).
    private func picturePlaylist(of rendition: PackagedRendition) -> MediaPlaylist? {
        guard contents.options.hasIFramePlaylists, !rendition.isTransport, rendition.track.kind == .video else { return nil }
        var playlist = Self.ended
        playlist.iFramesOnly = true
        for gap in gaps(of: rendition) { playlist.segments.append(gap) }
        let first = playlist.segments.count
        var times: [Int64] = []
        for (i, written) in rendition.segments.enumerated() {
            for picture in written.pictures {
                times.append(rendition.track.microseconds(picture.time))
                var segment = MediaSegment(uri: rendition.path(ofSegment: i), duration: .zero)
                segment.initialization = initialization(of: rendition)
                segment.byteRange = Self.range(written.offset + picture.offset, picture.length)
                segment.keys = keys(of: written)
                playlist.segments.append(segment)
            }
        }
        guard !times.isEmpty else { return nil }
        times.append(rendition.track.microseconds(rendition.track.end))
        if let cut = rendition.lead.last { times[0] = min(cut, times[0]) }
        for i in times.indices.dropLast() {
            playlist.segments[first + i].duration = Self.microseconds(max(0, times[i + 1] - times[i]))
        }
        playlist.targetDuration = Self.targetDuration(playlist.segments)
        return playlist
    }

    private func playlist(of text: PackagedText) -> MediaPlaylist {
        var playlist = Self.ended
        for segment in text.segments {
            playlist.targetDuration = max(playlist.targetDuration, UInt64((segment.duration + 500_000) / 1_000_000))
            playlist.segments.append(MediaSegment(uri: segment.path, duration: Self.microseconds(segment.duration)))
        }
        return playlist
    }

    /// Grids of thumbnails (`EXT-X-IMAGES-ONLY`, `EXT-X-TILES`).
    private func playlist(of thumbnails: PackagedThumbnails) -> MediaPlaylist {
        var playlist = Self.ended
        playlist.imagesOnly = true
        let end = (renditions.map { $0.track.microseconds($0.track.end) }.max() ?? 0) / 1000
        var tiles = AttributeList()
        tiles["RESOLUTION"] = .bare("\(thumbnails.width / thumbnails.columns)x\(thumbnails.height / thumbnails.rows)")
        tiles["LAYOUT"] = .bare("\(thumbnails.columns)x\(thumbnails.rows)")
        tiles["DURATION"] = .bare(PackageTime.seconds(thumbnails.interval * 1000))
        for (i, grid) in thumbnails.grids.enumerated() {
            let start = Int64(i) * thumbnails.gridDuration
            let length = max(1, min(thumbnails.gridDuration, end - start))
            playlist.targetDuration = max(playlist.targetDuration, UInt64((length + 500) / 1000))
            var segment = MediaSegment(uri: grid.path, duration: .milliseconds(length))
            segment.tiles = tiles
            playlist.segments.append(segment)
        }
        return playlist
    }

    // MARK: - The multivariant playlist

    /// A choice of audio: a language, and the number among the tracks of that language and one coding.
    private struct AudioChoice: Hashable {
        var language: String?
        var number: Int

        var name: String { (language ?? "audio") + (number > 1 ? " (\(number))" : "") }
    }

    private struct AudioRendition {
        var choice: AudioChoice
        var audio: PackagedRendition
    }

    /// Audio renditions that a player chooses one of: a group for each coding.
    ///
    /// All groups have the same choices, as RFC 8216 §4.3.4.1.1 demands: if a language lacks a coding, the group has it in another.
    private func audioGroups() -> [[AudioRendition]] {
        var groups: [[AudioRendition]] = []
        var choices: [AudioChoice] = []
        var all: [AudioRendition] = []
        for audio in audios {
            let fits = groups.firstIndex { group in
                group[0].audio.track.codecs == audio.track.codecs && group[0].audio.track.channels == audio.track.channels
            }
            let number = fits.map { groups[$0].count { $0.audio.track.language == audio.track.language } } ?? 0
            let rendition = AudioRendition(
                choice: AudioChoice(language: audio.track.language, number: number + 1),
                audio: audio
            )
            if !choices.contains(rendition.choice) { choices.append(rendition.choice) }
            all.append(rendition)
            if let fits { groups[fits].append(rendition) } else { groups.append([rendition]) }
        }
        return groups.map { group in
            choices.compactMap { choice in (group + all).first { $0.choice == choice } }
        }
    }

    private func multivariant() -> MultivariantPlaylist {
        var playlist = MultivariantPlaylist()
        playlist.version = 7
        playlist.independentSegments = renditions.allSatisfy(\.hasIndependentSegments)
        let groups = audioGroups()
        let hasGroups = !videos.isEmpty || groups.contains { $0.count > 1 }
        if hasGroups {
            for (number, group) in groups.enumerated() {
                let first = group.firstIndex { $0.audio.track.track.isEnabled } ?? 0
                for (i, rendition) in group.enumerated() {
                    playlist.renditions.append(self.rendition(rendition, group: "audio-\(number + 1)", isDefault: i == first))
                }
            }
        }
        for (i, text) in contents.texts.enumerated() {
            let number = contents.texts[...i].count { $0.language == text.language }
            playlist.renditions.append(rendition(of: text, number: number))
        }
        if videos.isEmpty {
            for (number, group) in groups.enumerated() {
                playlist.variants.append(variant(nil, group.map(\.audio), number: hasGroups ? number + 1 : nil))
            }
        } else {
            for video in videos {
                if groups.isEmpty { playlist.variants.append(variant(video, [], number: nil)) }
                for (number, group) in groups.enumerated() {
                    playlist.variants.append(variant(video, group.map(\.audio), number: number + 1))
                }
                if let pictures = pictureVariant(of: video) { playlist.iFrameVariants.append(pictures) }
            }
        }
        if let thumbnails = contents.thumbnails {
            var list = AttributeList()
            list["BANDWIDTH"] = .bare("\(thumbnails.bandwidth)")
            list["RESOLUTION"] = .bare("\(thumbnails.width / thumbnails.columns)x\(thumbnails.height / thumbnails.rows)")
            list["CODECS"] = .quoted("jpeg")
            list["URI"] = .quoted("thumbnails.m3u8")
            playlist.imageVariants.append(MultivariantPlaylist.PictureVariant(list))
        }
        var named: Set<KeyID> = []
        for rendition in renditions where contents.options.transport != .cissa {
            for key in rendition.keys where named.insert(key.id).inserted {
                playlist.sessionKeys.append(line(for: key, iv: nil))
            }
        }
        return playlist
    }

    private func rendition(
        _ rendition: AudioRendition,
        group: String,
        isDefault: Bool
    ) -> MultivariantPlaylist.Rendition {
        let audio = rendition.audio
        var list = AttributeList()
        list["TYPE"] = .bare("AUDIO")
        list["GROUP-ID"] = .quoted(group)
        // a choice has one name in all groups
        list["NAME"] = .quoted(rendition.choice.name)
        if let language = audio.track.language { list["LANGUAGE"] = .quoted(language) }
        list["DEFAULT"] = .bare(isDefault ? "YES" : "NO")
        list["AUTOSELECT"] = .bare("YES")
        if audio.track.channels > 0 { list["CHANNELS"] = .quoted("\(audio.track.channels)") }
        list["URI"] = .quoted("\(audio.name).m3u8")
        return MultivariantPlaylist.Rendition(list)
    }

    private func rendition(of text: PackagedText, number: Int) -> MultivariantPlaylist.Rendition {
        var list = AttributeList()
        list["TYPE"] = .bare("SUBTITLES")
        list["GROUP-ID"] = .quoted(Self.textGroup)
        list["NAME"] = .quoted(text.language.map { number == 1 ? $0 : "\($0) (\(number))" } ?? text.name)
        if let language = text.language { list["LANGUAGE"] = .quoted(language) }
        list["DEFAULT"] = .bare("NO")
        list["AUTOSELECT"] = .bare("YES")
        list["FORCED"] = .bare("NO")
        list["URI"] = .quoted("\(text.name).m3u8")
        return MultivariantPlaylist.Rendition(list)
    }

    private func variant(
        _ video: PackagedRendition?,
        _ group: [PackagedRendition],
        number: Int?
    ) -> MultivariantPlaylist.Variant {
        let peak = (video?.peakBandwidth ?? 0) + (group.map(\.peakBandwidth).max() ?? 0)
        let average = (video?.averageBandwidth ?? 0) + (group.map(\.averageBandwidth).max() ?? 0)
        var codecs: [String] = []
        for rendition in [video].compactMap(\.self) + group where !codecs.contains(rendition.track.codecs) {
            codecs.append(rendition.track.codecs)
        }
        var variant = MultivariantPlaylist.Variant(
            uri: "\((video ?? group.first)?.name ?? "").m3u8",
            bandwidth: UInt64(peak),
            averageBandwidth: UInt64(average),
            codecs: codecs.joined(separator: ",")
        )
        if let video {
            if let size = video.track.size { variant.attributes["RESOLUTION"] = .bare("\(size.width)x\(size.height)") }
            if let range = video.track.range { variant.attributes["VIDEO-RANGE"] = .bare(range.rawValue) }
            if let rate = video.track.frameRate { variant.attributes["FRAME-RATE"] = .bare(Self.decimal(rate)) }
        }
        if let number { variant.attributes["AUDIO"] = .quoted("audio-\(number)") }
        if !contents.texts.isEmpty { variant.attributes["SUBTITLES"] = .quoted(Self.textGroup) }
        if video != nil { variant.attributes["CLOSED-CAPTIONS"] = .bare("NONE") }
        return variant
    }

    /// A number with three decimals.
    private static func decimal(_ value: Double) -> String {
        PackageTime.seconds(Int64((min(value, 1e6) * 1_000_000).rounded()))
    }

    private func pictureVariant(of video: PackagedRendition) -> MultivariantPlaylist.PictureVariant? {
        guard contents.options.hasIFramePlaylists, !contents.options.isTransport else { return nil }
        let pictures = video.segments.flatMap(\.pictures)
        guard let longest = pictures.map(\.length).max() else { return nil }
        let spacing = max(0.001, video.track.seconds / Double(pictures.count))
        var list = AttributeList()
        list["BANDWIDTH"] = .bare("\(UInt64((Double(longest) * 8 / min(spacing, 1)).rounded(.up)))")
        let total = pictures.reduce(0) { $0 + $1.length }
        list["AVERAGE-BANDWIDTH"] = .bare("\(UInt64((Double(total) * 8 / max(0.001, video.track.seconds)).rounded(.up)))")
        list["CODECS"] = .quoted(video.track.codecs)
        if let size = video.track.size { list["RESOLUTION"] = .bare("\(size.width)x\(size.height)") }
        if let range = video.track.range { list["VIDEO-RANGE"] = .bare(range.rawValue) }
        list["URI"] = .quoted("\(video.name)-iframes.m3u8")
        return MultivariantPlaylist.PictureVariant(list)
    }
}
