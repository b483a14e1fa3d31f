/// One segment of a media playlist (RFC 8216 §4.3.2).
public struct MediaSegment: Sendable, Hashable {
    /// A part of a resource.
    public struct ByteRange: Sendable, Hashable {
        /// The first byte.
        public var offset: UInt64
        /// Bytes.
        public var length: UInt64

        public init(offset: UInt64, length: UInt64) {
            self.offset = offset
            self.length = length
        }
    }

    /// What a decoder must read first (EXT-X-MAP, §4.3.2.5).
    public struct Initialization: Sendable, Hashable {
        public var uri: String
        /// The part of the resource; nil for all of it.
        public var byteRange: ByteRange?

        public init(uri: String, byteRange: ByteRange? = nil) {
            self.uri = uri
            self.byteRange = byteRange
        }
    }

    public var uri: String
    /// EXTINF, to the microsecond.
    public var duration: Duration
    /// The text after EXTINF's comma.
    public var title = ""
    /// The part of the resource; nil for all of it.
    public var byteRange: ByteRange?
    /// Whether encoding or timestamps change before it.
    public var discontinuity = false
    /// The keys that apply, one for each key format; none when it is in the clear.
    public var keys: [EncryptionKey] = []
    public var initialization: Initialization?
    /// EXT-X-PROGRAM-DATE-TIME, as written.
    public var programDateTime: String?

    public init(uri: String, duration: Duration) {
        self.uri = uri
        self.duration = duration
    }
}
