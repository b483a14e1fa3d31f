// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelCrypto
import CarrelZlib

/// An archive some or all of whose entries are encrypted, with the password.
final class UnlockedArchive: Fetcher, DocumentedFetcher, WrappingFetcher {
    let documents = ContainerDocuments()
    var wrapped: any Fetcher { locked }
    private let locked: ArchiveFetcher
    private let password: Secret

    /// - Parameters:
    ///   - locked: the encrypted archive; closed with this one.
    ///   - password: the password as typed.
    init(_ locked: ArchiveFetcher, password: Secret) {
        self.locked = locked
        self.password = password
    }

    func links() async throws(ResourceError) -> [Link] { try await locked.links() }

    func paths() async throws(ResourceError) -> [ResourcePath] { try await locked.paths() }

    func get(_ link: Link) -> any Resource {
        guard let path = link.path, let entry = locked.entry(at: path), entry.isEncrypted else { return locked.get(link) }
        return UnlockedEntry(link, entry, of: locked.archive, password)
    }

    func storedLength(of link: Link) -> LengthHint? { locked.storedLength(of: link) }

    func close() { locked.close() }

    /// Whether the password is right: reads the smallest encrypted entry completely, because the header alone accepts one wrong
    /// password in 256 or in 65,536.
    func isRight() async throws(ResourceError) -> Bool {
        guard let entry = locked.smallestEncrypted else { return true }
        do throws(ResourceError) {
            return try await UnlockedEntry(Link(entry.path), entry, of: locked.archive, password).isWhole()
        } catch  where error.code == .decryption || error.code == .malformed {
            return false
        }
    }
}

/// An entry that needs a password.
private final class UnlockedEntry: Resource {
    let link: Link
    private let entry: DirectoryEntry
    private let archive: any Resource
    private let password: Secret
    private let content = AsyncLazy<Content>()

    private struct Content: Sendable {
        let decrypted: any Resource
        let unpacked: any Resource
    }

    init(_ link: Link, _ entry: DirectoryEntry, of archive: any Resource, _ password: Secret) {
        self.link = link
        self.entry = entry
        self.archive = archive
        self.password = password
    }

    var lengthHint: LengthHint? { LengthHint(entry.size) }

    func length() async throws(ResourceError) -> Int64 { try await open().unpacked.length() }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try await open().unpacked.read(range, into: &buffer)
    }

    /// Reads the whole content; returns whether it is intact.
    func isWhole() async throws(ResourceError) -> Bool {
        let content = try await open()
        if let aes = content.decrypted as? WinZipResource { return try await aes.isAuthentic() }
        var checksum = CRC32()
        var at: Int64 = 0
        var buffer: [UInt8] = []
        while at < entry.size {
            buffer.removeAll(keepingCapacity: true)
            try await content.unpacked.read(at..<at + 256 << 10, into: &buffer)
            if buffer.isEmpty { break }
            checksum.update(buffer.rawSpan)
            at += Int64(buffer.count)
        }
        return at == entry.size && checksum.value == entry.crc
    }

    private func open() async throws(ResourceError) -> Content {
        try await content.value { [link, entry, archive, password] () async throws(ResourceError) in
            let bytes = SliceResource(link, of: archive, try await EntryStart(of: entry, link, archive).place)
            let decrypted: any Resource
            let method: UInt16
            if let aes = entry.aes {
                decrypted = try await WinZipResource(bytes, aes, password: password)
                method = aes.method
            } else {
                // with a data descriptor the checksum was not known yet (APPNOTE §6.1.6, §4.4.4 bit 3)
                let check =
                    entry.flags & 8 != 0 ? UInt8(truncatingIfNeeded: entry.time >> 8) : UInt8(truncatingIfNeeded: entry.crc >> 24)
                decrypted = try await TraditionalResource(bytes, check: check, password: password)
                method = entry.method
            }
            let unpacked = try await EntryResource.unpacked(decrypted, method: method, size: entry.size)
            return Content(decrypted: decrypted, unpacked: unpacked)
        }
    }
}
