// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The offset of an entry's bytes: after its local header (APPNOTE §4.3.7), which must have the same name.
struct EntryStart {
    let place: Range<Int64>
    /// The first bytes of them, which came along.
    let head: [UInt8]

    static let headerLength: Int64 = 30
    /// Bytes of the header's extra field that are fetched with the rest; most have fewer.
    private static let usualExtra: Int64 = 96

    /// - Parameters:
    ///   - entry: an entry of the directory.
    ///   - link: the entry's link.
    ///   - archive: the archive of the entry.
    ///   - ahead: the number of bytes of the entry to read with the header.
    /// - Throws: `resource.malformed` if the header is another.
    init(
        of entry: DirectoryEntry,
        _ link: Link,
        _ archive: any Resource,
        ahead: Int64 = 0
    ) async throws(ResourceError) {
        let nameEnd = entry.offset + Self.headerLength + Int64(entry.rawName.count)
        let bytes = try await archive.read(entry.offset..<nameEnd + (ahead > 0 ? Self.usualExtra + ahead : 0))
        let nameStart = Int(Self.headerLength)
        let headerCount = nameStart + entry.rawName.count
        guard bytes.count >= headerCount, bytes.rawSpan.u32(at: 0) == 0x504b_0304,
            bytes.rawSpan.u16le(at: 26) == UInt16(clamping: entry.rawName.count),
            bytes[nameStart..<headerCount].elementsEqual(entry.rawName)
        else { throw ResourceError(.malformed, "\"\(link.href)\" is not where the archive's directory says") }
        let start = nameEnd + Int64(bytes.rawSpan.u16le(at: 28))
        let end = start + entry.packedSize
        guard end <= (try await archive.length()) else { throw ResourceError(.malformed, "\"\(link.href)\" is cut off") }
        place = start..<end
        head = Array(bytes.dropFirst(Int(start - entry.offset)).prefix(Int(clamping: min(ahead, entry.packedSize))))
    }
}
