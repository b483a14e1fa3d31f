// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
public import CarrelHTTP

/// Facts that a caller knows about a source, and its preferences. Every field is optional.
public struct MediaSourceParameters: Sendable {
    /// Which of several tracks of one kind is played.
    public enum TrackSelector: Sendable, Hashable {
        /// The track chosen by the default rules.
        case any
        /// Selects by the id of the adaptation set, group or track.
        case id(String)
        /// Selects by the index among tracks of the same kind, from 0.
        case index(Int)
    }

    /// A separate subtitle file.
    public struct Subtitles: Sendable, Hashable {
        /// The name that players show.
        public var name: String
        /// The language (BCP 47).
        public var language: String
        /// The address of a WebVTT file.
        public var url: String

        /// Creates a subtitle file.
        ///
        /// - Parameters:
        ///   - name: the name that players show.
        ///   - language: the language (BCP 47).
        ///   - url: the address of a WebVTT file.
        public init(name: String, language: String, url: String) {
            self.name = name
            self.language = language
            self.url = url
        }
    }

    /// The media type of the source, such as `video/mp4` or `application/vnd.oma.drm.dcf`; nil to find it in its bytes.
    public var sourceContentType: String?
    /// The media type that players get for the content of a DCF; nil for the type in the file.
    public var contentType: String?
    /// The duration of the content in seconds; nil if unknown.
    public var durationSeconds: Double?
    /// Bits a second, by which lengths are estimated; 0 for 3,000,000.
    public var bitrateBitsPerSecond = 0
    /// The language of audio that is preferred (BCP 47).
    public var language: String?
    /// Codecs of audio that the player has (RFC 6381), best first; none for all.
    public var audioCodecs: [String] = []
    /// Codecs of pictures that the player has (RFC 6381), best first; none for all.
    public var videoCodecs: [String] = []
    /// The address of the index of a scrambled transport stream.
    public var indexURL: String?
    /// Lines that are added to the top playlist: tags and comments.
    public var playlistLines: [String] = []
    /// Which pictures are played.
    public var videoTrack = TrackSelector.any
    /// Which audio is played.
    public var audioTrack = TrackSelector.any
    /// Whether plain http beyond this machine is allowed for this source; nil for the proxy's default.
    public var allowsPlainHTTP: Bool?
    /// Header fields of every request to the source's own origin, and to no other.
    public var originFields: HTTPFields = [:]
    /// Header fields of every response to the player.
    public var playerFields: HTTPFields = [:]
    /// A separate subtitle file.
    public var subtitles: Subtitles?

    /// Nothing is known.
    public init() {}

    /// Bits a second, by which lengths are estimated.
    package var bitrate: Int { bitrateBitsPerSecond > 0 ? bitrateBitsPerSecond : 3_000_000 }

    /// Checks the caller's parameters.
    ///
    /// - Throws: `proxy.usage` with the parameter.
    package func check() throws(ProxyError) {
        for line in playlistLines {
            // a line that the playlist has itself, an address, or two lines in one would make another playlist
            let isOwn = ["#EXTM3U", "#EXT-X-STREAM-INF", "#EXT-X-VERSION", "#EXT-X-ENDLIST", "#EXTINF", "#EXT-X-TARGETDURATION"]
                .contains { line.hasPrefix($0) }
            let hasControls = line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f }
            guard line.hasPrefix("#"), !isOwn, !hasControls, line.utf8.count <= 4096, Self.isOfTopPlaylist(line) else {
                throw ProxyError(
                    .usage,
                    "a line for the top playlist would break it: a line begins with '#', and has no tag of media playlists or of the proxy's own"
                )
            }
        }
        guard playlistLines.count <= 64 else { throw ProxyError(.usage, "there are more than 64 lines for the top playlist") }
        if let durationSeconds, !(durationSeconds > 0 && durationSeconds < 1e7) {
            throw ProxyError(.usage, "the duration is not a number of seconds")
        }
        guard 0...10_000_000_000 ~= bitrateBitsPerSecond else { throw ProxyError(.usage, "the bit rate is out of range") }
        for field in Array(originFields) + Array(playerFields) {
            // the name alone: the value may be a secret
            let isOwn = Self.framing.contains(field.name.lowercased())
            guard Token.isValid(field.name), Token.isValidFieldValue(field.value), !isOwn else {
                throw ProxyError(.usage, "a header field has a bad name or value, or is the proxy's own")
            }
        }
    }

    /// Header fields that control message framing and ranges.
    private static let framing: Set<String> = [
        "connection", "content-length", "content-range", "host", "keep-alive", "range", "te", "trailer", "transfer-encoding",
        "upgrade",
    ]

    /// Whether a multivariant playlist remains valid for players with a line.
    private static func isOfTopPlaylist(_ line: String) -> Bool {
        let text = Array("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmedia.m3u8\n\(line)\n".utf8)
        guard case .multivariant = try? Playlist.parse(text.rawSpan) else { return false }
        return true
    }
}
