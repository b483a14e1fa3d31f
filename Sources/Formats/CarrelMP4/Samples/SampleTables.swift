// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The locations of a track's sample tables in the file, checked to fit their boxes (ISO/IEC 14496-12 §8.6, §8.7).
struct SampleTables {
    /// Entries of one size, back to back.
    struct Table {
        /// The offset of the first entry.
        var start: Int64 = 0
        var count = 0
    }

    /// `stts`: count, duration.
    var durations = Table()
    /// `stsc`: first chunk, samples a chunk, description.
    var chunkRuns = Table()
    /// `stco` or `co64`.
    var chunks = Table()
    var chunkOffsetsAreLong = false
    /// `stsz` or `stz2`.
    var sizes = Table()
    /// Bits of a size: 4, 8, 16 or 32; 0 if all samples have `constantSize`.
    var sizeBits = 0
    var constantSize = 0

    /// `ctts`: count, offset; signed in version 1.
    var compositions = Table()
    /// `stss`: the numbers of samples that decoding can begin with, from 1; nil if all are.
    var syncSamples: Table?

    var sampleCount: Int { sizes.count }

    /// Takes note of one box of an `stbl`.
    mutating func read(_ box: MP4Box, _ window: inout FileWindow) throws {
        let start = box.content.lowerBound
        switch box.type {
        case "stts": durations = try table(box, &window, head: 8, entryBits: 64)
        case "ctts": compositions = try table(box, &window, head: 8, entryBits: 64)
        case "stss": syncSamples = try table(box, &window, head: 8, entryBits: 32)
        case "stsc": chunkRuns = try table(box, &window, head: 8, entryBits: 96)
        case "stco", "co64":
            chunkOffsetsAreLong = box.type == "co64"
            chunks = try table(box, &window, head: 8, entryBits: chunkOffsetsAreLong ? 64 : 32)
        case "stsz":
            constantSize = Int(try window.u32(at: start + 4, "sample sizes"))
            sizeBits = constantSize == 0 ? 32 : 0
            sizes = try table(box, &window, head: 12, entryBits: sizeBits)
        case "stz2":
            sizeBits = Int(try window.u8(at: start + 7, "sample sizes"))
            guard [4, 8, 16].contains(sizeBits) else { throw Malformed("sample size of \(sizeBits) bits", at: Int(start)) }
            constantSize = 0
            sizes = try table(box, &window, head: 12, entryBits: sizeBits)
        default: break
        }
    }

    /// A table whose count is the last number of its head; refused if the box is too small for it.
    private func table(_ box: MP4Box, _ window: inout FileWindow, head: Int64, entryBits: Int) throws -> Table {
        let start = box.content.lowerBound
        guard Int64(box.content.count) >= head else { throw Malformed("box \(box.type) is cut off", at: Int(start)) }
        let count = Int(try window.u32(at: start + head - 4, "table"))
        if entryBits == 0 {
            // no entries to bound it, so the file does
            guard count <= Int(window.reader.length) / max(1, constantSize) else {
                throw Malformed("more samples than the file can hold", at: Int(start))
            }
        } else {
            guard (count * entryBits + 7) / 8 <= box.content.count - Int(head) else {
                throw Malformed("table \(box.type) has more entries than bytes", at: Int(start))
            }
        }
        return Table(start: start + head, count: count)
    }
}
