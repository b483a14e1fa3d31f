// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("What a container declares encrypted")
struct DeclaredEncryptionTests {
    private let directory = TemporaryDirectory()

    private func declared(_ name: String, _ bytes: [UInt8]) async throws -> [ResourcePath: Encryption] {
        try await checkProcess(["mkdir", "-p", directory.file("META-INF")])
        directory.write(name, bytes)
        return try await FolderFetcher(path: directory.path).encryptedResources()
    }

    @Test(arguments: [
        ("swift-encryption-lcp.xml", 2, 2), ("swift-encryption-lcp-namespaces.xml", 2, 2),
        ("go-encryption-lcp-prefixes.xml", 2, 2),
        ("go-encryption-lcp-xmlns.xml", 2, 2), ("go-encryption-unknown-method.xml", 2, 0),
        ("swift-encryption-unknown-drm.xml", 2, 0),
        ("moby-dick-2015-large.xml", 150, 150),
    ])
    func `is read whatever its prefixes are`(name: String, count: Int, byLCP: Int) async throws {
        let found = try await declared("META-INF/encryption.xml", try Fixtures.bytes("readium/encryption-xml/\(name)"))
        #expect(found.count == count)
        #expect(found.values.filter(\.isLCP).count == byLCP)
        guard name == "swift-encryption-lcp.xml" else { return }
        let first = try #require(found["chapter01.xhtml"])
        #expect(first.isDeflated && first.originalLength == LengthHint(13_291))
        // an unknown compression is ignored
        #expect(found["dir/chapter02.xhtml"]?.isDeflated == false)
    }

    @Test func `is of each resource what its own entry says, whatever the one before says`() async throws {
        let key = #"<KeyInfo><RetrievalMethod URI="license.lcpl#/encryption/content_key"/></KeyInfo>"#
        func entry(_ name: String, _ cipher: String?, byLCP: Bool, deflated length: Int?) -> String {
            let method = cipher.map { "<EncryptionMethod Algorithm=\"\($0)\"/>" } ?? "<EncryptionMethod/>"
            let properties = length.map { "<P><Q><Compression Method=\"8\" OriginalLength=\"\($0)\"/></Q></P>" } ?? ""
            let data = "<CipherData><CipherReference URI=\"\(name)\"/></CipherData>"
            return "<EncryptedData>\(method)\(byLCP ? key : "")\(data)\(properties)</EncryptedData>"
        }
        let aes = Encryption.aes256CBC
        let entries = [
            entry("a", aes, byLCP: true, deflated: 1), entry("b", aes, byLCP: true, deflated: nil),
            entry("c", "urn:other", byLCP: true, deflated: nil), entry("d", aes, byLCP: false, deflated: 4),
            entry("e", nil, byLCP: true, deflated: 5), entry("f", aes, byLCP: true, deflated: 6),
            entry("g", aes, byLCP: true, deflated: 7),
        ]
        let found = try await declared("META-INF/encryption.xml", Array("<encryption>\(entries.joined())</encryption>".utf8))
        func lcp(_ algorithm: String, _ length: Int64?) -> Encryption {
            Encryption(
                algorithm: algorithm,
                compression: length == nil ? nil : "deflate",
                originalLength: length.map(LengthHint.init),
                scheme: Encryption.lcpScheme
            )
        }
        let expected: [ResourcePath: Encryption] = [
            "a": lcp(aes, 1), "b": lcp(aes, nil), "c": lcp("urn:other", nil),
            "d": Encryption(algorithm: aes, compression: "deflate", originalLength: LengthHint(4)), "f": lcp(aes, 6),
            "g": lcp(aes, 7),
        ]
        #expect(found == expected)
    }

    @Test func `may contain unescaped characters in names`() async throws {
        let names = ["C#.xhtml", "C#2.xhtml", "why?.xhtml", "part:1.xhtml", "100%25.xhtml", "here", "mailto:none"]
        for name in names.dropLast() + ["here#part"] { directory.write(name, "text") }
        let data = (names + ["here#part"]).enumerated().map { number, name in
            """
            <EncryptedData><EncryptionMethod Algorithm="urn:\(number)"/><CipherData><CipherReference URI="\(name)"/></CipherData></EncryptedData>
            """
        }
        let found = try await declared("META-INF/encryption.xml", Array("<encryption>\(data.joined())</encryption>".utf8))
        for (number, name) in names.dropLast().enumerated() where name != "here" {
            #expect(found[try #require(ResourcePath(decoded: name))]?.algorithm == "urn:\(number)", "\(name)")
        }
        // an address that leads somewhere is one
        #expect(found["here"]?.algorithm == "urn:7")
        #expect(found.count == 6)
        let document = try await EncryptionDocument.read(FolderFetcher(path: directory.path))
        #expect(document.warnings.count == 1)
    }

    @Test func `may be a property of the links of a manifest, by its old names too`() async throws {
        let manifest = """
            {"metadata":{"title":"A"},"readingOrder":[
              {"href":"a%20b.pdf","type":"application/pdf","properties":{"encrypted":{"scheme":"http://readium.org/2014/01/lcp",
                "profile":"basic","algorithm":"http://www.w3.org/2001/04/xmlenc#aes256-cbc","original-length":77}}},
              {"href":"c.pdf","type":"application/pdf","alternate":[{"href":"d.pdf","properties":{"encrypted":{
                "algorithm":"http://www.w3.org/2001/04/xmlenc#aes256-cbc","compression":"deflate","originalLength":-5}}}]},
              {"href":"e.pdf","properties":{"encrypted":{"scheme":"http://example.org/other","algorithm":"x"}}},
              {"href":"f.pdf","properties":{"encrypted":true}}]}
            """
        let found = try await declared("manifest.json", Array(manifest.utf8))
        #expect(found.count == 3)
        #expect(found["a b.pdf"]?.isLCP == true && found["a b.pdf"]?.originalLength == LengthHint(77))
        #expect(found["d.pdf"]?.isLCP == true && found["d.pdf"]?.isDeflated == true && found["d.pdf"]?.originalLength == nil)
        #expect(found["e.pdf"]?.isLCP == false)
    }

    @Test func `that cannot be read is an error, and nothing at all is none`() async throws {
        await #expect(throws: ResourceError(.malformed, "")) {
            try await declared("META-INF/encryption.xml", Array("<encryption><EncryptedData></encryption>".utf8))
        }
        let empty = TemporaryDirectory()
        let found = try await FolderFetcher(path: empty.path).encryptedResources()
        #expect(found.isEmpty)
    }
}
