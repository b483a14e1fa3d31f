// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The directory of a ZIP archive, read strictly (PKWARE APPNOTE 6.3.10 §4.3).
///
/// libzip reads it too, and leniently. Anything that the two interpret differently is refused, so that no entry is ambiguous; and
/// libzip does not report the offsets of entries, which are needed to detect overlaps.
package struct CentralDirectory {
    /// One entry.
    package struct Record {
        package var rawName: [UInt8]
        package var flags: UInt16
        package var method: UInt16
        /// The modification time in MS-DOS format (§4.4.6); traditional encryption checks passwords with it.
        package var time: UInt16
        /// Checksum of the uncompressed bytes (§4.4.7); 0 if AES authenticates them.
        package var crc: UInt32
        /// The AES encryption, if any.
        package var aes: AESEncryption?
        package var packedSize: Int64
        package var size: Int64
        package var externalAttributes: UInt32
        /// The system that made it: 3 is Unix.
        package var system: UInt8
        /// The offset of its local header in the file.
        package var offset: Int64
    }

    package private(set) var records: [Record] = []
    /// The offset of the directory: everything else comes before.
    private let start: Int64

    private static let endLength = 22
    private static let headerLength = 46
    private static let sizeLimit: Int64 = 64 << 20

    /// - Parameters:
    ///   - file: the archive.
    ///   - limit: entries at most.
    /// - Throws: why the directory is refused.
    package init(_ file: some ArchiveSource, limit: Int) throws(ArchiveError) {
        let end = try EndOfDirectory(file)
        guard end.count <= Int64(limit) else {
            throw ArchiveError(.tooManyEntries, "archive has \(end.count) entries; at most \(limit) are read")
        }
        guard end.size <= Self.sizeLimit, end.size >= end.count * Int64(Self.headerLength), end.start + end.size <= end.end else {
            throw ArchiveError(.damaged, "archive's directory does not have the size it says")
        }
        start = end.start
        let bytes = try file.read(end.start..<end.start + end.size)
        do throws(Malformed) {
            var cursor = ByteCursor(bytes.rawSpan)
            records.reserveCapacity(Int(end.count))
            for _ in 0..<end.count {
                var record = try Self.record(&cursor)
                record.offset += end.prefix
                records.append(record)
            }
            try cursor.finish("directory")
        } catch {
            throw ArchiveError(.damaged, "archive's directory is damaged: \(error)")
        }
    }

    private static func record(_ cursor: inout ByteCursor) throws(Malformed) -> Record {
        let at = cursor.position
        guard try cursor.u32("entry") == 0x504b_0102 else { throw Malformed("entry has no signature", at: at) }
        // from the version that made it on (§4.3.12)
        let header = try cursor.slice(headerLength - 4, "entry")
        let system = header.u8(at: 1)
        let flags = header.u16le(at: 4)
        let method = header.u16le(at: 6)
        let time = header.u16le(at: 8)
        let crc = header.u32le(at: 12)
        let packedSize = Int64(header.u32le(at: 16))
        let size = Int64(header.u32le(at: 20))
        let nameLength = Int(header.u16le(at: 24))
        let extraLength = Int(header.u16le(at: 26))
        let commentLength = Int(header.u16le(at: 28))
        let volume = header.u16le(at: 30)
        let attributes = header.u32le(at: 34)
        let offset = Int64(header.u32le(at: 38))
        let name = [UInt8](copying: try cursor.slice(nameLength, "name"))
        let extra = try cursor.slice(extraLength, "extra field")
        try cursor.skip(commentLength, "comment")
        guard volume == 0 || volume == 0xffff else { throw Malformed("entry is on another volume", at: at) }
        var record = Record(
            rawName: name,
            flags: flags,
            method: method,
            time: time,
            crc: crc,
            packedSize: packedSize,
            size: size,
            externalAttributes: attributes,
            system: system,
            offset: offset
        )
        try record.readZip64(ByteCursor(extra))
        if method == AESEncryption.method { record.aes = try AESEncryption(ByteCursor(extra)) }
        return record
    }

    /// Checks from the directory alone that no entry overlaps another or the directory. A zip bomb mostly reuses the same bytes
    /// many times.
    ///
    /// - Throws: `archive.overlap`.
    package func checkExtents() throws(ArchiveError) {
        var order = Array(records.indices)
        // usually the directory lists entries in order of their offsets
        let isSorted = order.dropFirst().allSatisfy { records[$0 - 1].offset <= records[$0].offset }
        if !isSorted { order.sort { records[$0].offset < records[$1].offset } }
        var end: Int64 = 0
        for index in order {
            guard records[index].offset >= end else {
                throw ArchiveError(.overlap, "entry \(ArchiveName.printable(records[index].rawName)) shares bytes with another")
            }
            // the header may have an extra field that the directory does not mention
            end = records[index].offset + 30 + Int64(records[index].rawName.count) + records[index].packedSize
        }
        guard end <= start else { throw ArchiveError(.overlap, "entries reach into the directory") }
    }

    /// Checks that every entry has a header at its offset, with the same name, and overlaps neither another entry nor the
    /// directory.
    func checkPlaces(_ file: some ArchiveSource) throws(ArchiveError) {
        var end: Int64 = 0
        for record in records.sorted(by: { $0.offset < $1.offset }) {
            let displayName = ArchiveName.printable(record.rawName)
            guard record.offset <= file.length, record.packedSize <= file.length else {
                throw ArchiveError(.damaged, "entry \(displayName) lies past the end of the archive")
            }
            let header = try file.read(record.offset..<record.offset + 30)
            guard header.rawSpan.u32(at: 0) == 0x504b_0304 else {
                throw ArchiveError(.damaged, "entry \(displayName) is not where the directory says")
            }
            let nameLength = Int64(header.rawSpan.u16le(at: 26))
            let content = record.offset + 30 + nameLength + Int64(header.rawSpan.u16le(at: 28))
            guard try file.read(record.offset + 30..<record.offset + 30 + nameLength) == record.rawName else {
                throw ArchiveError(.damaged, "entry \(displayName) has two names")
            }
            guard record.offset >= end else {
                throw ArchiveError(.overlap, "entry \(displayName) shares bytes with another")
            }
            end = content + record.packedSize
        }
        guard end <= start else { throw ArchiveError(.overlap, "entries reach into the directory") }
    }
}
