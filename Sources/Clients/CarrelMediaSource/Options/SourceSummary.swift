// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// A summary of a probed source, as a player gets it.
public struct SourceSummary: Sendable {
    /// The kind of a source, as its bytes have it.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable {
        /// A DASH manifest.
        case dash
        /// An HLS playlist.
        case hls
        /// One MP4 file.
        case mp4
        /// One transport stream.
        case transportStream = "transport-stream"
        /// A DCF, whose content is served without conversion.
        case dcf
    }

    /// Tracks at one bit rate.
    public struct Variant: Sendable, Hashable {
        /// Bits a second, at most.
        public var bandwidth: Int
        /// The codecs (RFC 6381); nil if unknown.
        public var codecs: String?
        /// Width of the video in pixels; nil if unknown, and for audio.
        public var width: Int?
        /// Height of the video in pixels; nil if unknown, and for audio.
        public var height: Int?

        package init(bandwidth: Int, codecs: String?, width: Int?, height: Int?) {
            self.bandwidth = bandwidth
            self.codecs = codecs
            self.width = width
            self.height = height
        }
    }

    /// A separate audio or subtitle rendition.
    public struct Rendition: Sendable, Hashable {
        /// The name that players show.
        public var name: String
        /// The language (BCP 47, or ISO 639-2 for files); nil if unknown.
        public var language: String?
        /// Whether players choose it by themselves.
        public var isDefault: Bool

        package init(name: String, language: String?, isDefault: Bool) {
            self.name = name
            self.language = language
            self.isDefault = isDefault
        }
    }

    /// The kind of the source.
    public var kind: Kind
    /// Whether segments are added and expire.
    public var isLive = false
    /// The duration; nil if unknown, and for a live source.
    public var duration: Duration?
    /// The variants, as the top playlist has them; none of a DCF.
    public var variants: [Variant] = []
    /// Separate audio renditions. For multiplexed audio, all languages of the source, of which the first is sent.
    public var audio: [Rendition] = []
    /// Subtitles.
    public var texts: [Rendition] = []
    /// How the source is protected; empty if it is clear, or if only its segments declare it.
    public var protections: [MediaProtection] = []
    /// Requests of the caller that the source cannot meet, each a lower-case sentence.
    public var warnings: [String] = []

    package init(_ kind: Kind) {
        self.kind = kind
    }
}
