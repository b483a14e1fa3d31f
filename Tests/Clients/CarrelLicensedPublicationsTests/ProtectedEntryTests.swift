// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelLicenseKeys
import CarrelLicensedPublications
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelPublication
import CarrelRights
import CarrelTesting
import CarrelTokens
import ProtectedPublications
import Testing

struct `An EPUB with entries that are DCF files` {
    private static let text = """
        <html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body><p>Words.</p></body></html>
        """

    private struct Entry {
        var name: String
        var content: String
        var key = BookWorld.key
    }

    private func epub(_ entries: [Entry], _ book: BookWorld) throws -> String {
        let path = book.world.directory.file("book.epub")
        let writer = try PackageWriter(path: path)
        func add(_ name: String, _ text: String) throws { try writer.add(name, Array(text.utf8)) }
        try add("mimetype", "application/epub+zip")
        try add(
            "META-INF/container.xml",
            """
            <?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
            <rootfile full-path="package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
            """
        )
        let names = ["clear.xhtml"] + entries.map(\.name)
        let items = names.map { "<item id=\"\($0)\" href=\"\($0)\" media-type=\"application/xhtml+xml\"/>" }.joined()
        try add(
            "package.opf",
            """
            <?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:test:entries</dc:identifier>
            <dc:title>Entries</dc:title><dc:language>en</dc:language></metadata><manifest>\(items)</manifest>
            <spine>\(names.map { "<itemref idref=\"\($0)\"/>" }.joined())</spine></package>
            """
        )
        let list = entries.map {
            """
            <enc:EncryptedData><enc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>\
            <enc:CipherData><enc:CipherReference URI="\($0.name)"/></enc:CipherData></enc:EncryptedData>
            """
        }
        try add(
            "META-INF/encryption.xml",
            "<encryption xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\" xmlns:enc=\"http://www.w3.org/2001/04/xmlenc#\">"
                + list.joined() + "</encryption>"
        )
        try add("clear.xhtml", Self.text)
        for entry in entries {
            let bytes = Array(Self.text.utf8)
            try writer.add(
                entry.name,
                try BookWorld.dcf(bytes, type: "application/xhtml+xml", content: entry.content, key: entry.key)
            )
        }
        try writer.finish()
        return path
    }

    @Test func `is read under its licenses, and without one of them the others stay readable`() async throws {
        let book = try await BookWorld()
        let other = Secret([UInt8](repeating: 9, count: 16))
        let entries = [
            Entry(name: "a.xhtml", content: "cid:missing"), Entry(name: "b.xhtml", content: "cid:b"),
            Entry(name: "c.xhtml", content: "cid:c", key: other),
        ]
        let path = try epub(entries, book)
        #expect(try await book.open(path).isRestricted)
        let license = try await book.license(content: "cid:b", kid: KeyID(label: "b"))
        let second = try await book.license(content: "cid:c", kid: KeyID(label: "c"), key: other)
        let publication = try await book.open(path)
        #expect(!publication.isRestricted && publication.metadata.title.description == "Entries")
        #expect(publication.readingOrder.count == 4)
        func read(_ name: String) async throws -> String {
            String(decoding: try await publication.get(name).read(upTo: 1 << 16), as: UTF8.self)
        }
        #expect(try await read("clear.xhtml") == Self.text)
        #expect(try await book.plays(license) == 0)
        #expect(try await read("b.xhtml") == Self.text)
        #expect(try await read("c.xhtml") == Self.text)
        let plays = (try await book.plays(license), try await book.plays(second))
        #expect(plays == (1, 1))
        let error = await failure { _ = try await read("a.xhtml") }
        #expect(error?.code == .forbidden)
        let kept = publication.get("b.xhtml")
        try await book.engine.licenses().remove(license)
        #expect(try await withinTwoSeconds { await failure { _ = try await kept.read(0..<5) }?.code == .forbidden })
        // the other license lasts
        #expect(publication.endReason == nil)
        #expect(try await read("c.xhtml") == Self.text)
        publication.close()
    }

    @Test func `gives an entry as a source of a medium`() async throws {
        let book = try await BookWorld()
        let path = try epub([Entry(name: "a.xhtml", content: BookWorld.content)], book)
        try await book.license()
        let source = try await ResourceSource(entry: "a.xhtml", of: PublicationAsset(path: path))
        let stream = try await MediaStream.open(source, as: .dcf(), keys: LicenseKeys(book.engine, action: .read))
        #expect(stream.detectsChanges)
        #expect(try await stream.read(upTo: 1 << 16) == Array(Self.text.utf8))
        await stream.close()
    }
}
