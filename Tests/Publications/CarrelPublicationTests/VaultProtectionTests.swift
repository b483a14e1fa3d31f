// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelTesting
import ProtectedPublications
import Testing

@Suite("A content protection that decrypts")
struct VaultProtectionTests {
    private let directory = TemporaryDirectory()

    private func open(_ made: ProtectedPublication, _ key: [UInt8]) async throws -> Publication {
        try await Streamer(contentProtections: [VaultProtection(key: try ContentKey(key))])
            .open(asset: PublicationAsset(path: made.path), allowUserInteraction: false)
    }

    @Test func `decrypts what its key opens, and nothing with another`() async throws {
        let provider = LicenseProvider(certificate: []) { _ in [] }
        let made = try await ProtectedPublication.epub(
            at: directory.file("book.epub"),
            chapters: 2,
            .lcp(provider, LicenseProvider.Terms())
        )
        let plain = try await ProtectedPublication.epub(at: directory.file("plain.epub"), chapters: 2)
        let clear = try await open(plain, made.contentKey)
        #expect(!clear.isProtected)
        let book = try await open(made, made.contentKey)
        #expect(book.isProtected && !book.isRestricted && book.protectionName == "Vault")
        for link in book.readingOrder {
            let bytes = try await book.get(link).read(upTo: 1 << 20)
            #expect(try await clear.get(link.href).read(upTo: 1 << 20) == bytes)
            #expect(try await book.get(link).readAsString().contains("<html"))
        }
        let wrong = try await open(made, [UInt8](repeating: 1, count: 32))
        await #expect(throws: ResourceError(.decryption, "")) { try await wrong.get(wrong.readingOrder[0]).read(upTo: 1 << 20) }
    }

    @Test(arguments: [0, 16, 31, 33])
    func `takes a key of 32 bytes and no other`(count: Int) {
        #expect(throws: ResourceError(.decryption, "")) { try ContentKey([UInt8](repeating: 0, count: count)) }
    }
}
