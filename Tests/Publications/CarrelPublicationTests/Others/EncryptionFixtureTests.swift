// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("An encryption.xml of others")
struct EncryptionFixtureTests {
    private let book = UnpackedBook()

    static let names: Set<String> = Set(
        [
            "go-encryption-lcp-prefixes", "go-encryption-lcp-xmlns", "go-encryption-unknown-method", "moby-dick-2015-large",
            "swift-encryption-lcp-namespaces", "swift-encryption-lcp", "swift-encryption-unknown-drm",
        ].map { "encryption-xml/\($0).xml" }
    )
    private static let aes = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
    private static let lcp = "http://readium.org/2014/01/lcp"

    private func open(_ name: String, _ items: [String]) async throws -> Publication {
        let bytes = try Fixtures.bytes("readium/encryption-xml/\(name).xml")
        let files = Dictionary(uniqueKeysWithValues: items.map { ($0, UnpackedBook.chapter) })
        return try await book.open(items: items, files.merging(["META-INF/encryption.xml": bytes]) { $1 })
    }

    @Test(arguments: [
        ("go-encryption-lcp-prefixes", ["OEBPS/xhtml/chapter01.xhtml", "OEBPS/xhtml/chapter02.xhtml"]),
        ("go-encryption-lcp-xmlns", ["OEBPS/xhtml/chapter01.xhtml", "OEBPS/xhtml/chapter02.xhtml"]),
        ("swift-encryption-lcp-namespaces", ["chapter01.xhtml", "dir/chapter02.xhtml"]),
        ("swift-encryption-lcp", ["chapter01.xhtml", "dir/chapter02.xhtml"]),
    ])
    func `says the same with prefixes and without`(name: String, items: [String]) async throws {
        let publication = try await open(name, items + ["plain.xhtml"])
        let found = publication.readingOrder.map { $0.properties.encryption }
        #expect(found.map { $0?.algorithm } == [Self.aes, Self.aes, nil])
        #expect(found.map { $0?.scheme } == [Self.lcp, Self.lcp, nil])
        // method 4 does not exist
        #expect(found.map { $0?.compression } == ["deflate", nil, nil])
        #expect(found.map { $0?.originalLength?.byteCount } == [13_291, 12_914, nil])
        #expect(publication.isRestricted)
        #expect(publication.protectionName == "Readium LCP")
        await #expect(throws: ResourceError(.forbidden, "")) { try await publication.get(items[0]).read(0..<1) }
    }

    @Test(arguments: [
        ("go-encryption-unknown-method", ["OEBPS/images/image.jpeg", "OEBPS/xhtml/chapter.xhtml"]),
        ("swift-encryption-unknown-drm", ["images/image.jpeg", "html/chapter.html"]),
    ])
    func `names an unknown technology, and restricts the publication`(name: String, items: [String]) async throws {
        let publication = try await open(name, items)
        #expect(publication.isRestricted)
        #expect(publication.protectionName == "an unknown technology")
        for item in items {
            let found = publication.link(withHREF: item)?.properties.encryption
            #expect(found?.algorithm == "http://www.w3.org/2001/04/xmlenc#kw-aes128")
            #expect(found?.scheme == nil)
        }
    }

    @Test func `of a large book is read whole`() async throws {
        let chapters = (1...144).map { number in "OPS/chapter_\(number < 10 ? "00" : number < 100 ? "0" : "")\(number).xhtml" }
        let publication = try await open("moby-dick-2015-large", chapters)
        #expect(publication.isRestricted)
        let encrypted = publication.readingOrder.filter { $0.properties.encryption?.scheme == Self.lcp }
        #expect(encrypted.count == 136)
    }
}
