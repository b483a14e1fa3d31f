// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The tags of RFC 8216 and of draft-pantos-hls-rfc8216bis, and those for images.
enum PlaylistTag: UInt8 {
    case m3u, version
    // segments
    case duration, byteRange, discontinuity, key, map, programDateTime, gap, bitrate, part, dateRange, tiles
    // media playlists
    case targetDuration, mediaSequence, discontinuitySequence, endList, playlistType, iFramesOnly, partInformation
    case serverControl, skip, preloadHint, renditionReport, imagesOnly
    // multivariant playlists
    case rendition, variant, iFrameVariant, sessionData, sessionKey, contentSteering, imageVariant
    // both
    case independentSegments, start, define
    case unknown

    /// In which playlists a tag may stand (RFC 8216 §4.3).
    enum Scope {
        case media, multivariant, either, unknown
    }

    var scope: Scope {
        switch self {
        case .duration, .byteRange, .discontinuity, .key, .map, .programDateTime, .gap, .bitrate, .part, .dateRange, .tiles,
            .targetDuration, .mediaSequence, .discontinuitySequence, .endList, .playlistType, .iFramesOnly, .partInformation,
            .serverControl, .skip, .preloadHint, .renditionReport, .imagesOnly:
            .media
        case .rendition, .variant, .iFrameVariant, .sessionData, .sessionKey, .contentSteering, .imageVariant: .multivariant
        case .version, .independentSegments, .start, .define: .either
        case .m3u, .unknown: .unknown
        }
    }

    /// Whether the tag describes the next segment, so that it moves with the segment.
    var isOfSegment: Bool { rawValue >= PlaylistTag.duration.rawValue && rawValue <= PlaylistTag.tiles.rawValue }

    /// Whether RFC 8216 does not define the tag, or does not require readers to refuse a malformed one.
    var isNewer: Bool {
        switch self {
        case .serverControl, .partInformation, .skip, .imagesOnly: true
        default: false
        }
    }

    /// The tag of a name.
    ///
    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - name: the place of the name, without the number sign.
    init(_ bytes: RawSpan, _ name: Range<Int>) {
        if name.count == 6 {
            self =
                bytes.matches("EXTINF", at: name.lowerBound)
                ? .duration : bytes.matches("EXTM3U", at: name.lowerBound) ? .m3u : .unknown
            return
        }
        guard name.count > 7, bytes.matches("EXT-X-", at: name.lowerBound) else {
            self = .unknown
            return
        }
        let at = name.lowerBound + 6
        func match(_ candidates: KeyValuePairs<StaticString, PlaylistTag>) -> PlaylistTag {
            for (text, tag) in candidates where bytes.matches(text, at: at) { return tag }
            return .unknown
        }
        switch name.count - 6 {
        case 3: self = match(["KEY": .key, "MAP": .map, "GAP": .gap])
        case 4: self = match(["PART": .part, "SKIP": .skip])
        case 5: self = match(["MEDIA": .rendition, "START": .start, "TILES": .tiles])
        case 6: self = match(["DEFINE": .define])
        case 7: self = match(["BITRATE": .bitrate, "VERSION": .version, "ENDLIST": .endList])
        case 8: self = match(["PART-INF": .partInformation])
        case 9: self = match(["BYTERANGE": .byteRange, "DATERANGE": .dateRange])
        case 10: self = match(["STREAM-INF": .variant])
        case 11: self = match(["SESSION-KEY": .sessionKey, "IMAGES-ONLY": .imagesOnly])
        case 12: self = match(["PRELOAD-HINT": .preloadHint, "SESSION-DATA": .sessionData])
        case 13: self = match(["DISCONTINUITY": .discontinuity, "I-FRAMES-ONLY": .iFramesOnly, "PLAYLIST-TYPE": .playlistType])
        case 14:
            self = match(["TARGETDURATION": .targetDuration, "MEDIA-SEQUENCE": .mediaSequence, "SERVER-CONTROL": .serverControl])
        case 16:
            self = match([
                "RENDITION-REPORT": .renditionReport, "CONTENT-STEERING": .contentSteering, "IMAGE-STREAM-INF": .imageVariant,
            ])
        case 17: self = match(["PROGRAM-DATE-TIME": .programDateTime])
        case 18: self = match(["I-FRAME-STREAM-INF": .iFrameVariant])
        case 20: self = match(["INDEPENDENT-SEGMENTS": .independentSegments])
        case 22: self = match(["DISCONTINUITY-SEQUENCE": .discontinuitySequence])
        default: self = .unknown
        }
    }

    /// One of the tags that a playlist has for every segment, by eight bytes at a time.
    ///
    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - line: the place of the line.
    /// - Returns: the tag, and the place after its colon; nil for others.
    @inline(__always)
    static func frequent(_ bytes: RawSpan, _ line: Int) -> (tag: PlaylistTag, value: Int)? {
        guard line &+ 12 <= bytes.byteCount else { return nil }
        switch bytes.u64(at: line) {
        case word("#EXTINF:"): return (.duration, line &+ 8)
        case word("#EXT-X-K") where bytes.u32(at: line &+ 7) == 0x4b_4559_3a: return (.key, line &+ 11)
        case word("#EXT-X-B") where bytes.has(word("YTERANGE"), at: line &+ 8) && bytes.isColon(line &+ 16):
            return (.byteRange, line &+ 17)
        case word("#EXT-X-P")
        where bytes.has(word("ROGRAM-D"), at: line &+ 8) && bytes.has(word("ATE-TIME"), at: line &+ 16)
            && bytes.isColon(line &+ 24):
            return (.programDateTime, line &+ 25)
        default: return nil
        }
    }

    /// Eight characters as a number.
    @inline(__always)
    private static func word(_ text: StaticString) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<8 { word = unsafe word &<< 8 | UInt64(text.utf8Start[index]) }
        return word
    }
}

extension RawSpan {
    @inline(__always)
    fileprivate func isColon(_ position: Int) -> Bool { position < byteCount && u8(at: position) == UInt8(ascii: ":") }
}
