import CarrelBytes

/// The subsegments that the index of a file names, chained indexes followed (`sidx`, ISO/IEC 14496-12 §8.16.3).
package struct SegmentReferences: Sendable {
    /// A stretch of the file that begins with the header of a fragment.
    package struct Subsegment: Sendable, Hashable {
        /// Its bytes.
        package var range: Range<Int64>
        /// When it begins, in units of the index.
        package var time: Int64
        /// How long it lasts, in units of the index.
        package var duration: Int64
        /// Whether it begins with a sync sample.
        package var startsWithSync: Bool
    }

    /// Units a second of the times.
    package private(set) var timescale: Int64 = 0
    /// In the order of the file.
    package private(set) var subsegments: [Subsegment] = []

    private var boxes = 0

    /// Index boxes that are read, at most.
    private static let boxLimit = 4096
    /// Subsegments, at most.
    private static let limit = 1 << 18

    /// Reads the index of a track; nil when no index is that of one of the tracks.
    ///
    /// - Parameters:
    ///   - indexes: the `sidx` boxes at the top of the file that are known.
    ///   - tracks: the ids of the tracks whose times are wanted, the best first.
    ///   - reader: the file.
    /// - Throws: what the reader throws; `Malformed` when an index is damaged, names bytes that are not there, or is one of too many.
    package init?(_ indexes: [MP4Box], of tracks: [UInt32], in reader: any ByteReader) throws {
        var window = FileWindow(reader, capacity: 1 << 14)
        var chosen: UInt32?
        for track in tracks where chosen == nil {
            for box in indexes where try window.u32(at: box.content.lowerBound + 4, "index") == track { chosen = track }
        }
        guard let chosen else { return nil }
        var end: Int64 = 0
        for box in indexes where try window.u32(at: box.content.lowerBound + 4, "index") == chosen {
            // one that another has led to already
            guard box.start >= end else { continue }
            try read(box, &window)
            end = max(subsegments.last?.range.upperBound ?? 0, box.content.upperBound)
        }
        guard !subsegments.isEmpty else { return nil }
    }

    /// Reads an index and those that it leads to, in the order of the file.
    private mutating func read(_ first: MP4Box, _ window: inout FileWindow) throws {
        // the indexes still to read, the next one last
        var stack: [(box: MP4Box, entry: Int, at: Int64, time: Int64, head: Head)] = []
        let head = try head(of: first, &window)
        stack.append((first, 0, head.anchor, head.time, head))
        while var top = stack.popLast() {
            guard top.entry < top.head.count else { continue }
            let place = top.head.entries + Int64(top.entry) * 12
            let word = try window.u32(at: place, "index reference")
            let duration = Int64(try window.u32(at: place + 4, "index reference"))
            let access = try window.u32(at: place + 8, "index reference")
            let range = top.at..<top.at + Int64(word & 0x7fff_ffff)
            guard range.upperBound <= window.reader.length else {
                throw Malformed("an index names bytes past the end of the file", at: Int(place))
            }
            let time = top.time
            top.entry += 1
            top.at = range.upperBound
            top.time += duration
            stack.append(top)
            if word >> 31 == 0 {
                guard subsegments.count < Self.limit else { throw Malformed("too many subsegments", at: Int(place)) }
                guard range.count >= 8, range.lowerBound >= subsegments.last?.range.upperBound ?? 0 else {
                    throw Malformed("a subsegment is empty, or lies before another", at: Int(place))
                }
                let type = access >> 28 & 7
                let isSync = access >> 31 == 1 && type <= 2
                subsegments.append(Subsegment(range: range, time: time, duration: duration, startsWithSync: isSync))
            } else {
                // it lies behind the index that names it, so that none is read twice
                let box = try MP4Box(&window, at: range.lowerBound, in: range)
                guard box.type == "sidx", !box.isCut, stack.count < 64 else {
                    throw Malformed("an index leads to something else, or too deep", at: Int(place))
                }
                let head = try self.head(of: box, &window)
                stack.append((box, 0, head.anchor, head.time, head))
            }
        }
    }

    private struct Head {
        var anchor: Int64
        var time: Int64
        var entries: Int64
        var count: Int
    }

    private mutating func head(of box: MP4Box, _ window: inout FileWindow) throws -> Head {
        boxes += 1
        guard boxes <= Self.boxLimit else { throw Malformed("too many indexes", at: Int(box.start)) }
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
        return Head(anchor: box.content.upperBound + Int64(offset), time: Int64(time), entries: entries, count: count)
    }
}
