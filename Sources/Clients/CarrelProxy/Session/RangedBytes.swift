// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelPresentation

/// A part of a file of fragments in the clear.
actor RangedBytes: SegmentBytes {
    private let file: RangedFile
    private let presentation: any Presentation
    private let use: KeyUse
    private var rest: Range<Int64>
    /// The segment on its way.
    private var current: (any SegmentBytes)?
    /// Number of leading bytes that were not requested.
    private var skipped: Int64 = 0
    /// Its end in the file.
    private var end: Int64 = 0

    /// - Parameters:
    ///   - file: the file.
    ///   - range: the requested range.
    ///   - presentation: opens its segments.
    ///   - use: gets the terms of their keys.
    init(_ file: RangedFile, _ range: Range<Int64>, of presentation: any Presentation, _ use: KeyUse) {
        self.use = use
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
                current = try await presentation.open(segment.name, use).bytes
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
