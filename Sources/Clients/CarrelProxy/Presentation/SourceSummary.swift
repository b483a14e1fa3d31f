// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// The facts of a source that was looked into: what a player gets of it.
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
    }

    /// A separate audio or subtitle rendition.
    public struct Rendition: Sendable, Hashable {
        /// The name that players show.
        public var name: String
        /// The language (BCP 47, or ISO 639-2 for files); nil if unknown.
        public var language: String?
        /// Whether players choose it by themselves.
        public var isDefault: Bool
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

    init(_ kind: Kind) {
        self.kind = kind
    }

    init(_ kind: Kind, _ outline: Outline) {
        self.kind = kind
        isLive = outline.isLive
        variants = outline.variants.map {
            Variant(bandwidth: $0.bandwidth, codecs: $0.codecs, width: $0.width, height: $0.height)
        }
        audio = (outline.audio.isEmpty ? outline.languages : outline.audio).map(Rendition.init)
        warnings = outline.warnings.map(\.text)
        texts = outline.texts.map(Rendition.init)
    }
}

extension SourceSummary.Rendition {
    init(_ rendition: Outline.Rendition) {
        self.init(name: rendition.label, language: rendition.language, isDefault: rendition.isDefault)
    }
}
