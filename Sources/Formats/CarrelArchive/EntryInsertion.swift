// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Adds an entry to an archive without changing existing bytes: a few writes after the archive's end, whatever its size.
///
/// The archive is valid before, after and between these writes, so that it can be read whenever writing stops. The first write
/// puts a copy of the archive's end at the new end, and so makes room. The second erases the signature of the old end, because
/// libzip rejects two. The third fills the room with the entry and a new directory. The fourth, a few bytes within one disk
/// sector, makes the end refer to that directory. The old directory remains as unused bytes, and so does a replaced entry.
package struct EntryInsertion {
    /// Bytes to write, which must be on the disk before the next step.
    package struct Step: Sendable {
        package let offset: Int64
        package let bytes: [UInt8]
    }

    package let steps: [Step]
    /// Whether the archive is readable between the steps; false if it has leading bytes that offsets do not count.
    package let isSafeInPlace: Bool

    private static let sectorSize: Int64 = 512
    private static let full: Int64 = 0xffff_ffff

    /// - Parameters:
    ///   - archive: the existing archive.
    ///   - name: the name of the entry; entries of that name are replaced.
    ///   - content: stored uncompressed.
    ///   - checksum: CRC-32 of the content.
    ///   - limit: maximum number of entries.
    ///   - isReplaced: whether another entry, by its name, is equivalent for a reader and is replaced too.
    /// - Throws: the reason why the archive is refused.
    package init(
        _ archive: some ArchiveSource,
        name: String,
        content: [UInt8],
        checksum: UInt32,
        limit: Int,
        isReplaced: ([UInt8]) -> Bool = { _ in false }
    ) throws(ArchiveError) {
        _ = try CentralDirectory(archive, limit: limit)
        let end = try EndOfDirectory(archive)
        isSafeInPlace = end.prefix == 0
        var directory = KeptRecords(try archive.read(end.start..<end.start + end.size)) { other in
            other.elementsEqual(name.utf8) || isReplaced(other)
        }
        let offset = archive.length - end.prefix
        let entry = NewEntry(name: Array(name.utf8), content: content, checksum: checksum, offset: offset)
        directory.bytes += entry.record
        directory.count += 1

        let local = entry.local
        let needsLarge =
            end.locator != nil || directory.count >= 0xffff || Int64(directory.bytes.count) >= Self.full
            || offset + Int64(local.count) + Self.sectorSize >= Self.full
        // the directory, a large archive's record after it, then the bytes that are swapped in one sector
        let large: Int64 = needsLarge ? 56 : 0
        let swapped: Int64 = (needsLarge ? 20 : 0) + 22
        let unpadded = archive.length + Int64(local.count + directory.bytes.count) + large
        let inSector = unpadded % Self.sectorSize
        let padding = inSector + swapped > Self.sectorSize ? Self.sectorSize - inSector : 0
        let start = archive.length + Int64(local.count) + padding
        let endOffset = unpadded + padding

        var fill = local
        fill.append(contentsOf: repeatElement(0, count: Int(padding)))
        fill += directory.bytes
        var tail: [UInt8] = []
        if needsLarge {
            let recordOffset = start + Int64(directory.bytes.count) - end.prefix
            fill += Self.largeRecord(count: directory.count, size: directory.bytes.count, start: start - end.prefix)
            tail.add(0x504b_0607 as UInt32)
            tail.add(little: 0, 4)
            tail.add(little: recordOffset, 8)
            tail.add(little: 1, 4)
        }
        tail.add(0x504b_0506 as UInt32)
        tail.add(little: 0, 4)
        let count = needsLarge ? 0xffff : Int64(directory.count)
        tail.add(little: count, 2)
        tail.add(little: count, 2)
        tail.add(little: needsLarge ? Self.full : Int64(directory.bytes.count), 4)
        tail.add(little: needsLarge ? Self.full : start - end.prefix, 4)
        // the length of the comment, which remains where the first write puts it
        tail += end.record[20..<22]

        let room = [UInt8](repeating: 0, count: needsLarge ? 20 : 0)
        steps = [
            Step(offset: endOffset, bytes: (end.locator ?? room) + end.record),
            Step(offset: end.position, bytes: [0, 0, 0, 0]),
            Step(offset: archive.length, bytes: fill),
            Step(offset: endOffset, bytes: tail),
        ]
    }

    /// The record for large archives (§4.3.14).
    private static func largeRecord(count: Int, size: Int, start: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.add(0x504b_0606 as UInt32)
        bytes.add(little: 44, 8)
        bytes.add(little: 3 << 8 | 45, 2)
        bytes.add(little: 45, 2)
        bytes.add(little: 0, 8)
        bytes.add(little: Int64(count), 8)
        bytes.add(little: Int64(count), 8)
        bytes.add(little: Int64(size), 8)
        bytes.add(little: start, 8)
        return bytes
    }
}

/// The records of a directory, verbatim, except the records of some names.
private struct KeptRecords {
    var bytes: [UInt8] = []
    var count = 0

    /// - Parameters:
    ///   - directory: whole and well-formed.
    ///   - isLeftOut: whether the entry of a name is.
    init(_ directory: [UInt8], without isLeftOut: ([UInt8]) -> Bool) {
        bytes.reserveCapacity(directory.count + 256)
        var at = 0
        while at + 46 <= directory.count {
            let span = directory.rawSpan
            let nameLength = Int(span.u16le(at: at + 28))
            let end = at + 46 + nameLength + Int(span.u16le(at: at + 30)) + Int(span.u16le(at: at + 32))
            if !isLeftOut(Array(directory[at + 46..<at + 46 + nameLength])) {
                bytes += directory[at..<end]
                count += 1
            }
            at = end
        }
    }
}

/// A stored entry, readable by every user.
private struct NewEntry {
    /// The local header and the content (§4.3.7).
    let local: [UInt8]
    /// For the directory (§4.3.12).
    let record: [UInt8]

    init(name: [UInt8], content: [UInt8], checksum: UInt32, offset: Int64) {
        let isFar = offset >= 0xffff_ffff
        var common: [UInt8] = []
        common.add(little: isFar ? 45 : 10, 2)
        // no flags, stored, at the beginning of 1980
        common.add(little: 0, 2)
        common.add(little: 0, 2)
        common.add(little: 0, 2)
        common.add(little: 0x21, 2)
        common.add(little: Int64(checksum), 4)
        common.add(little: Int64(content.count), 4)
        common.add(little: Int64(content.count), 4)
        common.add(little: Int64(name.count), 2)
        var local: [UInt8] = []
        local.add(0x504b_0304 as UInt32)
        local += common
        local.add(little: 0, 2)
        self.local = local + name + content

        var record: [UInt8] = []
        record.add(0x504b_0102 as UInt32)
        record.add(little: 3 << 8 | 45, 2)
        record += common
        record.add(little: isFar ? 12 : 0, 2)
        record.add(little: 0, 6)
        record.add(little: 0o100644 << 16, 4)
        record.add(little: isFar ? 0xffff_ffff : offset, 4)
        record += name
        if isFar {
            record.add(little: 1, 2)
            record.add(little: 8, 2)
            record.add(little: offset, 8)
        }
        self.record = record
    }
}

extension [UInt8] {
    /// A signature, in the order of its letters.
    fileprivate mutating func add(_ signature: UInt32) {
        for shift in [24, 16, 8, 0] as [UInt32] { append(UInt8(truncatingIfNeeded: signature >> shift)) }
    }

    /// A number of some bytes, the least first.
    fileprivate mutating func add(little value: Int64, _ count: Int) {
        for index in 0..<count { append(UInt8(truncatingIfNeeded: value >> Int64(8 * index))) }
    }
}
