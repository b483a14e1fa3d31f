// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The location of an archive's directory (§4.3.16, and §4.3.14 and §4.3.15 for large archives).
struct EndOfDirectory {
    /// Entries.
    private(set) var count: Int64 = 0
    /// Bytes of the directory.
    private(set) var size: Int64 = 0
    /// The offset of the directory.
    private(set) var start: Int64 = 0
    /// The offset of this record; of a large archive, of its larger record.
    private(set) var end: Int64 = 0
    /// Number of leading bytes that the archive's offsets do not count, as in a self-extracting program.
    private(set) var prefix: Int64 = 0
    /// The offset of the record of every archive.
    private(set) var position: Int64 = 0
    /// The end of central directory record, with the archive's comment.
    private(set) var record: [UInt8] = []
    /// The ZIP64 locator; nil if there is none.
    private(set) var locator: [UInt8]?

    private static let length = 22
    private static let commentLimit = 65535

    init(_ file: some ArchiveSource) throws(ArchiveError) {
        let tailStart = max(0, file.length - Int64(Self.length + Self.commentLimit))
        let tail = try file.read(tailStart..<file.length)
        guard let at = Self.find(tail.rawSpan) else { throw ArchiveError(.notZip, "file is not a ZIP archive") }
        do throws(Malformed) {
            try read(file, tail.rawSpan, at, tailStart)
        } catch {
            throw ArchiveError(.damaged, "archive's end is damaged: \(error)")
        }
        position = tailStart + Int64(at)
        record = Array(tail[at...])
        if needsLarge { try readLarge(file) }
        prefix = try Self.prefix(file, start: start, size: size, end: end)
        start += prefix
    }

    /// The last offset of such a record whose comment ends with the file, or whose comment is truncated because a write was
    /// interrupted (``EntryInsertion``).
    private static func find(_ tail: RawSpan) -> Int? {
        var at = tail.byteCount - length
        var cut: Int?
        while at >= 0 {
            if tail.u32(at: at) == 0x504b_0506 {
                let end = at + length + Int(tail.u16le(at: at + 20))
                if end == tail.byteCount { return at }
                if end > tail.byteCount, cut == nil { cut = at }
            }
            at -= 1
        }
        return cut
    }

    /// The size of leading bytes that the offsets do not count: the directory is then that much later, and before this record.
    private static func prefix(
        _ file: some ArchiveSource,
        start: Int64,
        size: Int64,
        end: Int64
    ) throws(ArchiveError) -> Int64 {
        let shift = end - start - size
        guard size >= 4, shift > 0, start >= 0, size <= end else { return 0 }
        func isDirectory(_ at: Int64) throws(ArchiveError) -> Bool {
            let signature = try file.read(at..<at + 4)
            return signature.rawSpan.u32(at: 0) == 0x504b_0102
        }
        if try isDirectory(start) { return 0 }
        return try isDirectory(start + shift) ? shift : 0
    }

    private mutating func read(_ file: some ArchiveSource, _ tail: RawSpan, _ at: Int, _ tailStart: Int64) throws(Malformed) {
        var cursor = ByteCursor(tail)
        try cursor.skip(at + 4)
        let volumes = (try cursor.u16(), try cursor.u16())
        guard volumes == (0, 0) || volumes == (0xffff, 0xffff) else { throw Malformed("archive has several volumes", at: at) }
        let onThis = try cursor.u16()
        guard try cursor.u16() == onThis else { throw Malformed("archive has several volumes", at: at) }
        count = Int64(onThis.byteSwapped)
        size = Int64(try cursor.u32le())
        start = Int64(try cursor.u32le())
        end = tailStart + Int64(at)
    }

    private var needsLarge: Bool { count == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff }

    /// The record for large archives, which a locator before this one points to.
    private mutating func readLarge(_ file: some ArchiveSource) throws(ArchiveError) {
        guard end >= 20 else { return }
        let locator = try file.read(end - 20..<end)
        guard locator.rawSpan.u32(at: 0) == 0x504b_0607 else { return }
        let position = locator.rawSpan.u64le(at: 8)
        guard position <= UInt64(end - 20), end - 20 - Int64(position) >= 56 else {
            throw ArchiveError(.damaged, "archive's end is not where it says")
        }
        var at = Int64(position)
        var record = try file.read(at..<at + 56)
        if record.rawSpan.u32(at: 0) != 0x504b_0606, end >= 76 {
            // after leading bytes that the archive does not count, it is still immediately before its locator
            at = end - 76
            record = try file.read(at..<at + 56)
        }
        guard record.rawSpan.u32(at: 0) == 0x504b_0606 else { throw ArchiveError(.damaged, "archive's end is not where it says") }
        guard record.rawSpan.u64(at: 16) == 0, record.rawSpan.u64(at: 24) == record.rawSpan.u64(at: 32) else {
            throw ArchiveError(.unsupported, "archive has several volumes")
        }
        do throws(Malformed) {
            var cursor = ByteCursor(record.rawSpan)
            try cursor.skip(32)
            count = try cursor.length()
            size = try cursor.length()
            start = try cursor.length()
        } catch {
            throw ArchiveError(.damaged, "archive's end is damaged: \(error)")
        }
        end = at
        self.locator = locator
    }
}
