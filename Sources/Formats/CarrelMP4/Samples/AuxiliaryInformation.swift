// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The places of the vectors and subsamples of a track's samples, or of a fragment's, and a walk through them (`senc`, ISO/IEC
/// 23001-7 §7.2; `saiz` and `saio`, ISO/IEC 14496-12 §8.7.8).
struct AuxiliaryInformation {
    /// The `senc` box, or PIFF's: the range of its entries, and whether they have subsamples.
    private var entries: Range<Int64>?
    private var entriesCount = 0
    private var hasSubsamples = false
    /// The parameters in PIFF's box, which replace the track's defaults.
    private(set) var replacement: TrackEncryption?
    /// `saiz`: bytes of each, or one size for all.
    private var sizes = SampleTables.Table()
    private var constantSize = 0
    /// `saio`: one offset for all, or one for each chunk or run.
    private var offsets = SampleTables.Table()
    private var offsetsAreLong = false
    private var base: Int64 = 0

    /// The sample groups.
    var groups = SampleGroups()

    private var sample = 0
    private var at: Int64 = 0
    private var part = 0

    /// Whether any was found.
    var isPresent: Bool { entries != nil || sizes.count > 0 }

    /// Reads a box of an `stbl`, a `trak` or a `traf`, if it is relevant.
    ///
    /// - Parameters:
    ///   - box: any box.
    ///   - base: the origin of offsets: 0, or the start of a fragment's data.
    ///   - window: reads the file.
    /// - Throws: `Malformed`, and read errors.
    mutating func read(_ box: MP4Box, base: Int64, _ window: inout FileWindow) throws {
        let start = box.content.lowerBound
        switch box.type {
        case "senc": try readEntries(box, at: start, &window)
        case "uuid":
            guard box.content.count >= 24 else { return }
            let high = try window.u64(at: start, "uuid box")
            let low = try window.u64(at: start + 8, "uuid box")
            guard AESBlock(high: high, low: low).bytes == TrackEncryption.piffSamples else { return }
            try readEntries(box, at: start + 16, &window)
        case "saiz":
            guard let head = try typeLength(box, &window) else { return }
            constantSize = Int(try window.u8(at: start + 4 + head, "sizes of auxiliary information"))
            let count = Int(try window.u32(at: start + 5 + head, "sizes of auxiliary information"))
            guard constantSize > 0 || Int64(count) <= Int64(box.content.count) - 9 - head else {
                throw Malformed("table saiz has more entries than bytes", at: Int(start))
            }
            sizes = SampleTables.Table(start: start + 9 + head, count: count)
        case "saio":
            guard let head = try typeLength(box, &window) else { return }
            offsetsAreLong = try window.u8(at: start, "offsets of auxiliary information") == 1
            let count = Int(try window.u32(at: start + 4 + head, "offsets of auxiliary information"))
            guard Int64(count) * (offsetsAreLong ? 8 : 4) <= Int64(box.content.count) - 8 - head else {
                throw Malformed("table saio has more entries than bytes", at: Int(start))
            }
            offsets = SampleTables.Table(start: start + 8 + head, count: count)
            self.base = base
        case "sbgp": try groups.readRuns(box, &window)
        default: break
        }
    }

    /// The types of information of Common Encryption (ISO/IEC 23001-7 §7.1): the schemes, or none, which means the track's.
    private static let types: Set<FourCC> = ["cenc", "cens", "cbc1", "cbcs", "piff", FourCC(0)]

    /// Bytes of the type that the box may name; nil if the information is about something else.
    private func typeLength(_ box: MP4Box, _ window: inout FileWindow) throws -> Int64? {
        let start = box.content.lowerBound
        guard try window.u32(at: start, "auxiliary information") & 1 != 0 else { return 0 }
        return Self.types.contains(FourCC(try window.u32(at: start + 4, "auxiliary information"))) ? 8 : nil
    }

    private mutating func readEntries(_ box: MP4Box, at start: Int64, _ window: inout FileWindow) throws {
        let flags = try window.u32(at: start, "sample encryption")
        var at = start + 4
        if flags & 1 != 0 {
            var bytes: [UInt8] = []
            for i in 0..<20 { bytes.append(try window.u8(at: at + Int64(i), "sample encryption")) }
            var cursor = ByteCursor(bytes.rawSpan)
            replacement = try TrackEncryption(piff: &cursor)
            at += 20
        }
        hasSubsamples = flags & 2 != 0
        entriesCount = Int(try window.u32(at: at, "sample encryption"))
        at += 4
        guard at <= box.content.upperBound else { throw Malformed("sample encryption is cut off", at: Int(start)) }
        entries = at..<box.content.upperBound
        self.at = at
    }

    /// Fills `result` for the next sample.
    ///
    /// - Parameters:
    ///   - defaults: the parameters of the sample's description; nil for a clear one.
    ///   - startsRun: whether the sample is the first of a chunk, or of a run.
    ///   - total: total number of samples.
    ///   - result: gets the parameters.
    ///   - window: reads the file.
    /// - Throws: the errors of the reader; `Malformed` if the sample's parameters are missing or damaged.
    mutating func next(
        _ defaults: TrackEncryption?,
        startsRun: Bool,
        of total: Int,
        into result: inout SampleEncryption,
        _ window: inout FileWindow
    ) throws {
        let group = try groups.next(&window)
        let encryption = defaults.map { group ?? replacement ?? $0 }
        let isProtected = encryption?.isProtected ?? false
        result.isProtected = isProtected
        result.keyID = isProtected ? encryption?.keyID : nil
        result.pattern = encryption?.pattern ?? .whole
        result.subsamples.removeAll(keepingCapacity: true)
        // a box that does not list all samples omits the samples of a clear description
        if encryption == nil, entries != nil, entriesCount < total { return }
        let number = sample
        sample += 1
        if let entries, number < entriesCount {
            if !isProtected, sizes.count == entriesCount {
                // packagers may or may not write a vector for clear samples: the sizes decide
                let size = try size(of: number, &window)
                guard entries.upperBound - at >= size else { throw Malformed("sample encryption is cut off", at: Int(at)) }
                at += size
                return
            }
            return try readEntry(encryption, end: entries.upperBound, hasSubsamples: hasSubsamples, into: &result, &window)
        }
        if entries == nil, offsets.count > 0, number < sizes.count {
            if number == 0 || startsRun && offsets.count > 1 { try seekPart(&window) }
            let size = try size(of: number, &window)
            let end = at + size
            if let encryption, isProtected {
                try readEntry(encryption, end: end, hasSubsamples: size > encryption.ivSize, into: &result, &window)
            }
            at = end
            return
        }
        guard isProtected else { return }
        guard let iv = encryption?.constantIV else {
            let position = entries?.lowerBound ?? (sizes.count > 0 ? sizes.start : max(0, window.start))
            throw Malformed("sample \(number) has no initialization vector", at: Int(position))
        }
        result.iv = iv
    }

    /// Passes over the parameters of the next sample: of vectors without subsamples nothing is read.
    mutating func skip(
        _ defaults: TrackEncryption?,
        startsRun: Bool,
        of total: Int,
        _ window: inout FileWindow
    ) throws {
        if entries != nil, !hasSubsamples, groups.isEmpty, let encryption = defaults.map({ replacement ?? $0 }) {
            if sample < entriesCount {
                at +=
                    !encryption.isProtected && sizes.count == entriesCount
                    ? try size(of: sample, &window) : Int64(encryption.ivSize)
            }
            sample += 1
            return
        }
        guard entries == nil, groups.isEmpty, offsets.count > 0, sample < sizes.count else {
            // lengths stored in the entries, and groups, which cover every sample
            var unused = SampleEncryption()
            return try next(defaults, startsRun: startsRun, of: total, into: &unused, &window)
        }
        if sample == 0 || startsRun && offsets.count > 1 { try seekPart(&window) }
        at += try size(of: sample, &window)
        sample += 1
    }

    /// Bytes of the information of a sample.
    private func size(of number: Int, _ window: inout FileWindow) throws -> Int64 {
        guard constantSize == 0 else { return Int64(constantSize) }
        return Int64(try window.u8(at: sizes.start + Int64(number), "sizes of auxiliary information"))
    }

    /// The place of the next sample.
    var position: MP4SamplePosition.Auxiliary {
        get {
            MP4SamplePosition.Auxiliary(
                sample: UInt32(clamping: sample),
                offset: at,
                part: UInt32(clamping: part),
                group: groups.position
            )
        }
        set {
            (sample, at, part) = (Int(newValue.sample), newValue.offset, Int(newValue.part))
            groups.position = newValue.group
        }
    }

    private mutating func seekPart(_ window: inout FileWindow) throws {
        guard part < offsets.count else { throw Malformed("auxiliary information has too few offsets", at: Int(offsets.start)) }
        let entry = offsets.start + Int64(part) * (offsetsAreLong ? 8 : 4)
        let offset =
            offsetsAreLong
            ? try window.u64(at: entry, "offsets of auxiliary information")
            : UInt64(try window.u32(at: entry, "offsets of auxiliary information"))
        // leaves room to add offsets
        guard offset < 1 << 61, base < 1 << 62 else {
            throw Malformed("auxiliary information lies past any file", at: Int(entry))
        }
        at = base + Int64(offset)
        part += 1
    }

    private mutating func readEntry(
        _ encryption: TrackEncryption?,
        end: Int64,
        hasSubsamples: Bool,
        into result: inout SampleEncryption,
        _ window: inout FileWindow
    ) throws {
        // the vector of a clear sample counts too, if its parameters declare one
        let size = encryption?.ivSize ?? 0
        guard end - at >= Int64(size) else { throw Malformed("initialization vector is cut off", at: Int(at)) }
        if size > 0 {
            result.iv.high = try window.u64(at: at, "initialization vector")
            result.iv.low = size == 16 ? try window.u64(at: at + 8, "initialization vector") : 0
            at += Int64(size)
        } else if let iv = encryption?.constantIV {
            result.iv = iv
        }
        guard hasSubsamples else { return }
        guard end - at >= 2 else { throw Malformed("subsamples are cut off", at: Int(at)) }
        let count = Int(try window.u16(at: at, "subsample count"))
        at += 2
        guard end - at >= Int64(count) * 6 else { throw Malformed("more subsamples than bytes", at: Int(at) - 2) }
        for _ in 0..<count {
            let clear = Int(try window.u16(at: at, "subsample"))
            result.subsamples.append(.init(clear: clear, protected: Int(try window.u32(at: at + 2, "subsample"))))
            at += 6
        }
    }
}
