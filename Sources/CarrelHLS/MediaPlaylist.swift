/// A media playlist (RFC 8216 §4.3.3).
package struct MediaPlaylist: Sendable, Hashable {
    /// Whether segments may be added or removed (EXT-X-PLAYLIST-TYPE).
    package enum Kind: String, Sendable, Hashable {
        case event = "EVENT"
        case vod = "VOD"
    }

    /// EXT-X-VERSION; 1 when the tag is absent.
    package var version = 1
    /// Whole seconds; each segment's duration, rounded, is no more.
    package var targetDuration: UInt64
    /// The first segment's media sequence number.
    package var mediaSequence: UInt64 = 0
    /// Discontinuities before the first segment.
    package var discontinuitySequence: UInt64 = 0
    package var kind: Kind?
    /// Whether no segment will be added (EXT-X-ENDLIST).
    package var isEnded = false
    package var iFramesOnly = false
    /// Whether each segment decodes without the others.
    package var independentSegments = false
    package var segments: [MediaSegment] = []

    package init(targetDuration: UInt64) {
        self.targetDuration = targetDuration
    }

    /// The media type of playlists (§4).
    package static let mediaType = "application/vnd.apple.mpegurl"

    /// Seconds of all segments.
    package var duration: Duration { segments.reduce(.zero) { $0 + $1.duration } }
}
