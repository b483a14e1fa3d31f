// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The places of sync samples in the fragments of a file, by the table at its end (`mfra`, ISO/IEC 14496-12 §8.8.9 to §8.8.11).
package struct FragmentRandomAccess: Sendable {
    /// One place.
    package struct Entry: Sendable, Hashable {
        /// When the sync sample is presented, in units of the track's time scale.
        package var time: UInt64
        /// The offset of its `moof` box.
        package var fragment: Int64
        /// Whether it is the first sample of its track in the fragment.
        package var isFirst: Bool
    }

    /// The entries of one track, in file order.
    package private(set) var entries: [Entry] = []

    /// Bytes of the table, at most.
    private static let limit: Int64 = 8 << 20
    /// Entries of a track, at most.
    private static let entryLimit = 1 << 18

    /// The bytes of the table by the last box of a file (`mfro`); nil if there is none.
    static func range(in reader: any ByteReader) throws -> Range<Int64>? {
        guard reader.length >= 32 else { return nil }
        let end = try reader.readAll(reader.length - 16..<reader.length)
        let span = end.rawSpan
        guard span.u32(at: 0) == 16, span.matches("mfro", at: 4) else { return nil }
        let length = Int64(span.u32(at: 12))
        guard length >= 24, length <= reader.length, length <= limit else { return nil }
        let head = try reader.readAll(reader.length - length..<reader.length - length + 8)
        guard Int64(head.rawSpan.u32(at: 0)) == length, head.rawSpan.matches("mfra", at: 4) else { return nil }
        return reader.length - length..<reader.length
    }

    /// Reads the table of a track; nil if the file has no table, or the table names no such track.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - track: the track's id.
    /// - Throws: the errors of the reader; `Malformed` if the table is damaged, or its places do not rise inside the file.
    package init?(_ reader: any ByteReader, track: UInt32) throws {
        guard let range = try Self.range(in: reader) else { return nil }
        var window = FileWindow(reader, capacity: 1 << 14)
        var table: MP4Box?
        try MP4Box.forEach(in: range.lowerBound + 8..<range.upperBound, &window) { box, window in
            guard box.type == "tfra", table == nil, box.content.count >= 16 else { return }
            if try window.u32(at: box.content.lowerBound + 4, "random access table") == track { table = box }
        }
        guard let box = table else { return nil }
        var at = box.content.lowerBound
        let isLong = try window.u8(at: at, "random access table") == 1
        let lengths = try window.u32(at: at + 8, "random access table")
        let sizes = [lengths >> 4 & 3, lengths >> 2 & 3, lengths & 3].map { Int64($0) + 1 }
        let count = Int(try window.u32(at: at + 12, "random access table"))
        let entryLength = (isLong ? 16 : 8) + sizes.reduce(0, +)
        at += 16
        guard Int64(count) <= (box.content.upperBound - at) / entryLength, count <= Self.entryLimit else {
            throw Malformed("random access table has more entries than bytes", at: Int(box.start))
        }
        for _ in 0..<count {
            let time =
                isLong ? try window.u64(at: at, "random access") : UInt64(try window.u32(at: at, "random access"))
            let offset =
                isLong ? try window.u64(at: at + 8, "random access") : UInt64(try window.u32(at: at + 4, "random access"))
            var field = at + (isLong ? 16 : 8)
            var isFirst = true
            for size in sizes {
                // the last byte is sufficient: numbers start at 1
                for i in 0..<size {
                    let byte = try window.u8(at: field + i, "random access")
                    if byte != (i == size - 1 ? 1 : 0) { isFirst = false }
                }
                field += size
            }
            guard offset < UInt64(range.lowerBound), time < 1 << 62, Int64(offset) >= entries.last?.fragment ?? 0,
                time >= entries.last?.time ?? 0
            else { throw Malformed("random access entry lies past the fragments, or before another", at: Int(at)) }
            entries.append(Entry(time: time, fragment: Int64(offset), isFirst: isFirst))
            at += entryLength
        }
    }
}
