/// The segments of a media playlist.
///
/// Those that were read are made one by one when they are asked for: until something changes they are places in the text.
package struct MediaSegments: Sendable {
    private enum Storage: Sendable {
        case read(SegmentRecords)
        case made([MediaSegment])
    }

    private var storage: Storage

    package init() {
        storage = .made([])
    }

    init(_ records: SegmentRecords) {
        storage = .read(records)
    }

    /// Makes all segments, so that one can change.
    private mutating func make() -> [MediaSegment] {
        switch storage {
        case .made(let segments):
            storage = .made([])  // so that the array is not copied
            return segments
        case .read(let records): return records.list.indices.map { records[$0] }
        }
    }
}

extension MediaSegments: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int {
        switch storage {
        case .read(let records): records.list.count
        case .made(let segments): segments.count
        }
    }

    package subscript(index: Int) -> MediaSegment {
        get {
            switch storage {
            case .read(let records): records[index]
            case .made(let segments): segments[index]
            }
        }
        set {
            var segments = make()
            segments[index] = newValue
            storage = .made(segments)
        }
    }

    package mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<MediaSegment>) {
        var segments = make()
        segments.replaceSubrange(range, with: new)
        storage = .made(segments)
    }

    package mutating func append(_ segment: MediaSegment) {
        var segments = make()
        segments.append(segment)
        storage = .made(segments)
    }
}

extension MediaSegments: ExpressibleByArrayLiteral {
    package init(arrayLiteral segments: MediaSegment...) {
        storage = .made(segments)
    }
}

extension MediaSegments: Hashable {
    package static func == (a: MediaSegments, b: MediaSegments) -> Bool { a.elementsEqual(b) }

    package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

/// Segments as places in a text.
struct SegmentRecords: Sendable {
    /// One segment: numbers alone, so that twenty thousand are read without a reference to count.
    struct Record: Sendable {
        var uri: Range<Int>
        /// The lines from behind the segment before to the URI.
        var lines: Range<Int>
        var microseconds: Int64
        var offset: UInt64 = 0
        var length: UInt64 = 0
        var hasRange = false
        var discontinuity: Bool
        var isGap: Bool
        /// The place of the state that it shares.
        var state: Int32
        /// The place of its details; negative for none.
        var details: Int32 = -1
        /// The place of its address, where that is not in the text as it is; negative for one that is.
        var address: Int32 = -1
    }

    let text: PlaylistText
    var list: [Record] = []
    var states: [SegmentState]
    var details: [SegmentDetails] = []
    var addresses: [String] = []

    init(_ text: PlaylistText) {
        self.text = text
        states = [SegmentState(keys: [], nil, nil, text)]
    }

    /// The address of a segment.
    func uri(_ record: Record) -> String {
        if record.address >= 0 { return addresses[Int(record.address)] }
        return String(decoding: text.bytes[record.uri], as: UTF8.self)
    }

    subscript(index: Int) -> MediaSegment {
        let record = list[index]
        return MediaSegment(
            uri: uri(record),
            microseconds: record.microseconds,
            byteRange: record.hasRange ? MediaSegment.ByteRange(offset: record.offset, length: record.length) : nil,
            discontinuity: record.discontinuity,
            isGap: record.isGap,
            shared: states[Int(record.state)],
            details: record.details >= 0 ? details[Int(record.details)] : nil,
            lines: record.lines
        )
    }
}
