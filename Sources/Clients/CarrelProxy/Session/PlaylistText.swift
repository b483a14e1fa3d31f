// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelMediaSource
import CarrelPresentation

/// The playlists of a session, in the caller's choice of rules.
struct PlaylistText {
    let rules: PlaylistRules
    /// Whether segments are fragmented MP4, which need their initialization segments.
    let isFragmented: Bool
    /// Whether segments are encrypted with the session key.
    let isEncrypted: Bool

    /// The multivariant playlist.
    ///
    /// - Parameters:
    ///   - outline: the outline of the presentation.
    ///   - lines: lines to add verbatim.
    /// - Returns: the text.
    /// - Throws: `proxy.manifest` if the source has a text that a playlist cannot contain.
    func top(_ outline: Outline, lines: [String]) throws(ProxyError) -> [UInt8] {
        var list = MultivariantPlaylist()
        list.independentSegments = rules == .rfc
        for variant in outline.variants {
            var entry = MultivariantPlaylist.Variant(
                uri: "media.m3u8?\(variant.name.query)",
                bandwidth: UInt64(max(1, variant.bandwidth)),
                codecs: variant.codecs
            )
            if let width = variant.width, let height = variant.height {
                entry.attributes["RESOLUTION"] = .bare("\(width)x\(height)")
            }
            if let rate = variant.frameRate { entry.attributes["FRAME-RATE"] = .bare(rate) }
            if variant.hasAudioGroup { entry.attributes["AUDIO"] = .quoted("audio") }
            if !outline.texts.isEmpty { entry.attributes["SUBTITLES"] = .quoted("text") }
            list.variants.append(entry)
        }
        for (kind, group, renditions) in [("AUDIO", "audio", outline.audio), ("SUBTITLES", "text", outline.texts)] {
            for rendition in renditions { list.renditions.append(Self.rendition(rendition, kind, group)) }
        }
        for pictures in outline.pictures {
            var attributes = AttributeList()
            attributes["BANDWIDTH"] = .bare("\(max(1, pictures.bandwidth))")
            if let codecs = pictures.codecs { attributes["CODECS"] = .quoted(codecs) }
            if let width = pictures.width, let height = pictures.height { attributes["RESOLUTION"] = .bare("\(width)x\(height)") }
            attributes["URI"] = .quoted("media.m3u8?\(pictures.name.query)")
            list.iFrameVariants.append(MultivariantPlaylist.PictureVariant(attributes))
        }
        var text: [UInt8]
        do throws(PlaylistError) { text = try list.write(rules: rules, isEnded: !outline.isLive) } catch {
            throw ProxyError(.manifest, error.message)
        }
        for line in lines { text += Array("\(line)\n".utf8) }
        return text
    }

    private static func rendition(
        _ rendition: Outline.Rendition,
        _ kind: String,
        _ group: String
    ) -> MultivariantPlaylist.Rendition {
        var attributes = AttributeList()
        attributes["TYPE"] = .bare(kind)
        attributes["GROUP-ID"] = .quoted(group)
        attributes["NAME"] = .quoted(clean(rendition.label))
        if let language = rendition.language { attributes["LANGUAGE"] = .quoted(clean(language)) }
        attributes["DEFAULT"] = .bare(rendition.isDefault ? "YES" : "NO")
        attributes["AUTOSELECT"] = .bare("YES")
        attributes["URI"] = .quoted("media.m3u8?\(rendition.name.query)")
        return MultivariantPlaylist.Rendition(attributes)
    }

    /// A text of the source that a quoted string can hold.
    private static func clean(_ text: String) -> String {
        let scalars = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f && $0 != "\"" }
        return String(String.UnicodeScalarView(scalars).prefix(256))
    }

    /// The playlist of a rendition.
    ///
    /// - Parameters:
    ///   - list: its segments.
    ///   - name: the rendition.
    /// - Returns: the text.
    /// - Throws: `proxy.manifest`.
    func media(_ list: SegmentList, of name: RenditionName) throws(ProxyError) -> [UInt8] {
        var playlist = MediaPlaylist(targetDuration: max(1, list.leastTarget))
        let isFragmented = isFragmented && !list.isTransportStream
        playlist.version = isFragmented ? 7 : name.isPictures ? 4 : 3
        playlist.mediaSequence = list.mediaSequence
        playlist.discontinuitySequence = list.discontinuitySequence
        playlist.isEnded = list.isEnded
        playlist.kind = list.isEnded && rules == .rfc ? .vod : nil
        playlist.iFramesOnly = name.isPictures
        // some players refuse a format under the name of another
        let kind = name.isText ? "vtt" : isFragmented ? "m4s" : list.packedAudio?.rawValue ?? "ts"
        let file = kind == "vtt" ? "text.vtt?" : "segment.\(kind)?"
        var initialization: MediaSegment.Initialization?
        playlist.segments.reserveCapacity(list.segments.count)
        var beginning = file
        var named: SegmentName?
        for segment in list.segments {
            if named.map({ !segment.name.isBeside($0) }) ?? true {
                beginning = "\(file)period=\(segment.name.period)"
                segment.name.rendition.append(to: &beginning)
                named = segment.name
            }
            var uri = beginning
            segment.name.appendPlaces(to: &uri, hasTime: list.hasTimes)
            var entry = MediaSegment(uri: uri, duration: segment.duration)
            entry.discontinuity = segment.isDiscontinuity
            entry.isGap = segment.isGap
            if let range = segment.byteRange, kind == "m4s", !isEncrypted, !name.isPictures, rules == .rfc {
                entry.uri = "track.mp4?\(segment.name.fileQuery)"
                entry.byteRange = MediaSegment.ByteRange(offset: UInt64(range.lowerBound), length: UInt64(range.count))
            }
            if isFragmented, kind == "m4s" {
                if segment.hasInitialization || initialization == nil {
                    initialization = MediaSegment.Initialization(uri: "init.mp4?\(list.initializationQuery(of: segment))")
                }
                entry.initialization = initialization
            }
            if isEncrypted, kind != "vtt" {
                entry.keys = [EncryptionKey(uri: "key.bin", initializationVector: EncryptedBytes.vector(of: segment.name))]
            }
            if let date = segment.date { entry.programDateTime = date }
            let seconds =
                entry.duration.components.seconds + (entry.duration.components.attoseconds >= 500_000_000_000_000_000 ? 1 : 0)
            playlist.targetDuration = max(playlist.targetDuration, UInt64(max(0, seconds)))
            playlist.segments.append(entry)
        }
        do throws(PlaylistError) { return try playlist.write(rules: rules) } catch { throw ProxyError(.manifest, error.message) }
    }
}
