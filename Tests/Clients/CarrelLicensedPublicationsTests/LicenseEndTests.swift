// SPDX-License-Identifier: Apache-2.0

import CarrelLicensedPublications
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelTesting
import CarrelTokens
import Testing

struct `The end of a license` {
    /// Every public call that returns bytes of a publication, or takes words out of it, under a license that was removed before.
    ///
    /// - `Publication`: `get(_:)`, `cover()`, `search(_:)`, `content(from:)`; `Resource`: its reads; `ResourceSource`; `UserRights`.
    private static let calls: [(name: String, call: @Sendable (Publication, any Resource) async throws -> Bool)] = [
        ("Resource.read(_:)", { _, resource in try await !resource.read(0..<10).isEmpty }),
        (
            "Resource.read(_:into:)",
            { _, resource in
                var bytes: [UInt8] = []
                try await resource.read(0..<10, into: &bytes)
                return !bytes.isEmpty
            }
        ),
        ("Resource.read(upTo:)", { _, resource in try await !resource.read(upTo: 1 << 20).isEmpty }),
        (
            "Resource.stream(_:pieceSize:_:)",
            { _, resource in
                var count = 0
                try await resource.stream { count += $0.count }
                return count > 0
            }
        ),
        ("Resource.length()", { _, resource in try await resource.length() > 0 }),
        ("Publication.get(_: Link)", { book, _ in try await !book.get(book.readingOrder[0]).read(0..<10).isEmpty }),
        ("Publication.get(_: String)", { book, _ in try await !book.get(book.readingOrder[1].href).read(0..<10).isEmpty }),
        ("Publication.get(_:) of the cover", { book, _ in try await !book.get(Cover.href).read(0..<8).isEmpty }),
        ("Publication.cover()", { book, _ in try await book.cover() != nil }),
        (
            "Publication.search(_:)",
            { book, _ in
                for try await _ in book.search("words") { return true }
                return false
            }
        ),
        (
            "Publication.content(from:)",
            { book, _ in
                for try await _ in book.content() { return true }
                return false
            }
        ),
        ("ResourceSource.read(_:)", { _, resource in try await !ResourceSource(resource).read(0..<10).isEmpty }),
        ("UserRights.copy(_:requestID:)", { book, _ in await book.rights.copy("word", requestID: nil) }),
        ("UserRights.print(pageCount:requestID:)", { book, _ in await book.rights.print(pageCount: 1, requestID: nil) }),
        ("Publication.allowsExport()", { book, _ in await book.allowsExport() }),
        ("Publication.allowsExport(of:)", { book, resource in await book.allowsExport(of: resource.link) }),
    ]

    /// A book with two chapters and a cover, in a DCF.
    private func bookWithCover(_ book: BookWorld) throws -> String {
        let chapter = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><body><p>Words.</p><p>More words.</p></body></html>"
        let clear = try EntryBook.write(
            [
                EntryBook.Entry(name: "two.xhtml", bytes: Array(chapter.utf8)),
                EntryBook.Entry(name: "a.png", type: "image/png", bytes: EntryBook.picture, isPage: false, isCover: true),
            ],
            book
        )
        return book.write("book.dcf", try BookWorld.dcf(try #require(Fixtures.bytes(at: clear))))
    }

    @Test func `stops every call that returns content within two seconds`() async throws {
        let book = try await BookWorld()
        let path = try bookWithCover(book)
        let license = try await book.license()
        let publication = try await book.open(path)
        let resource = publication.get(publication.readingOrder[0])
        for (name, call) in Self.calls { #expect(try await call(publication, resource), "\(name) before") }
        #expect(publication.endReason == nil && publication.canEnd)
        try await book.engine.licenses().remove(license)
        #expect(try await withinTwoSeconds { publication.endReason != nil })
        #expect(publication.endReason == "the license was removed")
        for (name, call) in Self.calls {
            do {
                #expect(try await call(publication, resource) == false, "\(name)")
            } catch {
                let isForbidden = (error as? ResourceError)?.code == .forbidden
                #expect(isForbidden, "\(name): \(error)")
            }
        }
        publication.close()
    }

    @Test func `ends searches, readings and covers that began before`() async throws {
        let book = try await BookWorld()
        let path = try bookWithCover(book)
        let license = try await book.license()
        let publication = try await book.open(path)
        var hits = publication.search("words").makeAsyncIterator()
        var pieces = publication.content().makeAsyncIterator()
        let cover = publication.get(Cover.href)
        // one hit and one piece of the second chapter are left
        for number in 1...2 {
            let (hit, piece) = (try await hits.next(), try await pieces.next())
            #expect(hit != nil && piece != nil, "\(number)")
        }
        #expect(try await cover.read(upTo: 1 << 20) == EntryBook.picture)
        try await book.engine.licenses().remove(license)
        #expect(try await withinTwoSeconds { publication.endReason != nil })
        do {
            _ = try await hits.next()
            Issue.record("a hit after the end")
        } catch { #expect(error.code == .forbidden) }
        do {
            _ = try await pieces.next()
            Issue.record("a piece after the end")
        } catch { #expect(error.code == .forbidden) }
        let ends = [
            await failure { _ = try await cover.read(upTo: 1 << 20) }, await failure { _ = try await publication.cover() },
        ]
        #expect(ends.map { $0?.code } == [.forbidden, .forbidden])
        publication.close()
    }

    /// The public functions of the product that return no content.
    private static let others: Set<String> = [
        // the asset's resources are of the calls above; a size and a type
        "open", "allowsExport", "close", "endReason",
    ]

    @Test func `is tested for every public function of the product`() async throws {
        let folder = Repository.folder(of: "CarrelLicensedPublications")
        let lines = try await checkProcess(["grep", "-rhoE", "--include=*.swift", "public (static )?func [A-Za-z]+", folder])
        let names = Set(lines.split(separator: "\n").map { String($0.split(separator: " ").last ?? "") })
        let tested = Set(Self.calls.map { String($0.name.split(separator: ".").last?.prefix { $0.isLetter } ?? "") })
        #expect(names.isSuperset(of: ["read", "open"]))
        #expect(names.subtracting(tested).subtracting(Self.others).isEmpty)
    }

    @Test func `reaches pages that are drawn from a copy of a document`() async throws {
        _ = try requirePeer("pdftoppm")
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(BookWorld.pdf, type: "application/pdf"))
        let license = try await book.license { $0.conditions.copyCharacters = 5 }
        let publication = try await book.open(path)
        let resource = publication.get(publication.readingOrder[0])
        let document = try await RenderedDocument(resource)
        #expect(try await !document.picture(of: 1, size: 800).isEmpty)
        #expect(try await !document.words(of: 1).blocks.isEmpty)
        try await book.engine.licenses().remove(license)
        #expect(try await withinTwoSeconds { publication.endReason != nil })
        #expect(await failure { _ = try await document.picture(of: 2, size: 800) }?.code == .forbidden)
        #expect(await failure { _ = try await document.words(of: 2) }?.code == .forbidden)
        #expect(await failure { _ = try await resource.read(0..<10) }?.code == .forbidden)
        publication.close()
    }
}
