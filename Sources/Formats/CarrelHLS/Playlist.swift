// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The kind of a resource of the playlist media type.
package enum Playlist: Sendable, Hashable {
    /// A list of segments.
    case media(MediaPlaylist)
    /// A list of ways to play a presentation.
    case multivariant(MultivariantPlaylist)

    /// Most bytes of a playlist.
    private static let byteLimit = 64 << 20

    /// Reads a playlist strictly: every MUST of the specification is checked (RFC 8216 §4).
    ///
    /// Unknown tags and comments are ignored, as §6.3.1 requires, and written again at their positions.
    ///
    /// - Parameters:
    ///   - bytes: the whole resource.
    ///   - limit: maximum number of segments or variants.
    /// - Returns: the playlist.
    /// - Throws: the fault, at the first byte of its line.
    package static func parse(_ bytes: RawSpan, limit: Int = 200_000) throws(Malformed) -> Playlist {
        try read(bytes, limit: limit).playlist
    }

    /// Reads a playlist with its warnings.
    ///
    /// - Parameters:
    ///   - bytes: the whole resource.
    ///   - strictness: whether an unambiguous violation is refused or becomes a warning.
    ///   - url: the address of the playlist, whose query may define variables.
    ///   - imports: variables of the multivariant playlist that names this one.
    ///   - limit: maximum number of segments or variants.
    /// - Returns: the playlist and the warnings. A strict reading warns of a byte order mark, and of malformed newer tags.
    /// - Throws: the fault, at the first byte of its line.
    package static func read(
        _ bytes: RawSpan,
        strictness: PlaylistStrictness = .strict,
        url: String? = nil,
        imports: [PlaylistVariable] = [],
        limit: Int = 200_000
    ) throws(Malformed) -> PlaylistReading {
        try read([UInt8](copying: bytes), strictness: strictness, url: url, imports: imports, limit: limit)
    }

    /// Reads a playlist with its warnings, and keeps the array instead of a copy.
    ///
    /// - Parameters:
    ///   - bytes: the whole resource.
    ///   - strictness: whether an unambiguous violation is refused or becomes a warning.
    ///   - url: the address of the playlist, whose query may define variables.
    ///   - imports: variables of the multivariant playlist that names this one.
    ///   - limit: maximum number of segments or variants.
    /// - Returns: the playlist and the warnings.
    /// - Throws: the fault, at the first byte of its line.
    package static func read(
        _ bytes: [UInt8],
        strictness: PlaylistStrictness = .strict,
        url: String? = nil,
        imports: [PlaylistVariable] = [],
        limit: Int = 200_000
    ) throws(Malformed) -> PlaylistReading {
        guard bytes.count <= byteLimit else { throw Malformed("playlist is longer than \(byteLimit) bytes", at: byteLimit) }
        let text = ParsedPlaylistText(bytes, isLenient: strictness == .lenient)
        let stored = text.bytes
        let bytes = stored.rawSpan
        var context = PlaylistContext(text, PlaylistWarnings(strictness), url: url, imports: imports)
        try context.checkCharacters(bytes)
        var start = 0
        if bytes.byteCount >= 3, bytes.u8(at: 0) == 0xef, bytes.u8(at: 1) == 0xbb, bytes.u8(at: 2) == 0xbf {
            start = 3
            context.warnings.note(.byteOrderMark, "playlist has a byte order mark", at: 0)
        }
        var line = PlaylistLine(bytes, at: start)
        while line.isBlank(bytes), line.next < bytes.byteCount { line = PlaylistLine(bytes, at: line.next) }
        guard line.range.count == 7, bytes.matches("#EXTM3U", at: line.offset) else {
            throw Malformed("playlist does not begin with #EXTM3U", at: 0)
        }
        let first = line.next
        var next = first
        while next < bytes.byteCount {
            line = PlaylistLine(bytes, at: next)
            next = line.next
            switch line.tag(bytes)?.tag.scope {
            case .media:
                let playlist = try MediaPlaylistReader.read(bytes, from: first, &context, limit: limit)
                return PlaylistReading(playlist: .media(playlist), warnings: context.warnings.list)
            case .multivariant:
                let playlist = try MultivariantPlaylistReader.read(bytes, from: first, &context, limit: limit)
                return PlaylistReading(playlist: .multivariant(playlist), warnings: context.warnings.list)
            case .either, .unknown, nil: break
            }
        }
        throw Malformed("playlist has neither segments nor variants", at: 0)
    }
}

/// A playlist with the warnings of its reading.
package struct PlaylistReading: Sendable {
    package let playlist: Playlist
    /// In the order of the playlist, one of each kind.
    package let warnings: [PlaylistWarning]
}
