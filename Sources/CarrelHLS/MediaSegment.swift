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
        /// The keys that apply to it, one for each key format: those whose tags come before its own.
        package var keys: [EncryptionKey] = []

        package init(uri: String, byteRange: ByteRange? = nil, keys: [EncryptionKey] = []) {
            self.uri = uri
            self.byteRange = byteRange
            self.keys = keys
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
    /// Whether it is missing, so that nothing is to be loaded (EXT-X-GAP).
    package var isGap = false
    /// The keys that apply, one for each key format; none when it is in the clear.
    package var keys: [EncryptionKey] = []
    package var initialization: Initialization?
    /// EXT-X-PROGRAM-DATE-TIME, as written.
    package var programDateTime: String?
    /// Kilobits per second, about, of it and those that follow without one of their own (EXT-X-BITRATE).
    package var bitrate: UInt64?
    /// Its parts, of a low-latency playlist (EXT-X-PART).
    package var parts: [PartialSegment] = []
    /// Dates with attributes that were written before it (EXT-X-DATERANGE).
    package var dateRanges: [DateRange] = []
    /// The grid of thumbnails in it, of an image playlist (EXT-X-TILES).
    package var tiles: AttributeList?
    /// The lines from behind the segment before to its URI.
    var source = Provenance<PlaylistPassage>()

    package init(uri: String, duration: Duration) {
        self.uri = uri
        self.duration = duration
    }
}
