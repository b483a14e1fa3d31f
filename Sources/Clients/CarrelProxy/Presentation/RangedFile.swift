// SPDX-License-Identifier: Apache-2.0

/// The media segments of one fragmented file, which a playlist names by byte ranges (RFC 8216 §4.3.2.2).
///
/// Decryption preserves the length of fragments, so the clear file has the ranges of the origin's file.
struct RangedFile: Sendable {
    /// A media segment.
    struct Segment: Sendable {
        var name: SegmentName
        var range: Range<Int64>
    }

    private let readHead: @Sendable () async throws -> [UInt8]
    /// Bytes in front of the first segment.
    let headLength: Int64
    /// Segments of the file.
    private let count: Int
    /// The segment at a place; ranges rise with places.
    private let segment: @Sendable (Int) -> Segment?

    /// - Parameters:
    ///   - count: number of segments.
    ///   - headLength: size of the head before the first segment in bytes.
    ///   - head: reads the head.
    ///   - segments: returns the segment at an index.
    init(
        count: Int,
        headLength: Int64,
        head: @escaping @Sendable () async throws -> [UInt8],
        segments: @escaping @Sendable (Int) -> Segment?
    ) {
        self.count = count
        self.headLength = headLength
        readHead = head
        segment = segments
    }

    /// The bytes in front of the first segment: the initialization segment in the clear, and the index.
    ///
    /// - Returns: all of them.
    /// - Throws: ``ProxyError``.
    func head() async throws -> [UInt8] {
        let bytes = try await readHead()
        guard bytes.count == headLength else { throw ProxyError(.wrongLength, "a file is shorter than its index says") }
        return bytes
    }

    /// Bytes up to the end of the last segment.
    var length: Int64 { segment(count - 1)?.range.upperBound ?? 0 }

    /// The segment that has a byte; nil in the head and between segments.
    func segment(with byte: Int64) -> Segment? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            guard let segment = segment(middle) else { return nil }
            if segment.range.upperBound <= byte { low = middle + 1 } else { high = middle }
        }
        guard let found = segment(low), found.range.contains(byte) else { return nil }
        return found
    }
}

/// A part of a file of fragments in the clear.
actor RangedBytes: SegmentBytes {
    private let file: RangedFile
    private let presentation: any Presentation
    private var rest: Range<Int64>
    /// The segment on its way.
    private var current: (any SegmentBytes)?
    /// Number of leading bytes that were not requested.
    private var skipped: Int64 = 0
    /// Its end in the file.
    private var end: Int64 = 0

    /// - Parameters:
    ///   - file: the file.
    ///   - range: which of its bytes.
    ///   - presentation: opens its segments.
    init(_ file: RangedFile, _ range: Range<Int64>, of presentation: any Presentation) {
        self.file = file
        rest = range
        self.presentation = presentation
    }

    func next() async throws -> [UInt8]? {
        if rest.lowerBound < file.headLength, !rest.isEmpty {
            let head = try await file.head()
            let part = rest.clamped(to: 0..<file.headLength)
            rest = part.upperBound..<rest.upperBound
            return Array(head[Int(part.lowerBound)..<Int(part.upperBound)])
        }
        while !rest.isEmpty {
            if current == nil {
                // bytes between segments are not in the playlist
                guard let segment = file.segment(with: rest.lowerBound) else { throw SegmentName.unknown }
                skipped = rest.lowerBound - segment.range.lowerBound
                end = segment.range.upperBound
                current = try await presentation.open(segment.name).bytes
            }
            guard var piece = try await current?.next() else {
                guard rest.lowerBound == end else { throw ProxyError(.wrongLength, "a segment is shorter than its index says") }
                current = nil
                continue
            }
            if skipped > 0 {
                let count = min(skipped, Int64(piece.count))
                piece.removeFirst(Int(count))
                skipped -= count
            }
            let wanted = min(Int64(piece.count), min(rest.upperBound, end) - rest.lowerBound)
            piece.removeLast(piece.count - Int(wanted))
            guard wanted > 0 else {
                // the rest of a segment after the last requested byte
                if rest.lowerBound == end { current = nil }
                continue
            }
            rest = rest.lowerBound + wanted..<rest.upperBound
            if rest.isEmpty { current = nil }
            return piece
        }
        return nil
    }
}
