package import CarrelBytes

/// The kind of a resource of the playlist media type.
package enum Playlist: Sendable, Hashable {
    /// A list of segments.
    case media(MediaPlaylist)
    /// A list of ways to play a presentation.
    case multivariant(MultivariantPlaylist)

    /// Reads a playlist (RFC 8216 §4), strictly: what the specification says a playlist MUST be is checked.
    ///
    /// Unknown tags and comments are passed over, as §6.3.1 asks.
    ///
    /// - Parameters:
    ///   - bytes: the whole resource.
    ///   - limit: most segments or variants.
    /// - Returns: the playlist.
    /// - Throws: what is wrong, and at which line's first byte.
    package static func parse(_ bytes: RawSpan, limit: Int = 200_000) throws(Malformed) -> Playlist {
        let lines = try PlaylistLine.split(bytes, limit: limit)
        guard lines.first?.text == "#EXTM3U" else { throw Malformed("playlist does not begin with #EXTM3U", at: 0) }
        for line in lines {
            switch line.tag.map({ TagKind(of: $0.name) }) {
            case .media: return .media(try MediaPlaylistReader.read(lines.dropFirst(), end: bytes.byteCount, limit: limit))
            case .multivariant:
                return .multivariant(try MultivariantPlaylistReader.read(lines.dropFirst(), end: bytes.byteCount, limit: limit))
            case .either, .unknown, nil: break
            }
        }
        throw Malformed("playlist has neither segments nor variants", at: 0)
    }
}

/// In which playlists a tag may stand (RFC 8216 §4.3).
enum TagKind {
    case media, multivariant, either, unknown

    init(of name: Substring) {
        switch name {
        case "EXTINF", "EXT-X-BYTERANGE", "EXT-X-DISCONTINUITY", "EXT-X-KEY", "EXT-X-MAP", "EXT-X-PROGRAM-DATE-TIME",
            "EXT-X-DATERANGE", "EXT-X-TARGETDURATION", "EXT-X-MEDIA-SEQUENCE", "EXT-X-DISCONTINUITY-SEQUENCE",
            "EXT-X-ENDLIST", "EXT-X-PLAYLIST-TYPE", "EXT-X-I-FRAMES-ONLY":
            self = .media
        case "EXT-X-MEDIA", "EXT-X-STREAM-INF", "EXT-X-I-FRAME-STREAM-INF", "EXT-X-SESSION-DATA", "EXT-X-SESSION-KEY":
            self = .multivariant
        case "EXT-X-VERSION", "EXT-X-INDEPENDENT-SEGMENTS", "EXT-X-START": self = .either
        default: self = .unknown
        }
    }
}
