// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelLicensedPublications
import CarrelPlayer
import CarrelPlayerTesting
import CarrelPublication
import CarrelRights
import CarrelTokens
import Testing

struct `Several licenses in one EPUB` {
    private static let second = Secret([UInt8](repeating: 9, count: 16))
    private static let entries = [
        EntryBook.Entry(name: "b.xhtml", content: "cid:b"), EntryBook.Entry(name: "c.xhtml", content: "cid:c", key: second),
    ]

    /// Licenses for the entries `b.xhtml` and `c.xhtml`.
    private func licenses(
        _ book: BookWorld,
        _ b: (inout BusinessRules) -> Void,
        _ c: (inout BusinessRules) -> Void
    ) async throws -> (b: String, c: String) {
        (
            try await book.license(content: "cid:b", kid: CarrelRights.KeyID(label: "b"), b),
            try await book.license(content: "cid:c", kid: CarrelRights.KeyID(label: "c"), key: Self.second, c)
        )
    }

    @Test func `apply their conditions together, and each counts a copy`() async throws {
        let book = try await BookWorld()
        let path = try EntryBook.write(Self.entries, book)
        let (b, c) = try await licenses(book) {
            $0.conditions.copyCharacters = 10
            $0.conditions.watermark = "one"
        } _: {
            $0.conditions.copyCharacters = 4
            $0.conditions.printPages = 2
            $0.conditions.watermark = "two"
            $0.conditions.forbidsExport = true
        }
        let publication = try await book.open(path)
        let rights = publication.rights
        #expect(!rights.isUnlimited && publication.withholdsDocuments && publication.watermark == "one · two")
        #expect(try await rights.remaining(.copy) == 4)
        #expect(try await rights.remaining(.print) == 2)
        #expect(await !publication.allowsExport())
        var allowed: [Bool] = []
        for name in ["clear.xhtml", "b.xhtml", "c.xhtml"] { allowed.append(await publication.allowsExport(of: Link(href: name))) }
        #expect(allowed == [true, true, false])
        #expect(await !rights.copy("fives", requestID: "a"))
        #expect(try await book.engine.usedAmount(of: "copy", license: b) == 0, "the other license refused the copy")
        #expect(await rights.copy("four", requestID: "b"))
        #expect(await rights.copy("four", requestID: "b"))
        #expect(try await book.engine.usedAmount(of: "copy", license: b) == 4)
        #expect(try await book.engine.usedAmount(of: "copy", license: c) == 4)
        #expect(await !rights.canCopy)
        let plays = (try await book.plays(b), try await book.plays(c))
        #expect(plays == (0, 0))
        // without the narrower license, the other one is left
        let page = Link(href: "c.xhtml")
        _ = try await publication.get(page).read(upTo: 1 << 16)
        #expect(publication.endReason(of: page) == nil)
        try await book.engine.licenses().remove(c)
        #expect(try await withinTwoSeconds { publication.endReason(of: page) != nil })
        #expect(publication.endReason(of: page) == "the license was removed" && publication.endReason == nil)
        #expect(publication.endReason(of: Link(href: "b.xhtml")) == nil)
        #expect(try await rights.remaining(.copy) == 6)
        #expect(await rights.copy("more", requestID: nil))
        publication.close()
    }

    @Test func `are evaluated for an export of their own entry, which is opened first`() async throws {
        let book = try await BookWorld()
        // more contents than are looked at when the book is opened
        let entries = (10..<28).map { EntryBook.Entry(name: "e\($0).xhtml", content: "cid:e\($0)") }
        let path = try EntryBook.write(entries, book)
        try await book.license(content: "cid:e10", kid: CarrelRights.KeyID(label: "e10"))
        let last = try await book.license(content: "cid:e27", kid: CarrelRights.KeyID(label: "e27")) {
            $0.conditions.forbidsExport = true
            $0.conditions.watermark = "mine"
        }
        let publication = try await book.open(path)
        #expect(await publication.allowsExport())
        #expect(publication.watermark == nil)
        #expect(await publication.allowsExport(of: Link(href: "e10.xhtml")))
        #expect(await !publication.allowsExport(of: Link(href: "e27.xhtml")))
        // without a license, the entry says why it cannot be read
        #expect(await !publication.allowsExport(of: Link(href: "e11.xhtml")))
        #expect(await !publication.allowsExport())
        #expect(publication.watermark == "mine")
        #expect(try await book.plays(last) == 0)
        publication.close()
    }

    @Test func `are replaced in the open book: the entry of one that has ended is read again`() async throws {
        let book = try await BookWorld()
        let path = try EntryBook.write(Self.entries, book)
        let (b, c) = try await licenses(book) { _ in
        } _: {
            $0.conditions.watermark = "former"
        }
        let publication = try await book.open(path)
        let page = Link(href: "c.xhtml")
        let former = publication.get(page)
        let text = try await former.read(upTo: 1 << 16)
        #expect(!text.isEmpty && publication.watermark == "former")
        try await book.engine.removeLicense(c)
        #expect(try await withinTwoSeconds { publication.endReason(of: page) != nil })
        #expect(await failure { _ = try await publication.get(page).read(upTo: 16) }?.code == .forbidden)
        let next = try await book.license(content: "cid:c", kid: CarrelRights.KeyID(label: "c"), key: Self.second) {
            $0.conditions.watermark = "later"
        }
        #expect(try await publication.get(page).read(upTo: 1 << 16) == text)
        #expect(publication.endReason(of: page) == nil && publication.watermark == "later")
        #expect(try await book.plays(next) == 1)
        // what was opened under the former license stays closed
        #expect(await failure { _ = try await former.read(upTo: 16) }?.code == .forbidden)
        // the other entry was not concerned, and the new license ends as the former one did
        #expect(try await publication.get(Link(href: "b.xhtml")).read(upTo: 1 << 16).isEmpty == false)
        #expect(try await book.plays(b) == 1)
        try await book.engine.removeLicense(next)
        #expect(try await withinTwoSeconds { publication.endReason(of: page) != nil })
        #expect(await failure { _ = try await publication.get(page).read(upTo: 16) }?.code == .forbidden)
        publication.close()
    }

    @Test func `are read again when one is renewed`() async throws {
        let book = try await BookWorld()
        let path = try EntryBook.write(Self.entries, book)
        let (_, c) = try await licenses(book, { _ in }, { _ in })
        let publication = try await book.open(path)
        #expect(publication.rights.isUnlimited && !publication.withholdsDocuments && publication.watermark == nil)
        let data = try #require(try await book.engine.licenses().license(c)?.data)
        try await book.engine.addLicense(
            try await book.world.reissued(data) {
                $0.add(.watermark, ["payload": "later"])
                $0.add(.copyLimit, ["characters": 3])
                $0.add(.noExport, [:])
            }
        )
        #expect(try await withinTwoSeconds { publication.watermark == "later" })
        #expect(!publication.rights.isUnlimited && publication.withholdsDocuments)
        #expect(await !publication.rights.copy("four", requestID: nil))
        #expect(await !publication.allowsExport(of: Link(href: "c.xhtml")))
        publication.close()
    }
}

struct `The cover of an EPUB with protected entries` {
    private static let drawing = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"><text>Words.</text></svg>".utf8)

    private static func entry(
        _ name: String,
        _ type: String = "application/xhtml+xml",
        _ bytes: [UInt8] = Array(EntryBook.text.utf8),
        isPage: Bool
    ) -> EntryBook.Entry {
        EntryBook.Entry(name: name, content: BookWorld.content, type: type, bytes: bytes, isPage: isPage, isCover: true)
    }

    /// Entries that the manifest calls the cover, and whether it is shown as the cover, without a play.
    private static let covers: [(entry: EntryBook.Entry, isShown: Bool)] = [
        (entry("a.xhtml", isPage: true), false), (entry("a.xhtml", isPage: false), false),
        (entry("a.png", "image/png", EntryBook.picture, isPage: true), false),
        (entry("a.svg", "image/svg+xml", drawing, isPage: false), false),
        // another type than its bytes have
        (entry("a.xhtml", "image/png", isPage: false), false),
        (entry("a.png", "image/png", EntryBook.picture, isPage: false), true),
    ]

    @Test(arguments: covers.indices)
    func `is a picture outside the reading order, and everything else costs a play`(index: Int) async throws {
        let (entry, isShown) = Self.covers[index]
        let book = try await BookWorld()
        let license = try await book.license()
        let publication = try await book.open(try EntryBook.write([entry], book))
        #expect(publication.links(withRelation: "cover").contains { $0.href == entry.name })
        let cover = try await publication.cover()
        #expect(cover?.bytes == (isShown ? EntryBook.picture : nil))
        let served = await failure { _ = try await publication.get(Cover.href).read(upTo: 1 << 20) }
        #expect(served?.code == (isShown ? nil : .notFound))
        #expect(try await book.plays(license) == 0)
        // the entry itself is content, whatever the manifest calls it
        #expect(try await publication.get(entry.name).read(upTo: 1 << 20) == entry.bytes)
        #expect(try await book.plays(license) == 1)
        publication.close()
    }
}
