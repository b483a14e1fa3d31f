// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import CarrelSubscription
import CarrelTesting
import CarrelWorks
import CarrelXML
import Testing

@Suite(.onBothDatabases)
struct `A feed of editions` {
    private let limits = XMLLimits(bytes: 64 << 20, elements: 1_000_000)

    /// A paid magazine with a sample, a free book with a cover, a draft.
    private func service() async throws -> TestService {
        let test = try await TestService(.silence, with: .feeds) { $0.stream.publicURL = "https://books.example.org" }
        try await test.ingest(EditionFiles.folder(test.directory), "com.example.7", samples: ["pages/2.html"])
        test.clock.advance(by: .seconds(60))
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "a&b") { $0.price = .free }
        try await test.ingest(test.directory.write("x.pdf", EditionFiles.pdf), "draft") { $0.isDraft = true }
        return test
    }

    private func atom(_ test: TestService, _ target: String, headers: HTTPFields = [:]) async throws -> XMLElement {
        let answer = try await test.send(.get, target, headers: headers)
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "application/atom+xml;profile=opds-catalog;kind=acquisition")
        let root = try XMLElement.parse(answer.body.rawSpan, limits: limits)
        AtomRules.check(root)
        return root
    }

    private func json(_ test: TestService, _ target: String, type: String = "application/opds+json") async throws -> JSON {
        let answer = try await test.send(.get, target)
        #expect(answer.status == 200, "\(target)")
        #expect(answer.headers["Content-Type"] == type)
        let document = try JSON.parse(answer.body.rawSpan)
        if type == "application/opds+json" { OPDSRules.check(feed: document) } else { OPDSRules.check(publication: document) }
        return document
    }

    @Test func `of OPDS 1 says what apps need of each edition, and where they sign in`() async throws {
        let test = try await service()
        let feed = try await atom(test, "/opds/v1")
        let entries = feed.all("entry")
        #expect(entries.map { $0.child("id")?.text } == ["a&b", "com.example.7"], "the newest issue first, no drafts")
        let (free, paid) = (entries[0], entries[1])
        #expect(free.link("http://opds-spec.org/acquisition")?["href"] == "https://books.example.org/editions/a%26b/a%26b.epub")
        #expect(free.link("http://opds-spec.org/acquisition")?["type"] == "application/epub+zip")
        #expect(free.link("http://opds-spec.org/image")?["type"] == "image/png")
        let manifest = "https://books.example.org/editions/com.example.7/-/manifest.xml"
        for relation in ["http://opds-spec.org/acquisition/buy", "alternate"] {
            #expect(paid.link(relation)?["href"] == manifest)
            #expect(paid.link(relation)?["type"] == "application/pugpigpkg+xml")
        }
        #expect(paid.link("http://opds-spec.org/acquisition") == nil)
        #expect(
            paid.link("http://opds-spec.org/acquisition/sample")?["href"]?.hasSuffix("/editions/com.example.7/content.xml")
                == true
        )
        #expect(paid.child("issued")?.name.namespace == "http://purl.org/dc/terms/")
        #expect(feed.child("updated")?.text == entries.compactMap { $0.child("updated")?.text }.max())
        let provider = feed.child("authorisation")?.child("authorisationprovider")
        #expect(provider?.name.namespace == "http://pugpig.com/2014/atom/")
        let endpoints = provider?.children ?? []
        #expect(endpoints.map { $0["type"] } == ["signin", "verify", "editioncredentials", "renewtoken", "signout"])
        #expect(
            endpoints.allSatisfy { $0["method"] == "POST" && $0["template"]?.hasPrefix("https://books.example.org/") == true }
        )
    }

    @Test func `tells apps to forget what was withdrawn`() async throws {
        let test = try await service()
        test.clock.advance(by: .seconds(60))
        _ = try await test.service.editions.withdraw("com.example.7", by: AuditActor("operator"))
        let feed = try await atom(test, "/opds/v1")
        let tombstone = feed.all("deleted-entry").first
        #expect(tombstone?.name.namespace == "http://purl.org/atompub/tombstones/1.0")
        #expect(tombstone?["ref"] == "com.example.7")
        #expect(tombstone?["when"] == test.clock.now.description)
        #expect(feed.child("updated")?.text == test.clock.now.description)
        #expect(feed.all("entry").count == 1)
    }

    @Test func `shows drafts only to back offices, at an address of its own, and is not cached there`() async throws {
        let test = try await service()
        #expect(try await test.send(.get, "/opds/v1/drafts").status == 401)
        let (_, key) = try await test.service.accounts.createServiceKey(name: "shop", role: .service)
        let headers: HTTPFields = ["Authorization": "Bearer \(key)"]
        let entry = try await atom(test, "/opds/v1/drafts", headers: headers).all("entry").first {
            $0.child("id")?.text == "draft"
        }
        #expect(entry?.child("control")?.child("draft")?.text == "yes")
        #expect(entry?.child("control")?.name.namespace == "http://www.w3.org/2007/app")
        let answer = try await test.send(.get, "/opds/v1/drafts", headers: headers)
        #expect(answer.headers["Cache-Control"] == "private, no-store")
        #expect(answer.headers["Vary"] == "Authorization")
    }

    @Test func `is the same until something changes, and says so`() async throws {
        let test = try await service()
        for target in ["/opds/v1", "/opds/v2", "/opds/authentication", "/opds/v1/search.xml"] {
            let first = try await test.send(.get, target)
            let tag = try #require(first.headers["ETag"])
            #expect(first.headers["Cache-Control"] == "public, max-age=60")
            #expect(first.headers["Vary"] == nil)
            #expect(try await test.send(.get, target, headers: ["If-None-Match": tag]).status == 304)
        }
        let tag = try #require(try await test.send(.get, "/opds/v1").headers["ETag"])
        test.clock.advance(by: .seconds(1))
        _ = try await test.service.editions.publish("draft", by: AuditActor("operator"))
        #expect(try await test.send(.get, "/opds/v1", headers: ["If-None-Match": tag]).status == 200)
    }

    @Test func `leads from page to page through all of a large catalog, once each`() async throws {
        let test = try await TestService(.silence, with: .feeds)
        let count = 260
        for number in 0..<count {
            try await test.add(product: "p\(number)", metadata: TitleMetadata(title: "Title \(number)"), issued: number / 3)
        }
        for (start, relation) in [("/opds/v1?limit=37", "next"), ("/opds/v1/search?q=title", "next")] {
            var (seen, next): ([String], String?) = ([], start)
            while let target = next {
                let feed = try await atom(test, target)
                seen += feed.all("entry").compactMap { $0.child("id")?.text }
                next = feed.link(relation)?["href"].map { String($0.dropFirst("http://localhost".count)) }
            }
            #expect(seen.count == count && Set(seen).count == count, "\(start)")
        }
        var (seen, next): ([String], String?) = ([], "/opds/v2")
        while let target = next {
            let feed = try await json(test, target)
            #expect(feed["metadata"]?["numberOfItems"]?.int == count)
            seen += (feed["publications"]?.array ?? []).compactMap { $0["metadata"]?["title"]?.string }
            next = feed["links"]?.array?.first { $0["rel"] == "next" }?["href"]?.string.map { String($0.dropFirst(16)) }
        }
        #expect(seen.count == count && Set(seen).count == count)
    }

    @Test func `of OPDS 2 has publications with links to what readers can open, and says how to sign in`() async throws {
        let test = try await service()
        let feed = try await json(test, "/opds/v2")
        #expect(feed["metadata"]?["numberOfItems"]?.int == 2)
        let publications = feed["publications"]?.array ?? []
        #expect(publications.map { $0["metadata"]?["title"]?.string } == ["The <Book>", "Issue & Co"])
        #expect(publications.first?["metadata"]?["identifier"] == "urn:isbn:9780306406157")
        let links = publications.flatMap { $0["links"]?.array ?? [] }
        let open = links.first { $0["rel"] == "http://opds-spec.org/acquisition/open-access" }
        #expect(open?["href"] == "https://books.example.org/opds/v2/editions/a%26b/a%26b.epub")
        let paid = links.first { $0["rel"] == "http://opds-spec.org/acquisition" }
        #expect(paid?["properties"]?["authenticate"]?["type"] == "application/opds-authentication+json")
        #expect(publications.allSatisfy { $0["images"]?.array?.isEmpty == false })
        let selfLink = links.first { $0["rel"] == "self" }?["href"]?.string ?? ""
        let one = try await json(test, String(selfLink.dropFirst(25)), type: "application/opds-publication+json")
        #expect(one == publications.first)
        #expect(try await test.send(.get, "/opds/v2/publications/draft").status == 404)
    }

    @Test func `is searched and narrowed down`() async throws {
        let test = try await service()
        try await test.add(
            product: "percent",
            metadata: {
                var made = TitleMetadata(title: "100% Wool_en")
                made.language = "da-DK"
                made.authors = ["ÆBLE Ø"]
                return made
            }()
        )
        func titles(_ target: String) async throws -> [String] {
            (try await json(test, target)["publications"]?.array ?? []).compactMap { $0["metadata"]?["title"]?.string }
        }
        for (query, found) in [
            ("query=BOOK", 1), ("query=ann%20book", 1), ("query=ann%20issue", 0), ("query=%25", 1), ("query=_", 1),
            ("query=wool!", 0),
            ("title=issue", 1), ("author=writer", 1), ("author=issue", 0), ("author=%C3%A6ble", 1), ("", 3), ("kind=ebook", 1),
            ("kind=edition&price=free", 0), ("price=free", 1), ("language=da", 2), ("query=9780306406157", 1),
            ("query=com.example", 1),
        ] {
            #expect(try await titles("/opds/v2/search?\(query)").count == found, "\(query)")
        }
        #expect(try await test.send(.get, "/opds/v2?kind=audiobook").status == 400)
        #expect(try await test.send(.get, "/opds/v2?page=0").status == 400)
        let facets = try await json(test, "/opds/v2?price=paid")["facets"]?.array ?? []
        let price = facets.first { $0["metadata"]?["title"] == "Price" }?["links"]?.array ?? []
        #expect(price.map { $0["title"]?.string } == ["All", "Free", "For subscribers"])
        #expect(price.map { $0["properties"]?["numberOfItems"]?.int } == [3, 1, 2])
        #expect(price.map { $0["rel"]?.string } == [nil, nil, "self"])
        for link in facets.flatMap({ $0["links"]?.array ?? [] }) {
            let target = link["href"]?.string?.dropFirst("https://books.example.org".count) ?? ""
            let count = try await json(test, String(target))["metadata"]?["numberOfItems"]?.int
            #expect(count == link["properties"]?["numberOfItems"]?.int)
        }
    }

    @Test func `stays whole whatever titles and products are called`() async throws {
        let test = try await TestService(.silence, with: .feeds)
        var random = SystemRandomNumberGenerator()
        let pieces = [
            "<", ">", "&", "\"", "'", "]]>", "<!--", "-->", "--", "&amp;", "&#0;", "\u{1}", "\u{7f}", "\u{85}", "\u{fffe}",
            "\u{202e}",
            "é", "e\u{301}", "👩‍👩‍👧", "{", "}", "%", "%2F", "?", "#", ":", ";", "=", "+", "\\u0000", "../", "\t", "\n", "\r\n", "a",
        ]
        func hostile() -> String {
            (0..<Int.random(in: 1...12, using: &random)).map { _ in pieces.randomElement() ?? "" }.joined()
        }
        var (titles, refused): ([String: String], Set<String>) = ([:], [])
        while titles.count < 10_000 {
            let id = hostile()
            if EditionOptions.fault(inProductID: id) != nil {
                if refused.count < 10_000 { refused.insert(id) }
            } else if titles[id] == nil {
                titles[id] = hostile()
            }
        }
        try await test.add(titles)
        var (seen, next): (Set<String>, String?) = ([], "/opds/v1?limit=1000")
        while let target = next {
            let feed = try await atom(test, target)
            for entry in feed.all("entry") {
                let id = entry.child("id")?.text ?? ""
                let isNew = seen.insert(id).inserted
                #expect(isNew && entry.child("title")?.text == titles[id].map(AtomRules.written))
            }
            next = feed.link("next")?["href"].map { String($0.dropFirst("http://localhost".count)) }
        }
        #expect(seen == Set(titles.keys))
        _ = try await json(test, "/opds/v2")
        for id in titles.keys.prefix(300) {
            let publication = try await json(
                test,
                "/opds/v2/publications/\(PercentEncoding.encode(id))",
                type: "application/opds-publication+json"
            )
            #expect(ExactBytes(publication["metadata"]?["title"]?.string) == ExactBytes(titles[id]))
            let links = publication["links"]?.array?.compactMap { $0["href"]?.string } ?? []
            let target =
                links.first { $0.contains("/opds/v2/editions/") }.map { String($0.dropFirst("http://localhost".count)) } ?? ""
            #expect(try await test.send(.get, target).status == 500, "its product is found, which has no content: \(target)")
        }
        for id in refused.prefix(1000) {
            let target = "/editions/\(PercentEncoding.encode(id))/"
            // A server refuses such a path before anything asks what it means.
            guard (try? RequestPath(parsing: target)) != nil else { continue }
            let status = try await test.send(.get, target).status
            #expect([400, 404].contains(status), "\(id.debugDescription): \(status)")
        }
    }

    @Test func `is well-formed for another reader, and every link in it leads somewhere`() async throws {
        let test = try await service()
        let lint = try requirePeer("xmllint")
        let reader = try await test.service.desk.create("alice", by: AuditActor("operator"))
        let password = try await test.service.appPasswords.create(
            for: reader,
            name: "reader",
            scopes: [.opds],
            by: AuditActor("operator")
        ).text
        let credentials = "Basic \(Base64.encode("alice:\(password)"))"
        var (waiting, seen): ([String], Set<String>) = (["/opds/v1", "/opds/v2"], [])
        while let target = waiting.popLast() {
            guard seen.insert(target).inserted else { continue }
            #expect(seen.count < 500)
            let answer = try await test.send(.get, target, headers: ["Authorization": credentials])
            #expect([200, 302, 401, 403].contains(answer.status), "\(target): \(answer.status)")
            let isDocument = !target.hasPrefix("/editions") && !target.hasPrefix("/opds/v2/editions")
            if isDocument { #expect(answer.status == 200, "\(target)") }
            let type = answer.headers["Content-Type"] ?? ""
            if type.contains("json"), answer.status == 200 {
                func walk(_ value: JSON) {
                    if let address = value["href"]?.string, value["templated"] == nil {
                        waiting.append(String(address.dropFirst("https://books.example.org".count)))
                    }
                    for (_, member) in value.object ?? [:] { walk(member) }
                    for element in value.array ?? [] { walk(element) }
                }
                walk(try JSON.parse(answer.body.rawSpan))
            } else if type.contains("xml"), answer.status == 200 {
                let path = test.directory.write("feed.xml", answer.body)
                try await checkProcess([lint, "--noout", "--nonet", path])
                guard isDocument else { continue }
                func walk(_ element: XMLElement) {
                    if element.name.local == "link", let address = element["href"] {
                        waiting.append(String(address.dropFirst("https://books.example.org".count)))
                    }
                    element.children.forEach(walk)
                }
                walk(try XMLElement.parse(answer.body.rawSpan, limits: limits))
            }
        }
        #expect(seen.count > 20)
    }
}

private struct ExactBytes: Equatable {
    let bytes: [UInt8]?
    init(_ text: String?) { bytes = text.map { Array($0.utf8) } }
}
