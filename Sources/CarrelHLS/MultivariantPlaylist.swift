/// A multivariant playlist (RFC 8216 §4.3.4, which calls it master playlist).
package struct MultivariantPlaylist: Sendable, Hashable {
    /// One way to play the presentation (EXT-X-STREAM-INF, §4.3.4.2).
    package struct Variant: Sendable, Hashable {
        package var uri: String
        /// The peak segment bit rate, bits per second.
        package var bandwidth: UInt64
        /// The average segment bit rate, bits per second.
        package var averageBandwidth: UInt64?
        /// Codecs as RFC 6381 names them, separated by commas.
        package var codecs: String?
        /// All attributes as read; those above win when they are written.
        package var attributes = AttributeList()

        package init(uri: String, bandwidth: UInt64, averageBandwidth: UInt64? = nil, codecs: String? = nil) {
            self.uri = uri
            self.bandwidth = bandwidth
            self.averageBandwidth = averageBandwidth
            self.codecs = codecs
        }
    }

    /// Data about the presentation (EXT-X-SESSION-DATA, §4.3.4.4).
    package struct SessionData: Sendable, Hashable {
        /// The holder of the data.
        package enum Content: Sendable, Hashable {
            /// The text itself.
            case value(String)
            /// The URI of the data.
            case uri(String)
        }

        /// A reverse domain name, such as `com.apple.hls.chapters`.
        package var id: String
        package var content: Content
        /// The language of the text (RFC 5646).
        package var language: String?

        package init(id: String, _ content: Content, language: String? = nil) {
            self.id = id
            self.content = content
            self.language = language
        }
    }

    /// EXT-X-VERSION; 1 when the tag is absent.
    package var version = 1
    /// Whether each segment of every variant decodes without the others.
    package var independentSegments = false
    package var variants: [Variant] = []
    package var sessionData: [SessionData] = []
    /// Attributes of each EXT-X-MEDIA tag (§4.3.4.1).
    package var renditions: [AttributeList] = []
    /// Attributes of each EXT-X-I-FRAME-STREAM-INF tag (§4.3.4.3).
    package var iFrameVariants: [AttributeList] = []
    /// Keys to fetch early (EXT-X-SESSION-KEY, §4.3.4.5).
    package var sessionKeys: [EncryptionKey] = []

    package init(variants: [Variant] = []) {
        self.variants = variants
    }
}
