/// One segment of a media playlist (RFC 8216 §4.3.2).
package struct MediaSegment: Sendable, Hashable {
    /// A part of a resource.
    package struct ByteRange: Sendable, Hashable {
        /// The first byte.
        package var offset: UInt64
        /// Bytes.
        package var length: UInt64

        package init(offset: UInt64, length: UInt64) {
            self.offset = offset
            self.length = length
        }
    }

    /// The initialization section that a decoder must read first (EXT-X-MAP, §4.3.2.5).
    package struct Initialization: Sendable, Hashable {
        package var uri: String
        /// The part of the resource; nil for all of it.
        package var byteRange: ByteRange?

        package init(uri: String, byteRange: ByteRange? = nil) {
            self.uri = uri
            self.byteRange = byteRange
        }
    }

    package var uri: String
    /// EXTINF, to the microsecond.
    package var duration: Duration
    /// The text after EXTINF's comma.
    package var title = ""
    /// The part of the resource; nil for all of it.
    package var byteRange: ByteRange?
    /// Whether encoding or timestamps change before it.
    package var discontinuity = false
    /// The keys that apply, one for each key format; none when it is in the clear.
    package var keys: [EncryptionKey] = []
    package var initialization: Initialization?
    /// EXT-X-PROGRAM-DATE-TIME, as written.
    package var programDateTime: String?

    package init(uri: String, duration: Duration) {
        self.uri = uri
        self.duration = duration
    }
}
