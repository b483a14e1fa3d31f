// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelJSON
import CarrelMP4

/// The sum of a segment index (`sidx`, ISO/IEC 14496-12 §8.16.3) as JSON.
enum SegmentIndexFacts {
    /// Bytes of the longest index: 65,535 references.
    private static let limit = 32 + 12 * 0xffff

    /// Reads an index.
    ///
    /// - Parameters:
    ///   - box: a `sidx`.
    ///   - reader: the file.
    /// - Returns: `offset`, `track`, `references`, `start`, `duration`, and `indexes` for references to other indexes.
    /// - Throws: the errors of the reader; `Malformed` if the box is damaged.
    static func describe(_ box: MP4Box, _ reader: any ByteReader) throws -> JSON {
        let content = try box.load(reader, limit: limit)
        do throws(Malformed) { return try describe(content.rawSpan, at: box.start) } catch {
            throw Malformed(error.what, at: Int(clamping: box.content.lowerBound) + error.offset)
        }
    }

    private static func describe(_ content: RawSpan, at start: Int64) throws(Malformed) -> JSON {
        var cursor = ByteCursor(content)
        let version = try cursor.u8("segment index")
        try cursor.skip(3, "segment index")
        let track = try cursor.u32("segment index")
        let timescale = Int(try cursor.u32("segment index"))
        let earliest: UInt64 = version == 0 ? UInt64(try cursor.u32("earliest time")) : try cursor.u64("earliest time")
        try cursor.skip(version == 0 ? 6 : 10, "segment index")
        let count = try cursor.u16("segment index")
        var indexes = 0
        var duration: Int64 = 0
        for _ in 0..<count {
            let size = try cursor.u32("reference of a segment index")
            if size >> 31 == 1 { indexes += 1 }
            duration += Int64(try cursor.u32("reference of a segment index"))
            try cursor.skip(4, "reference of a segment index")
        }
        var facts: [(String, JSON)] = [
            ("offset", .integer(start)), ("track", .integer(track)), ("references", .integer(count)),
            ("start", .seconds(Int64(clamping: earliest), of: timescale)), ("duration", .seconds(duration, of: timescale)),
        ]
        // references that lead to other indexes
        if indexes > 0 { facts.append(("indexes", .integer(indexes))) }
        return .object(JSONObject(facts))
    }
}
