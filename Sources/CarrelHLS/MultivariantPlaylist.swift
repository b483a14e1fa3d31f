/// A multivariant playlist (RFC 8216 §4.3.4, which calls it master playlist).
public struct MultivariantPlaylist: Sendable, Hashable {
    /// One way to play the presentation (EXT-X-STREAM-INF, §4.3.4.2).
    public struct Variant: Sendable, Hashable {
        public var uri: String
        /// The peak segment bit rate, bits per second.
        public var bandwidth: UInt64
        /// The average segment bit rate, bits per second.
        public var averageBandwidth: UInt64?
        /// Codecs as RFC 6381 names them, separated by commas.
        public var codecs: String?
        /// All attributes as read; those above win when they are written.
        public var attributes = AttributeList()

        public init(uri: String, bandwidth: UInt64, averageBandwidth: UInt64? = nil, codecs: String? = nil) {
            self.uri = uri
            self.bandwidth = bandwidth
            self.averageBandwidth = averageBandwidth
            self.codecs = codecs
        }
    }

    /// Data about the presentation (EXT-X-SESSION-DATA, §4.3.4.4).
    public struct SessionData: Sendable, Hashable {
        /// What holds the data.
        public enum Content: Sendable, Hashable {
            /// The text itself.
            case value(String)
            /// Where it is.
            case uri(String)
        }

        /// A reverse domain name, such as `com.apple.hls.chapters`.
        public var id: String
        public var content: Content
        /// The language of the text (RFC 5646).
        public var language: String?

        public init(id: String, _ content: Content, language: String? = nil) {
            self.id = id
            self.content = content
            self.language = language
        }
    }

    /// EXT-X-VERSION; 1 when the tag is absent.
    public var version = 1
    /// Whether each segment of every variant decodes without the others.
    public var independentSegments = false
    public var variants: [Variant] = []
    public var sessionData: [SessionData] = []
    /// Attributes of each EXT-X-MEDIA tag (§4.3.4.1).
    public var renditions: [AttributeList] = []
    /// Attributes of each EXT-X-I-FRAME-STREAM-INF tag (§4.3.4.3).
    public var iFrameVariants: [AttributeList] = []
    /// Keys to fetch early (EXT-X-SESSION-KEY, §4.3.4.5).
    public var sessionKeys: [EncryptionKey] = []

    public init(variants: [Variant] = []) {
        self.variants = variants
    }
}
