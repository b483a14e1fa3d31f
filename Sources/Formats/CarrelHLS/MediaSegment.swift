// SPDX-License-Identifier: Apache-2.0

/// One segment of a media playlist (RFC 8216 §4.3.2).
///
/// There may be a hundred thousand of them: properties that most do not have, or share with the previous one, are stored by
/// reference.
package struct MediaSegment: Sendable {
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
        /// The keys that apply to it, one per key format: from the key tags before EXT-X-MAP.
        package var keys: [EncryptionKey] = []

        package init(uri: String, byteRange: ByteRange? = nil, keys: [EncryptionKey] = []) {
            self.uri = uri
            self.byteRange = byteRange
            self.keys = keys
        }
    }

    package var uri: String
    /// EXTINF in microseconds.
    var microseconds: Int64
    /// The part of the resource; nil for all of it.
    package var byteRange: ByteRange?
    /// Whether encoding or timestamps change before it.
    package var discontinuity = false
    /// Whether it is missing, so that nothing is to be loaded (EXT-X-GAP).
    package var isGap = false
    var shared: SegmentState
    private var details: SegmentDetails?
    /// The lines from the end of the previous segment to its URI, in the text of the shared state.
    var lines: Range<Int>

    package init(uri: String, duration: Duration) {
        self.uri = uri
        microseconds = duration.wholeMicroseconds
        shared = .none
        lines = 0..<0
    }

    /// A segment that was read.
    init(
        uri: String,
        microseconds: Int64,
        byteRange: ByteRange?,
        discontinuity: Bool,
        isGap: Bool,
        shared: SegmentState,
        details: SegmentDetails?,
        lines: Range<Int>
    ) {
        self.uri = uri
        self.microseconds = microseconds
        self.byteRange = byteRange
        self.discontinuity = discontinuity
        self.isGap = isGap
        self.shared = shared
        self.details = details
        self.lines = lines
    }

    /// EXTINF, to the microsecond.
    package var duration: Duration {
        get { .microseconds(microseconds) }
        set { microseconds = newValue.wholeMicroseconds }
    }

    /// The keys that apply, one for each key format; none if it is in the clear.
    package var keys: [EncryptionKey] {
        get { shared.keys }
        set { shared = shared.with(keys: newValue, shared.initialization, shared.bitrate) }
    }

    package var initialization: Initialization? {
        get { shared.initialization }
        set { shared = shared.with(keys: shared.keys, newValue, shared.bitrate) }
    }

    /// Kilobits per second, about, of it and those that follow without one of their own (EXT-X-BITRATE).
    package var bitrate: UInt64? {
        get { shared.bitrate }
        set { shared = shared.with(keys: shared.keys, shared.initialization, newValue) }
    }

    /// The text after EXTINF's comma.
    package var title: String {
        get { details?.values.title ?? "" }
        set { change { $0.title = newValue } }
    }

    /// EXT-X-PROGRAM-DATE-TIME, as written.
    package var programDateTime: String? {
        get { details?.values.programDateTime }
        set { change { $0.programDateTime = newValue } }
    }

    /// Its parts, of a low-latency playlist (EXT-X-PART).
    package var parts: [PartialSegment] {
        get { details?.values.parts ?? [] }
        set { change { $0.parts = newValue } }
    }

    /// Dates with attributes that were written before it (EXT-X-DATERANGE).
    package var dateRanges: [DateRange] {
        get { details?.values.dateRanges ?? [] }
        set { change { $0.dateRanges = newValue } }
    }

    /// The grid of thumbnails in it, of an image playlist (EXT-X-TILES).
    package var tiles: AttributeList? {
        get { details?.values.tiles }
        set { change { $0.tiles = newValue } }
    }

    /// The text that it was read from; nil for a segment that was made.
    var text: ParsedPlaylistText? { shared.text }

    /// All its details.
    var detailValues: SegmentDetails.Values {
        get { details?.values ?? SegmentDetails.Values() }
        set { details = newValue == SegmentDetails.Values() ? nil : SegmentDetails(newValue) }
    }

    private mutating func change(_ body: (inout SegmentDetails.Values) -> Void) {
        var values = detailValues
        body(&values)
        detailValues = values
    }
}

extension MediaSegment: Hashable {
    package static func == (a: MediaSegment, b: MediaSegment) -> Bool {
        a.uri == b.uri && a.microseconds == b.microseconds && a.byteRange == b.byteRange && a.discontinuity == b.discontinuity
            && a.isGap == b.isGap && (a.shared === b.shared || a.shared.isEqual(b.shared)) && a.detailValues == b.detailValues
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(uri)
        hasher.combine(microseconds)
        hasher.combine(byteRange)
    }
}

/// The keys, initialization and bit rate that a segment shares with those that follow it, and the text that all were read from.
final class SegmentState: Sendable {
    let keys: [EncryptionKey]
    let initialization: MediaSegment.Initialization?
    let bitrate: UInt64?
    let text: ParsedPlaylistText?

    init(keys: [EncryptionKey], _ initialization: MediaSegment.Initialization?, _ bitrate: UInt64?, _ text: ParsedPlaylistText?) {
        self.keys = keys
        self.initialization = initialization
        self.bitrate = bitrate
        self.text = text
    }

    /// In the clear, and of no text.
    static let none = SegmentState(keys: [], nil, nil, nil)

    func with(keys: [EncryptionKey], _ initialization: MediaSegment.Initialization?, _ bitrate: UInt64?) -> SegmentState {
        SegmentState(keys: keys, initialization, bitrate, text)
    }

    func isEqual(_ other: SegmentState) -> Bool {
        keys == other.keys && initialization == other.initialization && bitrate == other.bitrate
    }
}

/// The parts that few segments have.
final class SegmentDetails: Sendable {
    struct Values: Sendable, Hashable {
        var title = ""
        var programDateTime: String?
        var parts: [PartialSegment] = []
        var dateRanges: [DateRange] = []
        var tiles: AttributeList?
    }

    let values: Values

    init(_ values: Values) {
        self.values = values
    }
}

/// A part of a segment that is still being made (draft-pantos-hls-rfc8216bis §4.4.4.9, EXT-X-PART).
package struct PartialSegment: Sendable, Hashable {
    package var uri: String
    package var duration: Duration
    /// The part of the resource; nil for all of it.
    package var byteRange: MediaSegment.ByteRange?
    /// All attributes as read; those above win when they are written.
    package var attributes = AttributeList()

    package init(uri: String, duration: Duration, byteRange: MediaSegment.ByteRange? = nil) {
        self.uri = uri
        self.duration = duration
        self.byteRange = byteRange
    }

    /// Whether it begins with a frame that needs no other.
    package var isIndependent: Bool { attributes.isYes("INDEPENDENT") }
    /// Whether it is missing.
    package var isGap: Bool { attributes.isYes("GAP") }

    /// The attributes of the tag.
    var tagAttributes: AttributeList {
        var list = attributes
        if list.seconds("DURATION") != duration { list["DURATION"] = .bare(duration.secondsText) }
        list["URI"] = .quoted(uri)
        list["BYTERANGE"] = byteRange.map { .quoted("\($0.length)@\($0.offset)") }
        return list
    }
}
