// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads a segment index and the indexes that it references, in order (`sidx`, ISO/IEC 14496-12 §8.16.3).
///
/// An index may be in bytes that are not loaded yet: the reader reports their range, and continues once they have arrived. Each
/// index is read from separate bytes, or from the whole file.
package struct SegmentReferenceWalk {
    /// A stretch of the file that an index names.
    package enum Reference: Sendable, Hashable {
        /// Media, which begins with the header of a fragment; an empty range where a stretch of time has none.
        case media(Subsegment)
        /// Another index, which is to be added next.
        case index(Range<Int64>)
    }

    /// An index, as far as it was read.
    private struct Level {
        var window: FileWindow
        /// The offset of the next reference, and how many follow.
        var entry: Int64
        var remaining: Int
        /// The first byte, and the time, of the stretch that the next reference names.
        var at: Int64
        var time: Int64
    }

    /// Units a second of the times; 0 before the first index.
    package private(set) var timescale: Int64 = 0
    /// The bytes that references may name.
    private let length: Int64
    private let depth: Int
    private var levels: [Level] = []
    private var boxes = 0
    /// The end of the last stretch of media, and the indexed stretch that is to be added next.
    private var end: Int64 = 0
    private var nextIndexRange: Range<Int64>?

    /// Index boxes that are read, at most.
    private static let boxLimit = 4096

    /// - Parameters:
    ///   - length: size of the file in bytes; nil if unknown.
    ///   - depth: maximum nesting depth of indexes.
    package init(length: Int64? = nil, depth: Int = 64) {
        self.length = min(length ?? .max, 1 << 61)
        self.depth = depth
    }

    /// Adds the first index, or the one that `next` returned.
    ///
    /// - Parameters:
    ///   - bytes: whole boxes; others than an index are passed over in front of it.
    ///   - start: the offset in the file of their first byte.
    /// - Throws: `Malformed` with the byte of the file when there is no index, or it is damaged.
    package mutating func add(_ bytes: [UInt8], at start: Int64) throws {
        guard start < 1 << 60 else { throw Malformed("an index is out of range", at: Int(clamping: start)) }
        let reader = PlacedBytes(start: start, bytes: bytes)
        var window = FileWindow(reader, capacity: 1 << 14)
        var at = start
        for _ in 0..<64 where reader.length - at >= 8 {
            let box = try MP4Box(&window, at: at, in: start..<reader.length)
            if box.type == "sidx" || box.isCut { return try add(box, of: window) }
            at = box.content.upperBound
        }
        throw Malformed("there is no segment index", at: Int(start))
    }

    /// Adds the first index, or the one that `next` returned.
    ///
    /// - Parameters:
    ///   - box: the index.
    ///   - window: reads its bytes.
    /// - Throws: the errors of the reader; `Malformed` if it is damaged.
    package mutating func add(_ box: MP4Box, of window: FileWindow) throws {
        guard box.type == "sidx", !box.isCut, levels.count < depth, nextIndexRange.map({ $0.contains(box.start) }) ?? true else {
            throw Malformed("an index leads to something else, is cut off, or leads too deep", at: Int(box.start))
        }
        nextIndexRange = nil
        boxes += 1
        guard boxes <= Self.boxLimit else { throw Malformed("too many indexes", at: Int(box.start)) }
        var window = window
        let at = box.content.lowerBound
        let isLong = try window.u8(at: at, "index") != 0
        let scale = Int64(try window.u32(at: at + 8, "index"))
        guard scale > 0, timescale == 0 || timescale == scale else {
            throw Malformed("an index has no time scale, or another than the one before", at: Int(at) + 8)
        }
        timescale = scale
        let time = isLong ? try window.u64(at: at + 12, "index") : UInt64(try window.u32(at: at + 12, "index"))
        let offset = isLong ? try window.u64(at: at + 20, "index") : UInt64(try window.u32(at: at + 16, "index"))
        guard time < 1 << 61, offset < 1 << 61 else { throw Malformed("an index is out of range", at: Int(at)) }
        let entries = at + (isLong ? 32 : 24)
        let count = Int(try window.u16(at: entries - 2, "index"))
        guard Int64(count) * 12 <= box.content.upperBound - entries else {
            throw Malformed("an index has more references than bytes", at: Int(at))
        }
        let start = box.content.upperBound + Int64(offset)
        levels.append(Level(window: window, entry: entries, remaining: count, at: start, time: Int64(time)))
    }

    /// Returns the next reference; nil after the last one.
    ///
    /// - Throws: the errors of the reader; `Malformed` if an index references bytes after the end of the file, or before others.
    package mutating func next() throws -> Reference? {
        while var level = levels.popLast() {
            guard level.remaining > 0 else { continue }
            let entry = level.entry
            let word = try level.window.u32(at: entry, "index reference")
            let duration = Int64(try level.window.u32(at: entry + 4, "index reference"))
            let access = try level.window.u32(at: entry + 8, "index reference")
            let range = level.at..<level.at + Int64(word & 0x7fff_ffff)
            guard range.upperBound <= length else {
                throw Malformed("an index names bytes past the end of the file", at: Int(entry))
            }
            let time = level.time
            level.entry += 12
            level.remaining -= 1
            level.at = range.upperBound
            level.time += duration
            levels.append(level)
            guard word >> 31 == 0 else {
                guard range.count >= 8 else { throw Malformed("an index leads to nothing", at: Int(entry)) }
                // it is after the index that references it, so that none is read twice
                nextIndexRange = range
                return .index(range)
            }
            guard range.isEmpty || range.count >= 8, range.lowerBound >= end else {
                throw Malformed("a subsegment is too short, or lies before another", at: Int(entry))
            }
            end = range.upperBound
            let isSync = access >> 31 == 1 && access >> 28 & 7 <= 2
            return .media(
                Subsegment(range: range, time: time, duration: duration, startsWithSync: isSync)
            )
        }
        return nil
    }
}
