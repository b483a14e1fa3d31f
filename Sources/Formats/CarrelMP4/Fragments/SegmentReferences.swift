// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The subsegments that the index of a file names, chained indexes followed (`sidx`, ISO/IEC 14496-12 §8.16.3).
package struct SegmentReferences: Sendable {
    /// Units a second of the times.
    package private(set) var timescale: Int64 = 0
    /// In the order of the file.
    package private(set) var subsegments: [Subsegment] = []

    /// Subsegments, at most.
    package static let limit = 1 << 18

    /// Reads the index of a track; returns nil if no index belongs to one of the tracks.
    ///
    /// - Parameters:
    ///   - indexes: the known top-level `sidx` boxes of the file.
    ///   - tracks: the IDs of the tracks, in order of preference.
    ///   - reader: the file.
    /// - Throws: the errors of the reader; `Malformed` if an index is damaged, references missing bytes, or there are too many.
    package init?(_ indexes: [MP4Box], of tracks: [UInt32], in reader: any ByteReader) throws {
        var window = FileWindow(reader, capacity: 1 << 14)
        var chosen: UInt32?
        for track in tracks where chosen == nil {
            for box in indexes where try window.u32(at: box.content.lowerBound + 4, "index") == track { chosen = track }
        }
        guard let chosen else { return nil }
        var walk = SegmentReferenceWalk(length: reader.length)
        var end: Int64 = 0
        for box in indexes where try window.u32(at: box.content.lowerBound + 4, "index") == chosen {
            // one that another has led to already
            guard box.start >= end else { continue }
            try read(box, &walk, window)
            end = max(subsegments.last?.range.upperBound ?? 0, box.content.upperBound)
        }
        timescale = walk.timescale
        guard !subsegments.isEmpty else { return nil }
    }

    /// Reads an index and those that it leads to, in the order of the file.
    private mutating func read(_ first: MP4Box, _ walk: inout SegmentReferenceWalk, _ window: FileWindow) throws {
        try walk.add(first, of: window)
        while let reference = try walk.next() {
            switch reference {
            case .media(let subsegment):
                guard subsegments.count < Self.limit, !subsegment.range.isEmpty else {
                    throw Malformed("a subsegment is empty, or there are too many", at: Int(subsegment.range.lowerBound))
                }
                subsegments.append(subsegment)
            case .index(let range):
                var window = window
                try walk.add(MP4Box(&window, at: range.lowerBound, in: range), of: window)
            }
        }
    }
}
