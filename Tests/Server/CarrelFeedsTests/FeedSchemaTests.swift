// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelWorks
import CarrelXML
import Testing

/// Every feed of OPDS 1 and of an edition's pages against grammars of Atom (RFC 4287) and OPDS 1.2 in RELAX NG, which lie in
/// `Tests/Schemas`, and in the eyes of a reader that is not ours.
struct `Every feed of Atom` {
    private static let atomType = "application/atom+xml"

    /// A catalogue with all there is: free and paid, a sample, covers, a draft, what was withdrawn, names that are hard to write.
    private func service(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> TestService {
        let test = try await TestService(.silence, with: .feeds, configure)
        try await test.ingest(EditionFiles.folder(test.directory), "com.example.7", samples: ["pages/2.html"])
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "a&b") { $0.price = .free }
        try await test.ingest(test.directory.write("x.pdf", EditionFiles.pdf), "draft") { $0.isDraft = true }
        try await test.ingest(test.directory.write("y.epub", EditionFiles.epub([.init("y", "y")])), "gone") { $0.price = .free }
        for number in 0..<30 {
            var metadata = TitleMetadata(title: number == 3 ? "<&\"']]>\u{1}\u{202e}\u{fffe}🏴" : "Title \(number)")
            if number.isMultiple(of: 2) { (metadata.authors, metadata.language) = (["Æ & Ø", "B"], "da-DK") }
            try await test.add(product: number == 5 ? "a:b/c d?é" : "p\(number)", metadata: metadata, issued: -number)
        }
        test.clock.advance(by: .seconds(60))
        _ = try await test.service.editions.withdraw("gone", by: .operator)
        return test
    }

    private func validate(_ document: [UInt8], _ grammar: String, _ test: TestService) async throws -> ProcessResult {
        let lint = try requirePeer("xmllint")
        let path = test.directory.write("feed.xml", document)
        return try await runProcess([
            lint, "--noout", "--nonet", "--relaxng", "\(Repository.path)/Tests/Schemas/\(grammar).rng", path,
        ])
    }

    /// Follows each link to a feed, from the root, the drafts, searches and a reader's shelf.
    private func crawl(_ test: TestService) async throws -> [(target: String, document: [UInt8])] {
        let account = try await test.service.desk.create("alice", by: .operator)
        let password = try await test.service.appPasswords.create(for: account, name: "x", scopes: [.opds], by: .operator).text
        let (_, key) = try await test.service.accounts.createServiceKey(name: "shop", role: .service)
        var waiting = [
            "/opds/v1", "/opds/v1?limit=7", "/opds/v1/search?q=title", "/opds/v1/search?q=%3C%26%22", "/opds/v1/search?q=nothing",
            "/opds/v1/shelf", "/opds/v1/drafts",
        ]
        var (seen, found): (Set<String>, [(target: String, document: [UInt8])]) = ([], [])
        while let target = waiting.popLast() {
            guard seen.insert(target).inserted, seen.count < 500 else { continue }
            let credentials = target.hasPrefix("/opds/v1/drafts") ? "Bearer \(key)" : basic("alice", password)
            let answer = try await test.send(.get, target, headers: ["Authorization": credentials])
            #expect(answer.status == 200, "\(target)")
            #expect(answer.headers["Content-Type"]?.hasPrefix(Self.atomType) == true, "\(target)")
            found.append((target, answer.body))
            let feed = try XMLElement.parse(answer.body.rawSpan)
            for link in feed.all("link") + feed.all("entry").flatMap({ $0.all("link") })
            where link["type"]?.hasPrefix(Self.atomType) == true && link["href"]?.hasPrefix("http://localhost/") == true {
                waiting.append(String((link["href"] ?? "").dropFirst("http://localhost".count)))
            }
        }
        return found
    }

    @Test func `is of the grammar of OPDS, or of Atom where it is an edition's`() async throws {
        let test = try await service()
        let found = try await crawl(test)
        var (pages, tombstones, entries) = (0, 0, 0)
        for (target, document) in found {
            let isOfPages = target.hasSuffix("/content.xml")
            let said = try await validate(document, isOfPages ? "edition" : "opds", test)
            #expect(said.status.isSuccess, "\(target): \(said.errorText)")
            let feed = try XMLElement.parse(document.rawSpan)
            AtomRules.checkWhole(feed)
            if isOfPages { pages += 1 } else { AtomRules.check(feed) }
            tombstones += feed.all("deleted-entry").count
            entries += feed.all("entry").count
        }
        let places = ["?after=", "limit=7", "/search?q=title", "q=nothing", "/shelf", "/drafts", "/content.xml"]
        for place in places { #expect(found.contains { $0.target.contains(place) }, "\(place)") }
        #expect(found.count >= 12 && pages == 1 && tombstones >= 3 && entries > 120, "\(found.count) \(tombstones) \(entries)")
    }

    /// Defects that we could introduce in a feed: texts and their replacements.
    private static let defects: [(String, String)] = [
        ("<updated>", "<!-- --><dcterms:updated>"), ("</updated>", "</updated><updated>2026-01-01T00:00:00Z</updated>"),
        ("Z</updated>", "</updated>"), ("Z</updated>", "z</updated>"), ("<updated>2", "<updated>two "),
        ("<title>", "<title type=\"plain\">"),
        ("<id>urn:uuid:", "<id>"), ("<author>", "<author><name>x</name>"), ("<author>", "<author><email>x</email>"),
        (" rel=\"self\"", ""), (" rel=\"self\"", " rel=\"me\""), ("rel=\"search\"", "rel=\"next\""),
        ("profile=opds-catalog;kind=acquisition", "profile=opds-catalog"), (" href=\"http://", " href=\""),
        (" href=\"http://localhost/", " href=\"http://local host/"), ("<entry>", "<entry><id>x</id>"),
        ("<entry>", "<entry><subtitle>x</subtitle>"), ("<entry>", "<entry><dcterms:title>x</dcterms:title>"),
        ("<dcterms:issued>", "<dcterms:issued>x"), ("<entry><id>", "<entry><id></id><id>"),
        ("http://opds-spec.org/acquisition/buy", "http://opds-spec.org/acquisition/sell"),
        ("\"http://opds-spec.org/acquisition/buy\"", "\"buy\""), ("image/png", "image/webp"), ("image/png", "png"),
        (" when=\"", " at=\""), (" when=\"2", " when=\"yesterday 2"), ("<at:deleted-entry ref=\"", "<at:deleted-entry id=\""),
        ("type=\"signin\"", "type=\"login\""), ("method=\"POST\"", "method=\"PUT\""), ("<pp:endpoint", "<endpoint"),
        ("</feed>", "<title>x</title></feed>"), ("</feed>", "x</feed>"), ("</feed>", "<link rel=\"up\"/></feed>"),
        ("<app:draft>yes", "<app:draft>maybe"), ("<dcterms:language>da", "<dcterms:language>da dk"),
        ("urn:isbn:", "isbn "), ("<summary type=\"text\">", "<summary type=\"markdown\">"),
    ]

    @Test func `would be refused with a defect`() async throws {
        let test = try await service()
        let found = try await crawl(test)
        let drafts = try #require(found.first { $0.target == "/opds/v1/drafts" }).document
        let root = try #require(found.first { $0.target == "/opds/v1" }).document
        for (number, (text, other)) in Self.defects.enumerated() {
            // The place may be in the one or in the other.
            let whole = [drafts, root].map { String(decoding: $0, as: UTF8.self) }.first { $0.contains(text) }
            let place = try #require(whole?.firstRange(of: text), "\(text)")
            var feed = try #require(whole)
            feed.replaceSubrange(place, with: other)
            if other.contains("<dcterms:updated>") {
                feed = feed.replacing("</updated>", with: "</dcterms:updated>", maxReplacements: 1)
            }
            let said = try await validate(Array(feed.utf8), "opds", test)
            #expect(!said.status.isSuccess && said.errorText.contains("fails to validate"), "\(number): \(text) as \(other)")
        }
        let count = try #require(found.first { $0.target.hasSuffix("q=title") }).document
        let negative = String(decoding: count, as: UTF8.self).replacing(
            "<opensearch:totalResults>",
            with: "<opensearch:totalResults>-"
        )
        #expect(try await !validate(Array(negative.utf8), "opds", test).status.isSuccess)
        let pages = try #require(found.first { $0.target.hasSuffix("content.xml") }).document
        let other = String(decoding: pages, as: UTF8.self).replacing("<id>urn:carrel:", with: "<id>7")
        #expect(try await !validate(Array(other.utf8), "edition", test).status.isSuccess)
    }

    /// Reads a feed and the pages after it, and prints what it found.
    private static let reader = """
        import feedparser, json, sys
        url, feeds, entries = sys.argv[1], [], []
        while url:
            read = feedparser.parse(url)
            feeds.append({'bozo': bool(read.bozo), 'why': str(read.get('bozo_exception', '')), 'status': read.get('status'),
                'version': read.version, 'id': read.feed.get('id'), 'title': read.feed.get('title'),
                'updated': read.feed.get('updated_parsed') is not None})
            for entry in read.entries:
                entries.append({'id': entry.get('id'), 'title': entry.get('title'), 'updated': entry.get('updated_parsed') is not None,
                    'authors': [author.get('name') for author in entry.get('authors', [])],
                    'links': [[link.rel, link.type, link.href] for link in entry.links]})
            url = next((link.href for link in read.feed.links if link.rel == 'next'), None)
        print(json.dumps({'feeds': feeds, 'entries': entries}))
        """

    /// A Python that has feedparser: the system's, where another one comes first in PATH.
    private func python() async throws -> String {
        for python in [try requirePeer("python3"), "/usr/bin/python3"]
        where try await runProcess([python, "-c", "import feedparser"]).status.isSuccess {
            return python
        }
        try Test.cancel("python3-feedparser is not installed: nothing to test against")
    }

    @Test func `is read from page to page by another reader, as it was meant`() async throws {
        let python = try await python()
        let test = try await service()
        var configuration = ServerConfiguration()
        configuration.workers = 1
        let server = HTTPServer(configuration: configuration, router: test.service.router)
        let port = try #require(try server.start().first?.port)
        let base = "http://127.0.0.1:\(port)"
        let printed = try await runProcess([python, "-c", Self.reader, "\(base)/opds/v1?limit=7"])
        #expect(printed.status.isSuccess, "\(printed.errorText)")
        let found = try JSON.parse(Array(printed.text.utf8).rawSpan)
        let feeds = found["feeds"]?.array ?? []
        #expect(feeds.count == 5)
        for feed in feeds {
            #expect(
                feed["bozo"] == false && feed["status"] == 200 && feed["version"] == "atom10" && feed["updated"] == true,
                "\(feed)"
            )
            #expect(feed["id"]?.string?.hasPrefix("urn:uuid:") == true && feed["title"] == feeds.first?["title"])
        }
        let entries = found["entries"]?.array ?? []
        #expect(entries.count == 32 && entries.allSatisfy { $0["updated"] == true })
        // It takes a product's id for an address, as RFC 4287 lets it, and those without a scheme for relative ones.
        let ids = Set(entries.compactMap { $0["id"]?.string })
        #expect(ids.isSuperset(of: ["\(base)/opds/a&b", "\(base)/opds/com.example.7", "a:b/c d?é", "\(base)/opds/p29"]))
        let book = try #require(entries.first { $0["id"]?.string?.hasSuffix("a&b") == true })
        #expect(book["title"] == "The <Book>" && book["authors"] == ["Ann Author"])
        let file = JSON.string("\(base)/editions/a%26b/a%26b.epub")
        #expect(book["links"]?.array?.contains(["http://opds-spec.org/acquisition", "application/epub+zip", file]) == true)
        let hard = entries.first { $0["title"]?.string?.contains("]]>") == true }?["title"]?.string
        #expect(hard == "<&\"']]>\u{fffd}\u{202e}\u{fffd}🏴")
        await server.shutdown(grace: .seconds(5))
    }
}
