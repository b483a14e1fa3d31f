/// A media playlist (RFC 8216 §4.3.3).
public struct MediaPlaylist: Sendable, Hashable {
    /// Whether segments may be added or removed (EXT-X-PLAYLIST-TYPE).
    public enum Kind: String, Sendable, Hashable {
        case event = "EVENT"
        case vod = "VOD"
    }

    /// EXT-X-VERSION; 1 when the tag is absent.
    public var version = 1
    /// Whole seconds; each segment's duration, rounded, is no more.
    public var targetDuration: UInt64
    /// The first segment's media sequence number.
    public var mediaSequence: UInt64 = 0
    /// Discontinuities before the first segment.
    public var discontinuitySequence: UInt64 = 0
    public var kind: Kind?
    /// Whether no segment will be added (EXT-X-ENDLIST).
    public var isEnded = false
    public var iFramesOnly = false
    /// Whether each segment decodes without the others.
    public var independentSegments = false
    public var segments: [MediaSegment] = []

    public init(targetDuration: UInt64) {
        self.targetDuration = targetDuration
    }

    /// The media type of playlists (§4).
    public static let mediaType = "application/vnd.apple.mpegurl"

    /// Seconds of all segments.
    public var duration: Duration { segments.reduce(.zero) { $0 + $1.duration } }
}
