// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource

/// The media segments of one fragmented file, which a playlist names by byte ranges (RFC 8216 §4.3.2.2).
///
/// Decryption preserves the length of fragments, so the clear file has the ranges of the origin's file.
package struct RangedFile: Sendable {
    /// A media segment.
    package struct Segment: Sendable {
        package var name: SegmentName
        package var range: Range<Int64>
    }

    private let readHead: @Sendable () async throws -> [UInt8]
    /// Bytes in front of the first segment.
    package let headLength: Int64
    /// Segments of the file.
    private let count: Int
    /// The segment at a place; ranges rise with places.
    private let segment: @Sendable (Int) -> Segment?

    /// - Parameters:
    ///   - count: number of segments.
    ///   - headLength: size of the head before the first segment in bytes.
    ///   - head: reads the head.
    ///   - segments: returns the segment at an index.
    package init(
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
    package func head() async throws -> [UInt8] {
        let bytes = try await readHead()
        guard bytes.count == headLength else { throw ProxyError(.wrongLength, "a file is shorter than its index says") }
        return bytes
    }

    /// Bytes up to the end of the last segment.
    package var length: Int64 { segment(count - 1)?.range.upperBound ?? 0 }

    /// The segment that has a byte; nil in the head and between segments.
    package func segment(with byte: Int64) -> Segment? {
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
