import CarrelBytes
import CarrelCrypto

/// The places of the vectors and subsamples of a track's samples, or of a fragment's, and a walk through them (`senc`, ISO/IEC 23001-7
/// §7.2; `saiz` and `saio`, ISO/IEC 14496-12 §8.7.8).
struct AuxiliaryInformation {
    /// `senc`, or PIFF's box: where its entries lie, and whether they have subsamples.
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

    /// Takes note of one box of an `stbl`, a `trak` or a `traf`.
    ///
    /// - Parameters:
    ///   - box: any box.
    ///   - base: what offsets count from: 0, or the start of a fragment's data.
    ///   - window: reads the file.
    /// - Throws: `Malformed`, and what reading or writing throws.
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
            let head: Int64 = try hasType(box, &window) ? 8 : 0
            constantSize = Int(try window.u8(at: start + 4 + head, "sizes of auxiliary information"))
            let count = Int(try window.u32(at: start + 5 + head, "sizes of auxiliary information"))
            guard constantSize > 0 || Int64(count) <= Int64(box.content.count) - 9 - head else {
                throw Malformed("table saiz has more entries than bytes", at: Int(start))
            }
            sizes = SampleTables.Table(start: start + 9 + head, count: count)
        case "saio":
            let head: Int64 = try hasType(box, &window) ? 8 : 0
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

    private func hasType(_ box: MP4Box, _ window: inout FileWindow) throws -> Bool {
        try window.u32(at: box.content.lowerBound, "auxiliary information") & 1 != 0
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

    /// Fills `sample` for the next sample.
    ///
    /// - Parameters:
    ///   - defaults: the track's parameters.
    ///   - startsRun: whether the sample is the first of a chunk, or of a run.
    ///   - result: gets the parameters.
    ///   - window: reads the file.
    /// - Throws: what the reader throws; `Malformed` when there are no parameters for the sample, or damaged ones.
    mutating func next(
        _ defaults: TrackEncryption,
        startsRun: Bool,
        into result: inout SampleEncryption,
        _ window: inout FileWindow
    ) throws {
        let encryption = try groups.next(&window) ?? replacement ?? defaults
        result.isProtected = encryption.isProtected
        result.keyID = encryption.isProtected ? encryption.keyID : nil
        result.pattern = encryption.pattern
        result.subsamples.removeAll(keepingCapacity: true)
        defer { sample += 1 }
        let number = sample
        if let entries {
            guard number < entriesCount else {
                guard encryption.isProtected else { return }
                throw Malformed("sample \(number) has no initialization vector", at: Int(entries.lowerBound))
            }
            // a clear sample of a protected track may have an entry without a vector
            try readEntry(encryption, end: entries.upperBound, hasSubsamples: hasSubsamples, into: &result, &window)
            return
        }
        guard sizes.count > 0, offsets.count > 0 else {
            guard encryption.isProtected else { return }
            guard let iv = encryption.constantIV else {
                throw Malformed("sample \(number) has no initialization vector", at: Int(max(0, window.start)))
            }
            result.iv = iv
            return
        }
        guard number < sizes.count else { throw Malformed("sample \(number) has no auxiliary information", at: Int(sizes.start)) }
        if number == 0 || startsRun && offsets.count > 1 { try seekPart(&window) }
        let size =
            constantSize > 0
            ? constantSize : Int(try window.u8(at: sizes.start + Int64(number), "sizes of auxiliary information"))
        let end = at + Int64(size)
        if size > 0 || encryption.isProtected {
            try readEntry(encryption, end: end, hasSubsamples: size > encryption.ivSize, into: &result, &window)
        }
        at = end
    }

    private mutating func seekPart(_ window: inout FileWindow) throws {
        guard part < offsets.count else { throw Malformed("auxiliary information has too few offsets", at: Int(offsets.start)) }
        let entry = offsets.start + Int64(part) * (offsetsAreLong ? 8 : 4)
        let offset =
            offsetsAreLong
            ? try window.u64(at: entry, "offsets of auxiliary information")
            : UInt64(try window.u32(at: entry, "offsets of auxiliary information"))
        guard let offset = Int64(exactly: offset), offset < Int64.max - base else {
            throw Malformed("auxiliary information lies past any file", at: Int(entry))
        }
        at = base + offset
        part += 1
    }

    private mutating func readEntry(
        _ encryption: TrackEncryption,
        end: Int64,
        hasSubsamples: Bool,
        into result: inout SampleEncryption,
        _ window: inout FileWindow
    ) throws {
        let size = encryption.isProtected ? encryption.ivSize : 0
        guard end - at >= Int64(size) else { throw Malformed("initialization vector is cut off", at: Int(at)) }
        if size > 0 {
            result.iv.high = try window.u64(at: at, "initialization vector")
            result.iv.low = size == 16 ? try window.u64(at: at + 8, "initialization vector") : 0
            at += Int64(size)
        } else if let iv = encryption.constantIV {
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
