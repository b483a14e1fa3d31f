// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Samples of one track run (`trun`, ISO/IEC 14496-12 §8.8.8).
struct FragmentRun {
    /// The offset of the first sample's bytes.
    let dataStart: Int64
    /// The offset of the first entry.
    let entries: Int64
    let count: Int
    private let flags: UInt32
    private let isSigned: Bool
    private let firstFlags: UInt32?
    private let defaults: FragmentDefaults

    private var hasDurations: Bool { flags & 0x100 != 0 }
    private var hasSizes: Bool { flags & 0x200 != 0 }
    private var hasFlags: Bool { flags & 0x400 != 0 }
    private var hasCompositions: Bool { flags & 0x800 != 0 }
    /// Whether its composition offsets may be negative.
    var hasSignedCompositions: Bool { isSigned && hasCompositions }

    /// Bytes of an entry: up to four numbers.
    private var entryLength: Int64 { Int64((flags >> 8 & 15).nonzeroBitCount) * 4 }

    /// Reads the head of a run.
    ///
    /// - Parameters:
    ///   - box: a `trun` box.
    ///   - base: the origin of its data offset.
    ///   - previousEnd: the end of the preceding data, if the run has no offset.
    ///   - defaults: the defaults of the fragment.
    ///   - window: reads the file.
    /// - Throws: `Malformed`, and read errors.
    init(_ box: MP4Box, base: Int64, previousEnd: Int64, _ defaults: FragmentDefaults, _ window: inout FileWindow) throws {
        let at = box.content.lowerBound
        let word = try window.u32(at: at, "track run")
        flags = word & 0xff_ffff
        isSigned = word >> 24 != 0
        count = Int(try window.u32(at: at + 4, "track run"))
        self.defaults = defaults
        var entries = at + 8
        var dataStart = previousEnd
        if flags & 1 != 0 {
            dataStart = base + Int64(Int32(truncatingIfNeeded: try window.u32(at: entries, "track run")))
            entries += 4
        }
        if flags & 4 != 0 {
            firstFlags = try window.u32(at: entries, "track run")
            entries += 4
        } else {
            firstFlags = nil
        }
        self.entries = entries
        self.dataStart = dataStart
        guard dataStart >= 0 else { throw Malformed("track run lies before the file", at: Int(at)) }
        // leaves room to add offsets
        guard dataStart < 1 << 62 else { throw Malformed("track run lies past any file", at: Int(at)) }
        guard Int64(count) * entryLength <= box.content.upperBound - entries else {
            throw Malformed("track run has more entries than bytes", at: Int(at))
        }
        // a sample of no bytes and no entry would cost nothing, whatever their number
        guard hasSizes || count == 0 || defaults.size > 0 && count <= Int(Int64.max >> 8) / defaults.size else {
            throw Malformed("more samples than the file can hold", at: Int(at))
        }
    }

    /// The end of the bytes of its last sample.
    func dataEnd(_ window: inout FileWindow) throws -> Int64 {
        if !hasSizes { return dataStart + Int64(count) * Int64(defaults.size) }
        var end = dataStart
        let skipped: Int64 = hasDurations ? 4 : 0
        for index in 0..<count { end += Int64(try window.u32(at: entries + Int64(index) * entryLength + skipped, "run entry")) }
        return end
    }

    /// The sample at an index, from 0.
    ///
    /// - Parameters:
    ///   - index: less than `count`.
    ///   - offset: the offset of its bytes.
    ///   - decodeTime: its decode time.
    ///   - window: reads the file.
    /// - Returns: the sample.
    /// - Throws: `Malformed`, and read errors.
    func sample(_ index: Int, offset: Int64, decodeTime: Int64, _ window: inout FileWindow) throws -> MP4Sample {
        var at = entries + Int64(index) * entryLength
        var sample = MP4Sample(offset: offset, size: defaults.size, duration: defaults.duration, decodeTime: decodeTime)
        sample.entry = defaults.entry
        var sampleFlags = index == 0 ? firstFlags ?? defaults.flags : defaults.flags
        if hasDurations {
            sample.duration = Int64(try window.u32(at: at, "run entry"))
            at += 4
        }
        if hasSizes {
            sample.size = Int(try window.u32(at: at, "run entry"))
            at += 4
        }
        if hasFlags {
            sampleFlags = try window.u32(at: at, "run entry")
            at += 4
        }
        if hasCompositions {
            let offset = try window.u32(at: at, "run entry")
            sample.compositionOffset = isSigned ? Int64(Int32(truncatingIfNeeded: offset)) : Int64(offset)
        }
        // sample_is_non_sync_sample (§8.8.3.1)
        sample.isSync = sampleFlags & 0x1_0000 == 0
        return sample
    }
}
