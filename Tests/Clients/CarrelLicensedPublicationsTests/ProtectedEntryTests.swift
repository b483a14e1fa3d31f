// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelLicenseKeys
import CarrelLicensedPublications
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelRights
import Testing

struct `An EPUB with entries that are DCF files` {
    @Test func `is read under its licenses, and without one of them the others stay readable`() async throws {
        let book = try await BookWorld()
        let other = Secret([UInt8](repeating: 9, count: 16))
        let entries = [
            EntryBook.Entry(name: "a.xhtml", content: "cid:missing"), EntryBook.Entry(name: "b.xhtml", content: "cid:b"),
            EntryBook.Entry(name: "c.xhtml", content: "cid:c", key: other),
        ]
        let path = try EntryBook.write(entries, book)
        #expect(try await book.open(path).isRestricted)
        let license = try await book.license(content: "cid:b", kid: KeyID(label: "b"))
        let second = try await book.license(content: "cid:c", kid: KeyID(label: "c"), key: other)
        let publication = try await book.open(path)
        #expect(!publication.isRestricted && publication.metadata.title.description == "Entries")
        #expect(publication.readingOrder.count == 4)
        func read(_ name: String) async throws -> String {
            String(decoding: try await publication.get(name).read(upTo: 1 << 16), as: UTF8.self)
        }
        #expect(try await read("clear.xhtml") == EntryBook.text)
        #expect(try await book.plays(license) == 0)
        #expect(try await read("b.xhtml") == EntryBook.text)
        let first = (try await book.plays(license), try await book.plays(second))
        #expect(first == (1, 0))
        #expect(try await read("c.xhtml") == EntryBook.text)
        let plays = (try await book.plays(license), try await book.plays(second))
        #expect(plays == (1, 1))
        let error = await failure { _ = try await read("a.xhtml") }
        #expect(error?.code == .forbidden)
        let kept = publication.get("b.xhtml")
        try await book.engine.licenses().remove(license)
        #expect(try await withinTwoSeconds { await failure { _ = try await kept.read(0..<5) }?.code == .forbidden })
        // the other license lasts
        #expect(publication.endReason == nil)
        #expect(try await read("c.xhtml") == EntryBook.text)
        publication.close()
    }

    @Test func `gives an entry as a source of a medium`() async throws {
        let book = try await BookWorld()
        let path = try EntryBook.write([EntryBook.Entry(name: "a.xhtml", content: BookWorld.content)], book)
        try await book.license()
        let source = try await ResourceSource(entry: "a.xhtml", of: PublicationAsset(path: path))
        let stream = try await MediaStream.open(source, as: .dcf(), keys: LicenseKeys(book.engine, action: .read))
        #expect(stream.detectsChanges)
        #expect(try await stream.read(upTo: 1 << 16) == Array(EntryBook.text.utf8))
        await stream.close()
    }
}
