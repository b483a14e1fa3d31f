// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

@testable import CarrelWebReader

@Suite("The server of the web reader")
struct ReaderServerTests {
    private let directory = TemporaryDirectory()
    private let client = HTTPClient()

    private var folder: String { directory.file("reader") }

    /// Starts a reader, and does something with the address of its page and what that is told to begin with.
    private func withReader(
        _ book: TestBook,
        isCounted: Bool = false,
        recordLimit: Int = ReadingRecords.sizeLimit,
        _ body: (_ address: String, _ beginning: JSON) async throws -> Void
    ) async throws {
        let protection = StatedProtection(rights: CountedRights(characters: 10, pages: 1))
        let publication = try await book.open(isCounted ? StatedProtection.adding(protection) : nil)
        let reader = try await WebReader(publication, folder: folder, recordLimit: recordLimit, poppler: Poppler())
        let address = try reader.start()
        do {
            try await body(address, try await beginning(address))
        } catch {
            await reader.stop()
            throw error
        }
        await reader.stop()
        publication.close()
    }

    private func beginning(_ address: String) async throws -> JSON {
        let bytes = try await client.send(ClientRequest(.get, address + "book")).body
        return try JSON.parse(bytes.rawSpan)
    }

    private func origin(_ address: String) -> String { "http://\(address.split(separator: "/")[1])" }

    private func get(_ url: String, as destination: String? = nil) async throws -> ClientResponse {
        var request = ClientRequest(.get, url)
        if let destination { request.headers["Sec-Fetch-Dest"] = destination }
        return try await client.send(request)
    }

    private func put(_ address: String, _ number: Int, quote: String) async throws -> HTTPStatus {
        try await answer(address, number, quote: quote).status
    }

    /// The result of storing an annotation: the status, and for a problem (RFC 9457) its code and its sentence.
    private func answer(
        _ address: String,
        _ number: Int,
        quote: String
    ) async throws -> (status: HTTPStatus, code: String?, detail: String?) {
        try await answer(.put, "\(address)annotations/urn:test:\(number)", annotation(number, quote))
    }

    private func annotation(_ number: Int, _ quote: String) -> JSON {
        [
            "type": "Annotation", "id": .string("urn:test:\(number)"),
            "target": [
                "source": "EPUB/chapter1.xhtml", "selector": ["type": "TextQuoteSelector", "exact": .string(quote)],
            ],
        ]
    }

    private func answer(
        _ method: HTTPMethod,
        _ url: String,
        _ json: JSON
    ) async throws -> (status: HTTPStatus, code: String?, detail: String?) {
        let request = ClientRequest(method, url, headers: ["Content-Type": "application/json"], body: .bytes(json.write()))
        let response = try await client.send(request)
        guard response.headers["Content-Type"] == "application/problem+json" else { return (response.status, nil, nil) }
        let bytes = response.body
        let problem = try JSON.parse(bytes.rawSpan)
        return (response.status, problem["code"]?.string, problem["detail"]?.string)
    }

    @Test func `searches documents outside the reading order, too, after the others`() async throws {
        var book = TestBook.sentences(chapters: 2, paragraphs: 1)
        book.chapters[1].body += "<p>m&#225;s</p>"
        book.asides = [("notes 1.xhtml", "<p id=\"mark\">más São</p>")]
        try await withReader(book) { address, _ in
            func found(_ query: String) async throws -> [String] {
                let bytes = try await client.send(ClientRequest(.get, address + "search?query=\(query)")).body
                return (try JSON.parse(bytes.rawSpan)["locators"]?.array ?? []).compactMap { $0["href"]?.string }
            }
            let both = try await found("m%C3%A1s")
            #expect(both == ["EPUB/chapter2.xhtml", "EPUB/notes%201.xhtml"])
            let beside = try await found("s%C3%A3o")
            #expect(beside == ["EPUB/notes%201.xhtml"])
            // the contents hold it, too
            let none = try await found("Aside")
            #expect(none == [])
        }
    }

    @Test func `gives documents to its own frames, and to no window`() async throws {
        try await withReader(TestBook.sentences(chapters: 1, paragraphs: 2)) { address, book in
            for base in ["pages", "publication"] {
                let url = origin(address) + (try #require(book[base]?.string)) + "EPUB/chapter1.xhtml"
                let status1 = try await get(url, as: "document").status
                #expect(status1 == .forbidden, "\(base)")
                let status2 = try await get(url, as: "empty").status
                #expect(status2 == .ok, "\(base)")
                // only what is below `pages` has the script
                let status3 = try await get(url, as: "iframe").status
                #expect(status3 == (base == "pages" ? .ok : .forbidden), "\(base)")
            }
            let status4 = try await get(address, as: "document").status
            #expect(status4 == .ok)
        }
    }

    @Test func `gives nothing to programs without the token of each kind of address, and says 404 to those with it`() async throws
    {
        try await withReader(TestBook.sentences(chapters: 1, paragraphs: 2)) { address, book in
            let pages = try #require(book["pages"]?.string)
            let documents = try #require(book["documents"]?.string)
            let page = "/" + address.split(separator: "/").dropFirst(2).joined(separator: "/") + "/"
            let kinds = ["read": page, "page": pages, "document": documents]
            for (kind, base) in kinds {
                let none = try await get(origin(address) + base + "none/none")
                #expect(none.status == .notFound, "\(kind)")
                // nothing, and the tokens of the other kinds
                for other in ["/none/", "/", "//"] + kinds.filter({ $0.key != kind }).values.map({ $0 }) {
                    let token = other.split(separator: "/").last.map { "\($0)/" } ?? other.dropFirst()
                    for path in ["", "book", "EPUB/chapter1.xhtml", "none/none"] {
                        let response = try await get("\(origin(address))/\(kind)/\(token)\(path)")
                        #expect(response.status == .forbidden, "\(kind) \(other) \(path)")
                        #expect(response.headers["Content-Type"] == "application/problem+json", "\(kind) \(other) \(path)")
                    }
                }
            }
        }
    }

    private static let script = "src=\"/assets/read-frame.js\""

    @Test func `shows nothing that its script cannot be put into while rights are counted`() async throws {
        var book = TestBook.sentences(chapters: 1, paragraphs: 2)
        let text = "<html><head><title>x</title></head><body><p>Words.</p></body></html>"
        let wide = text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
        book.files["wide.html"] = [0xff, 0xfe] + wide
        book.files["markless.html"] = wide
        book.files["half.html"] = [0xff, 0xfe] + wide.dropLast()
        book.files["late.html"] = Array("<!--\(String(repeating: "-", count: 70_000))-->\(text)".utf8)
        book.files["style.css"] = Array("p { color: red }".utf8)
        book.files["quoted.html"] = Array("<!DOCTYPE html [<!-- it's one quote --><?it's another> ?>]>\(text)".utf8)
        for isCounted in [false, true] {
            try await withReader(book, isCounted: isCounted) { address, beginning in
                let base = origin(address) + (try #require(beginning["pages"]?.string)) + "EPUB/"
                for name in ["half.html", "late.html", "style.css"] {
                    let response = try await get(base + name, as: "iframe")
                    #expect(response.status == (isCounted ? .forbidden : .ok), "\(name)")
                }
                for name in ["chapter1.xhtml", "quoted.html", "wide.html", "markless.html"] {
                    let response = try await get(base + name, as: "iframe")
                    #expect(response.status == .ok, "\(name)")
                    #expect(String(decoding: response.body, as: UTF8.self).contains(Self.script), "\(name)")
                }
                let status5 = try await get(base + "style.css", as: "style").status
                #expect(status5 == .ok)
            }
        }
    }

    @Test func `gives documents in UTF-16 as UTF-8, and says so`() async throws {
        var book = TestBook.sentences(chapters: 1, paragraphs: 1)
        book.chapters[0].body += "<p>más 🦊</p>"
        book.isUTF16 = true
        try await withReader(book) { address, beginning in
            let path = (try #require(beginning["pages"]?.string)) + "EPUB/chapter1.xhtml"
            let response = try await get(origin(address) + path, as: "iframe")
            #expect(response.headers["Content-Type"] == "application/xhtml+xml;charset=utf-8")
            let text = try #require(String(validating: response.body, as: UTF8.self))
            #expect(text.hasPrefix("<?xml version=\"1.0\" encoding='UTF-8'?>"))
            #expect(text.contains(Self.script) && text.hasSuffix("<p>más 🦊</p></body></html>"))
            // responses to programs are unchanged
            let plain = try await get(origin(address) + (try #require(beginning["publication"]?.string)) + "EPUB/chapter1.xhtml")
            #expect(plain.body.starts(with: [0xff, 0xfe]))
        }
    }

    @Test func `counts positions without making them`() async throws {
        final class Counts: PositionsService {
            func positionsByReadingOrder() async throws(ResourceError) -> [[Locator]] {
                throw ResourceError(.malformed, "positions are made")
            }
            func positionCountsByReadingOrder() async throws(ResourceError) -> [Int] { [7, 8] }
        }
        let publication = try await TestBook.sentences(chapters: 2, paragraphs: 1).open {
            $0.services.set((any PositionsService).self) { _ in Counts() }
        }
        let reader = try await WebReader(publication, folder: folder, poppler: Poppler())
        let beginning = try await beginning(try reader.start())
        #expect(beginning["positions"] == [7, 8])
        await reader.stop()
        publication.close()
    }

    @Test func `lets no browser keep what was protected`() async throws {
        for isCounted in [false, true] {
            try await withReader(TestBook.sentences(chapters: 1, paragraphs: 2), isCounted: isCounted) { address, book in
                for base in ["pages", "publication"] {
                    let url = origin(address) + (try #require(book[base]?.string)) + "EPUB/chapter1.xhtml"
                    let kept = try await get(url).headers["Cache-Control"]
                    #expect(kept == (isCounted ? "no-store" : "private, no-cache"), "\(base)")
                }
            }
        }
    }

    @Test func `has two tags for a drawing with the script and without`() async throws {
        var book = TestBook.sentences(chapters: 1, paragraphs: 2)
        book.files["drawing.svg"] = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"><text>x</text></svg>".utf8)
        try await withReader(book) { address, beginning in
            let url = origin(address) + (try #require(beginning["pages"]?.string)) + "EPUB/drawing.svg"
            let shown = try await get(url, as: "iframe")
            let drawn = try await get(url, as: "image")
            #expect(String(decoding: shown.body, as: UTF8.self).contains(Self.script))
            #expect(!String(decoding: drawn.body, as: UTF8.self).contains(Self.script))
            #expect(shown.headers["ETag"] != nil && shown.headers["ETag"] != drawn.headers["ETag"])
            #expect(shown.headers["Vary"]?.contains("Sec-Fetch-Dest") == true)
            #expect(drawn.headers["Vary"]?.contains("Sec-Fetch-Dest") == true)
        }
    }

    @Test func `measures what it keeps in bytes`() async throws {
        try await withReader(TestBook.sentences(chapters: 1, paragraphs: 2)) { address, _ in
            // one character to a reader
            let tall = "e" + String(repeating: "\u{301}", count: 50_000)
            #expect(tall.count == 1)
            let refused = try await answer(address, 1, quote: tall)
            #expect(refused.status == .badRequest && refused.code == "reader.annotations")
            #expect(refused.detail?.contains("more than 64000 bytes") == true)
            let status7 = try await put(address, 2, quote: String(repeating: "\u{20ac}", count: 20_000))
            #expect(status7 == .noContent)
        }
    }

    @Test func `refuses what would make the file of notes too long, and keeps the place all the same`() async throws {
        let book = TestBook.sentences(chapters: 1, paragraphs: 2)
        try await withReader(book, recordLimit: 3000) { address, _ in
            var statuses: [HTTPStatus] = []
            for number in 0..<4 { statuses.append(try await put(address, number, quote: String(repeating: "x", count: 1000))) }
            #expect(statuses == [.noContent, .noContent, .contentTooLarge, .contentTooLarge])
            let refused = try await answer(address, 5, quote: String(repeating: "x", count: 1000))
            #expect(refused.code == "reader.annotations" && refused.detail?.contains("are not kept") == true)
            // an import is stored completely or not at all
            let many = JSON.array((10..<14).map { annotation($0, String(repeating: "y", count: 300)) })
            let imported = try await answer(.post, "\(address)annotations", many)
            #expect(imported.status == .contentTooLarge && imported.code == "reader.annotations")
            let place: JSON = ["href": "EPUB/chapter1.xhtml", "type": "application/xhtml+xml", "locations": ["progression": 0.5]]
            let request = ClientRequest(
                .put,
                "\(address)place",
                headers: ["Content-Type": "application/json"],
                body: .bytes(place.write())
            )
            let status = try await client.send(request).status
            #expect(status == .noContent)
            let record = try #require(try await beginning(address)["record"])
            #expect(record["annotations"]?.array?.count == 2)
            #expect(record["place"]?["locations"]?["progression"]?.double == 0.5)
        }
    }

    @Test func `loses no note when two readers write concurrently`() async throws {
        let book = TestBook.sentences(chapters: 1, paragraphs: 2)
        try await withReader(book) { first, _ in
            try await withReader(book) { second, _ in
                try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
                    for number in 0..<60 {
                        group.addTask { try await put(number.isMultiple(of: 2) ? first : second, number, quote: "Sentence") }
                    }
                    for try await status in group { #expect(status == .noContent) }
                }
                let record = try #require(try await beginning(first)["record"])
                #expect(record["annotations"]?.array?.count == 60)
            }
        }
    }

    @Test func `keeps notes of two publications with one identifier apart`() async throws {
        try await withReader(TestBook.sentences(chapters: 1, paragraphs: 2)) { address, _ in
            let status8 = try await put(address, 1, quote: "Sentence")
            #expect(status8 == .noContent)
        }
        try await withReader(TestBook.sentences(chapters: 2, paragraphs: 2)) { _, book in
            #expect(book["record"]?["annotations"]?.array?.isEmpty == true)
        }
        try await withReader(TestBook.sentences(chapters: 1, paragraphs: 2)) { _, book in
            #expect(book["record"]?["annotations"]?.array?.count == 1)
        }
    }
}
