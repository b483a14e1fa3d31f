// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// An entry of an archive that needs no password.
///
/// Its first read fetches its local header and the wanted bytes together, because a request to a server is expensive.
final class EntryResource: PackedResource {
    let link: Link
    private let entry: DirectoryEntry
    private let archive: any Resource
    private let content = AsyncLazy<any Resource>()

    /// An entry that expands to more, and by more than this factor, is a decompression bomb: deflate reaches a factor of 1,030;
    /// audio, images and text stay below 100.
    private static let bombRatio: Int64 = 200
    private static let bombSize: Int64 = 64 << 20

    init(_ link: Link, _ entry: DirectoryEntry, of archive: any Resource) {
        self.link = link
        self.entry = entry
        self.archive = archive
    }

    /// The length that the directory declares. Reading to the end shows whether it is true.
    var lengthHint: LengthHint? { LengthHint(entry.size) }

    func length() async throws(ResourceError) -> Int64 {
        // the two sizes of a stored entry are compared; a compressed entry with another size is cut off or refused
        if !entry.isEncrypted, entry.method == 8 || entry.method == 0 && entry.size == entry.packedSize { return entry.size }
        return try await resource(for: 0..<0).length()
    }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        if let made = content.made { return try await made.read(range, into: &buffer) }
        try await resource(for: range).read(range, into: &buffer)
    }

    func deflated() async throws(ResourceError) -> DeflatedContent? {
        guard entry.method == 8, !entry.isEncrypted else { return nil }
        let start = try await EntryStart(of: entry, link, archive, ahead: 0)
        let packed = SliceResource(link, of: archive, start.place, head: start.head)
        return DeflatedContent(packed: packed, checksum: entry.crc, length: entry.size)
    }

    private func resource(for range: Range<Int64>) async throws(ResourceError) -> any Resource {
        let (link, entry, archive) = (link, entry, archive)
        return try await content.value { () async throws(ResourceError) in try await Self.open(link, entry, archive, for: range) }
    }

    private static func open(
        _ link: Link,
        _ entry: DirectoryEntry,
        _ archive: any Resource,
        for range: Range<Int64>
    ) async throws(ResourceError) -> any Resource {
        guard !entry.isEncrypted else { throw ResourceError(.forbidden, "\"\(link.href)\" needs a password") }
        let start = try await EntryStart(of: entry, link, archive, ahead: ahead(entry, range))
        let packed = SliceResource(link, of: archive, start.place, head: start.head)
        return try await unpacked(packed, method: entry.method, size: entry.size)
    }

    /// Packed bytes that are fetched with the local header: all of a short entry, else the wanted part of its beginning.
    private static func ahead(_ entry: DirectoryEntry, _ range: Range<Int64>) -> Int64 {
        let (short, most): (Int64, Int64) = (64 << 10, 320 << 10)
        if entry.packedSize <= short { return entry.packedSize }
        if entry.method != 0 { return range.lowerBound < short ? short : 0 }
        return range.lowerBound < short && range.upperBound <= most ? min(range.upperBound, entry.packedSize) : 0
    }

    /// Returns the content of an entry.
    ///
    /// - Parameters:
    ///   - packed: its compressed bytes, decrypted.
    ///   - method: 0 or 8 (APPNOTE §4.4.5).
    ///   - size: the size of the content in bytes, as the directory declares.
    /// - Returns: a resource of the content.
    /// - Throws: `resource.malformed`.
    static func unpacked(_ packed: any Resource, method: UInt16, size: Int64) async throws(ResourceError) -> any Resource {
        switch method {
        case 0:
            guard try await packed.length() == size else {
                throw ResourceError(.malformed, "\"\(packed.link.href)\" has two sizes")
            }
            return packed
        case 8:
            let packedSize = try await packed.length()
            guard size <= bombSize || size / bombRatio <= packedSize else {
                throw ResourceError(.tooLarge, "\"\(packed.link.href)\" unpacks to more than \(bombRatio) times its size")
            }
            return InflatingResource(packed, length: size)
        default: throw ResourceError(.malformed, "\"\(packed.link.href)\" is compressed in a way that is not supported")
        }
    }
}
