// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelPublication
import CarrelTesting
import FoundationEssentials
import Testing

@Suite("The code of the documentation")
struct BookshelfTests {
    private let directory = TemporaryDirectory()

    private var path: String { directory.write("book.epub", MadeArchive.epub().bytes) }

    @Test func `opens a book and reads its chapters`() async throws {
        let publication = try await openBook(at: path) { _ in nil }
        defer { publication.close() }
        #expect(outline(of: publication) == ["One"])
        #expect(try await lengths(of: publication).map(\.byteCount) == [7])
        #expect(try await beginning(of: "EPUB/c.xhtml", in: publication) == Array("<html/>".utf8))
        #expect(try await countBytes(of: publication.readingOrder[0], in: publication) == 7)
    }

    @Test func `finds words with the text around them`() async throws {
        let chapter = Array("<html><body><p>Call me Ishmael.</p></body></html>".utf8)
        let path = directory.write("words.epub", MadeArchive.epub(["EPUB/c.xhtml": chapter]).bytes)
        let publication = try await openBook(at: path) { _ in nil }
        defer { publication.close() }
        let lines = try await results(of: "ISHMAEL", in: publication, limit: 5)
        #expect(lines.count == 1)
        #expect(lines.first?.contains("Call me Ishmael.") ?? false)
        #expect(try await results(of: "Ahab", in: publication, limit: 5).isEmpty)
    }

    @Test func `reads a book at a URL as data`() async throws {
        #expect(try await coverData(at: URL(filePath: path)) == nil)
        let publication = try await openBook(at: path) { _ in nil }
        defer { publication.close() }
        #expect(try await data(of: "EPUB/c.xhtml", in: publication) == Data("<html/>".utf8))
    }

    @Test func `lists a book without asking for a password`() async throws {
        let entry = try await shelfEntry(at: path)
        #expect(entry.title == "Book")
        #expect(!entry.isRestricted)
        #expect(entry.cover == nil)
    }

    @Test func `downloads a book and opens it`() async throws {
        var router = Router()
        router.on(.get, "/book.epub") { _, _ in .bytes(MadeArchive.epub().bytes, type: "application/epub+zip") }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let base = "http://127.0.0.1:\(try #require(try server.start().first?.port))"
        let copy = directory.file("copy.epub")
        let book = try await download("\(base)/book.epub", to: copy, client: HTTPClient())
        #expect(book.metadata.title == "Book")
        book.close()
        let error = await #expect(throws: Publication.OpeningError.self) {
            try await download("\(base)/other.epub", to: copy, client: HTTPClient())
        }
        #expect(error?.code == .unavailable)
        await server.shutdown(grace: .zero)
    }
}
