import CarrelBytes

/// An entry of an archive that needs no password.
final class EntryResource: PackedResource {
    let link: Link
    private let entry: ArchiveFetcher.Entry
    private let archive: any Resource
    private let content = Once<any Resource>()

    init(_ link: Link, _ entry: ArchiveFetcher.Entry, of archive: any Resource) {
        self.link = link
        self.entry = entry
        self.archive = archive
    }

    /// What the directory declares. Reading to the end shows whether it is true.
    var lengthHint: LengthHint? { LengthHint(entry.size) }

    func length() async throws(ResourceError) -> Int64 {
        // of a stored entry the two sizes were compared; a packed one is cut off or refused where it differs
        try await resource().length()
    }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try await resource().read(range, into: &buffer)
    }

    func deflated() async throws(ResourceError) -> DeflatedContent? {
        guard entry.method == 8, !entry.isEncrypted else { return nil }
        let packed = SliceResource(link, of: archive, try await Self.place(of: entry, link, archive))
        return DeflatedContent(packed: packed, checksum: entry.crc, length: entry.size)
    }

    private func resource() async throws(ResourceError) -> any Resource {
        let (link, entry, archive) = (link, entry, archive)
        return try await content.value { () async throws(ResourceError) in try await Self.open(link, entry, archive) }
    }

    private static func open(
        _ link: Link,
        _ entry: ArchiveFetcher.Entry,
        _ archive: any Resource
    ) async throws(ResourceError) -> any Resource {
        guard !entry.isEncrypted else { throw ResourceError(.forbidden, "\"\(link.href)\" needs a password") }
        let packed = SliceResource(link, of: archive, try await place(of: entry, link, archive))
        return try await unpacked(packed, method: entry.method, size: entry.size)
    }

    /// The content of an entry.
    ///
    /// - Parameters:
    ///   - packed: its bytes, decrypted.
    ///   - method: 0 or 8 (APPNOTE §4.4.5).
    ///   - size: bytes of the content, as the directory declares.
    /// - Returns: what reads the content.
    /// - Throws: `resource.malformed`.
    static func unpacked(_ packed: any Resource, method: UInt16, size: Int64) async throws(ResourceError) -> any Resource {
        switch method {
        case 0:
            guard try await packed.length() == size else {
                throw ResourceError(.malformed, "\"\(packed.link.href)\" has two sizes")
            }
            return packed
        case 8: return InflatingResource(packed, length: size)
        default: throw ResourceError(.malformed, "\"\(packed.link.href)\" is compressed in a way that is not supported")
        }
    }

    /// Where the bytes of an entry lie: after its local header (APPNOTE §4.3.7), which must have the same name.
    static func place(
        of entry: ArchiveFetcher.Entry,
        _ link: Link,
        _ archive: any Resource
    ) async throws(ResourceError) -> Range<Int64> {
        let headerLength: Int64 = 30
        let nameEnd = entry.offset + headerLength + Int64(entry.rawName.count)
        let header = try await archive.read(entry.offset..<nameEnd)
        let bytes = header.rawSpan
        guard header.count == Int(nameEnd - entry.offset), bytes.u32(at: 0) == 0x504b_0304,
            bytes.u16le(at: 26) == UInt16(clamping: entry.rawName.count),
            header[Int(headerLength)...].elementsEqual(entry.rawName)
        else { throw ResourceError(.malformed, "\"\(link.href)\" is not where the archive's directory says") }
        let start = nameEnd + Int64(bytes.u16le(at: 28))
        let end = start + entry.packedSize
        guard end <= (try await archive.length()) else { throw ResourceError(.malformed, "\"\(link.href)\" is cut off") }
        return start..<end
    }
}
