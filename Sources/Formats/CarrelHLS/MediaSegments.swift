// SPDX-License-Identifier: Apache-2.0

/// The segments of a media playlist.
///
/// Parsed segments are created on access: until something changes, they are ranges of the text.
package struct MediaSegments: Sendable {
    private enum Storage: Sendable {
        case records(SegmentRecords)
        case segments([MediaSegment])
    }

    private var storage: Storage

    package init() {
        storage = .segments([])
    }

    init(_ records: SegmentRecords) {
        storage = .records(records)
    }

    /// The durations, without the rest of the segments.
    var durations: [Duration] {
        switch storage {
        case .segments(let segments): segments.map(\.duration)
        case .records(let records): records.list.map { .microseconds($0.microseconds) }
        }
    }

    /// Makes all segments, so that one can change.
    private mutating func make() -> [MediaSegment] {
        switch storage {
        case .segments(let segments):
            storage = .segments([])  // so that the array is not copied
            return segments
        case .records(let records): return records.list.indices.map { records[$0] }
        }
    }
}

extension MediaSegments: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int {
        switch storage {
        case .records(let records): records.list.count
        case .segments(let segments): segments.count
        }
    }

    package subscript(index: Int) -> MediaSegment {
        get {
            switch storage {
            case .records(let records): records[index]
            case .segments(let segments): segments[index]
            }
        }
        set {
            var segments = make()
            segments[index] = newValue
            storage = .segments(segments)
        }
    }

    package mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<MediaSegment>) {
        var segments = make()
        segments.replaceSubrange(range, with: new)
        storage = .segments(segments)
    }

    package mutating func append(_ segment: MediaSegment) {
        var segments = make()
        segments.append(segment)
        storage = .segments(segments)
    }
}

extension MediaSegments: ExpressibleByArrayLiteral {
    package init(arrayLiteral segments: MediaSegment...) {
        storage = .segments(segments)
    }
}

extension MediaSegments: Hashable {
    package static func == (a: MediaSegments, b: MediaSegments) -> Bool { a.elementsEqual(b) }

    package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}
