// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Which samples differ from a track's defaults (`sgpd` and `sbgp` of type `seig`, ISO/IEC 14496-12 §8.9, 23001-7 §6).
struct SampleGroups {
    /// The described groups of the movie, and those that a fragment adds.
    var movie: [TrackEncryption] = []
    var fragment: [TrackEncryption] = []
    /// The group of samples that no run names; 0 is none.
    var defaultIndex = 0
    /// The `sbgp` box: the position of its runs, and their number.
    var runs = SampleTables.Table()

    private var run = 0
    private var remaining = 0
    private var index = 0

    /// No table describes more groups: a key a sample for ten hours would be an attack.
    private static let limit = 65_536
    /// The groups of a fragment are numbered after this (§8.9.4).
    static let fragmentBase = 0x1_0000

    /// Whether every sample has the parameters of its track.
    var isEmpty: Bool { runs.count == 0 && defaultIndex == 0 }

    /// The place of the next sample.
    var position: MP4SamplePosition.Run {
        get { MP4SamplePosition.Run(index: UInt32(clamping: run), remaining: UInt32(clamping: remaining), value: Int64(index)) }
        set { (run, remaining, index) = (Int(newValue.index), Int(newValue.remaining), Int(newValue.value)) }
    }

    /// Reads the content of an `sgpd` box; nothing when it groups by something else.
    static func entries(_ content: RawSpan) throws(Malformed) -> (entries: [TrackEncryption], defaultIndex: Int)? {
        var cursor = ByteCursor(content)
        let version = try cursor.u8("sample group description")
        try cursor.skip(3, "sample group description")
        guard FourCC(try cursor.u32("sample group description")) == "seig" else { return nil }
        let length = version >= 1 ? Int(try cursor.u32("sample group description")) : 0
        let defaultIndex = version >= 2 ? Int(try cursor.u32("sample group description")) : 0
        let count = Int(try cursor.u32("sample group description"))
        guard count <= limit, count <= cursor.remaining / 20 else {
            throw Malformed("sample group description has more entries than bytes", at: cursor.position - 4)
        }
        var entries: [TrackEncryption] = []
        for _ in 0..<count {
            // entries of version 0 have no length field
            let size =
                version == 0
                ? min(cursor.remaining, TrackEncryption.groupEntryLength(cursor))
                : length == 0 ? Int(try cursor.u32("sample group entry")) : length
            let at = cursor.position
            do { entries.append(try TrackEncryption(seig: try cursor.slice(size, "sample group entry"))) } catch {
                throw Malformed(error.what, at: at + error.offset)
            }
        }
        return (entries, defaultIndex)
    }

    /// Takes note of an `sbgp` box; of another grouping, nothing.
    mutating func readRuns(_ box: MP4Box, _ window: inout FileWindow) throws {
        let at = box.content.lowerBound
        guard box.content.count >= 12, FourCC(try window.u32(at: at + 4, "sample group")) == "seig" else { return }
        let head: Int64 = try window.u8(at: at, "sample group") == 1 ? 16 : 12
        let count = Int(try window.u32(at: at + head - 4, "sample group"))
        guard Int64(count) * 8 <= Int64(box.content.count) - head else {
            throw Malformed("sample group has more entries than bytes", at: Int(at))
        }
        runs = SampleTables.Table(start: at + head, count: count)
    }

    /// The parameters of the next sample; nil if the track's apply.
    mutating func next(_ window: inout FileWindow) throws -> TrackEncryption? {
        while remaining == 0, run < runs.count {
            let at = runs.start + Int64(run) * 8
            remaining = Int(try window.u32(at: at, "sample group"))
            index = Int(try window.u32(at: at + 4, "sample group"))
            run += 1
        }
        var group = defaultIndex
        if remaining > 0 {
            remaining -= 1
            group = index
        }
        guard group > 0 else { return nil }
        let own = group - Self.fragmentBase
        if own > 0, own <= fragment.count { return fragment[own - 1] }
        guard own <= 0, group <= movie.count else {
            throw Malformed("sample group \(group) is not described", at: Int(runs.start))
        }
        return movie[group - 1]
    }
}
