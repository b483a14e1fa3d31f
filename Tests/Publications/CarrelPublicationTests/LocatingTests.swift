// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import FoundationEssentials
import Testing

@testable import CarrelPublication

@Suite("A place in a publication")
struct LocatingTests {
    /// Documents in memory.
    private final class Documents: Fetcher {
        let documents: [String: [UInt8]]
        /// The addresses of what was read.
        let reads = Locked<[String]>([])

        init(_ documents: [String: [UInt8]]) {
            self.documents = documents
        }

        func links() async throws(ResourceError) -> [Link] { [] }
        func get(_ link: Link) -> any Resource {
            reads.withLock { $0.append(link.href) }
            return documents[link.href].map { BytesResource(link, $0) }
                ?? FailingResource(link, ResourceError(.notFound, "\(link.href) is missing"))
        }
        func storedLength(of link: Link) -> LengthHint? { documents[link.href].map { LengthHint(Int64($0.count)) } }
    }

    private func publication(_ links: [Link], _ documents: [String: [UInt8]] = [:]) -> Publication {
        Publication.Builder(
            manifest: Manifest(metadata: Metadata(title: "A"), readingOrder: links),
            format: .epub,
            fetcher: Documents(documents)
        ).build()
    }

    private func chapter(_ href: String) -> Link { Link(href: href, mediaType: MediaType(known: "application/xhtml+xml")) }

    private func book() -> Publication {
        let long = [UInt8](repeating: 0x20, count: 3000)
        return publication(["a.xhtml", "b.xhtml"].map(chapter), ["a.xhtml": long, "b.xhtml": Array("x".utf8)])
    }

    @Test func `is found by a link, and again by a locator of an older version`() async throws {
        let book = book()
        #expect(book.locate(Link(href: "b.xhtml#mark"))?.locations.fragments == ["mark"])
        #expect(book.locate(Link(href: "c.xhtml")) == nil)
        var place = Locator(href: "./b.xhtml", mediaType: Manifest.mediaType)
        place.locations.progression = 0.5
        let same = try #require(try await book.locate(place))
        #expect(same.href == "b.xhtml" && same.locations.progression == 0.5)
        #expect(same.mediaType == chapter("b.xhtml").mediaType)
        place.href = "b.xhtml#mark"
        for fragments in [[], ["mark"], ["t=1"]] {
            place.locations.fragments = fragments
            let marked = try #require(try await book.locate(place))
            #expect(marked.href == "b.xhtml" && marked.locations.fragments == fragments.filter { $0 != "mark" } + ["mark"])
        }
        var old = Locator(href: "gone.xhtml", mediaType: Manifest.mediaType, text: Locator.Text(highlight: "words"))
        #expect(try await book.locate(old) == nil)
        old.locations.totalProgression = 0.9
        let found = try #require(try await book.locate(old))
        #expect(found.href == "b.xhtml" && found.text.highlight == "words")
    }

    @Test(arguments: [
        (0.0, "a.xhtml", 0.0), (0.25, "a.xhtml", 1.0 / 3), (0.375, "a.xhtml", 0.5), (0.75, "b.xhtml", 0.0),
        (0.875, "b.xhtml", 0.5),
        (1.0, "b.xhtml", 1.0),
    ])
    func `is found by its share of the whole`(total: Double, href: String, progression: Double) async throws {
        // three positions and one
        let place = try #require(try await book().locate(progression: total))
        #expect(place.href == href && place.locations.totalProgression == total)
        #expect(abs((place.locations.progression ?? -1) - progression) < 1e-9)
    }

    @Test func `is a time in what is listened to, where all lengths are known`() async throws {
        func track(_ href: String, _ duration: Double?) -> Link {
            Link(href: href, mediaType: MediaType(known: "audio/mpeg"), duration: duration)
        }
        let book = publication([track("1.mp3", 60), track("2.mp3", 180)])
        let first = try #require(try await book.locate(progression: 0.125))
        #expect(first.href == "1.mp3" && first.locations.fragments == ["t=30"] && first.locations.progression == 0.5)
        let second = try #require(try await book.locate(progression: 0.625))
        #expect(second.href == "2.mp3" && second.locations.fragments == ["t=90"])
        let end = try #require(try await book.locate(progression: 1))
        #expect(end.href == "2.mp3" && end.locations.progression == 1)
        let unknown = publication([track("1.mp3", 60), track("2.mp3", nil)])
        #expect(try await unknown.locate(progression: 0.5) == nil)
        // the same track twice: the end of the first time is not the end
        let twice = publication([track("1.mp3", 60), track("2.mp3", 60), track("1.mp3", 60)])
        for (progression, href, time) in [(0.2, "1.mp3", "t=36"), (0.5, "2.mp3", "t=30"), (0.9, "1.mp3", "t=42")] {
            let place = try #require(try await twice.locate(progression: progression))
            #expect(place.href == href && place.locations.fragments == [time])
        }
        let same = publication([track("1.mp3", 60), track("1.mp3", 60)])
        #expect(try await same.locate(progression: 0.25)?.locations.fragments == ["t=30"])
        #expect(try await same.locate(progression: 0.75)?.locations.fragments == ["t=30"])
        for wrong in [-0.1, 1.1, Double.nan] { #expect(try await book.locate(progression: wrong) == nil) }
    }

    @Test func `is found by its share where a document comes twice in the reading order`() async throws {
        let text = [UInt8](repeating: 0x20, count: 2000)
        for order in [["a.xhtml", "b.xhtml", "a.xhtml"], ["a.xhtml", "a.xhtml", "b.xhtml"]] {
            let book = publication(order.map(chapter), ["a.xhtml": text, "b.xhtml": text])
            // two positions each
            for (total, place) in [(0.25, 0), (0.5, 1), (0.75, 2)] {
                let found = try #require(try await book.locate(progression: total))
                #expect(found.href == order[place])
                #expect(abs((found.locations.progression ?? -1) - (total * 3 - Double(place))) < 1e-9, "\(order) \(total)")
            }
        }
    }

    @Test func `is kept and read by Swift's encoders as Readium's toolkits write it`() throws {
        var locator = Locator(
            href: "a.xhtml",
            mediaType: MediaType(known: "application/xhtml+xml"),
            title: "A",
            text: Locator.Text(before: "some ", highlight: "wörds", after: " more")
        )
        locator.locations.fragments = ["p1", "t=15"]
        locator.locations.progression = 0.25
        locator.locations.totalProgression = 1.0 / 3
        locator.locations.position = 12
        locator.locations.other = [
            "cssSelector": "#p1", "domRange": ["start": ["offset": 3, "isLast": true], "end": .null],
            "list": [1, 2.5, "x", false],
        ]
        for locator in [locator, Locator(href: "b", mediaType: Manifest.mediaType)] {
            let data = try JSONEncoder().encode(locator)
            #expect(try JSONDecoder().decode(Locator.self, from: data) == locator)
            // the same document that our own writer makes
            #expect(try JSON.parse(Array(data).rawSpan) == locator.json)
            let ours = Data(locator.json.write())
            #expect(try JSONDecoder().decode(Locator.self, from: ours) == locator)
        }
        locator.locations.progression = .nan
        locator.locations.totalProgression = .infinity
        let incomplete = try JSONDecoder().decode(Locator.self, from: try JSONEncoder().encode(locator))
        #expect(incomplete.locations.progression == nil && incomplete.locations.totalProgression == nil)
        #expect(incomplete.locations.position == 12)
        for bad in ["{}", #"{"href":"a"}"#, #"{"href":"a","type":"no type"}"#, "[]", "3"] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(Locator.self, from: Data(bad.utf8)) }
        }
    }

    @Test func `text is read as UTF-8 and UTF-16, and nothing else`() async throws {
        let cases: [(bytes: [UInt8], text: String?)] = [
            (Array("é".utf8), "é"), ([0xef, 0xbb, 0xbf, 0x61], "a"), ([0xff, 0xfe, 0xe9, 0], "é"), ([0xfe, 0xff, 0, 0xe9], "é"),
            ([], ""), ([0xff], nil), ([0xc3], nil), ([0xff, 0xfe, 0x61], nil),
        ]
        for (bytes, text) in cases {
            let resource = BytesResource(Link(href: "a.txt"), bytes)
            if let text {
                #expect(try await resource.readAsString() == text)
            } else {
                await #expect(throws: ResourceError(.malformed, ""), "\(bytes)") { try await resource.readAsString() }
            }
        }
        let long = BytesResource(Link(href: "a.txt"), Array("words".utf8))
        await #expect(throws: ResourceError(.tooLarge, "")) { try await long.readAsString(upTo: 4) }
    }

    @Test func `landmarks, pages and profile equal the manifest's`() {
        var manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml")])
        manifest.metadata.conformsTo = [.epub]
        manifest.subcollections["landmarks"] = [PublicationCollection(links: [Link(href: "a.xhtml", title: "Start")])]
        manifest.subcollections["pageList"] = [PublicationCollection(links: [Link(href: "a.xhtml#p1", title: "1")])]
        let publication = Publication.Builder(manifest: manifest, format: .epub, fetcher: Documents([:])).build()
        #expect(publication.landmarks.map(\.title) == ["Start"])
        #expect(publication.pageList.map(\.href) == ["a.xhtml#p1"])
        #expect(publication.conforms(to: .epub) && !publication.conforms(to: .audiobook))
    }

    @Test func `of words is found in every document, in the order of the publication`() async throws {
        let many = String(repeating: "<p>the Whale</p>", count: 70)
        let documents = [
            "a.xhtml": Array(many.utf8), "b.xhtml": [0xff], "c.xhtml": Array("<p>the <b>wh</b>ale’s “tail”</p>".utf8),
        ]
        let book = publication(["a.xhtml", "missing.xhtml", "b.xhtml", "c.xhtml"].map(chapter), documents)
        #expect(book.isSearchable)
        var found: [Locator] = []
        for try await locator in book.search("the  whale") { found.append(locator) }
        #expect(found.map(\.href) == [String](repeating: "a.xhtml", count: 70) + ["c.xhtml"])
        #expect(found.last?.text == Locator.Text(before: "", highlight: "the whale", after: "’s “tail”"))
        for query in ["nothing", "", "  "] {
            for try await locator in book.search(query) { Issue.record("\(locator)") }
        }
        #expect(!publication([Link(href: "a.mp3", mediaType: MediaType(known: "audio/mpeg"))]).isSearchable)
        // the table of contents is not searched
        var contents = chapter("contents.xhtml")
        contents.relations = ["contents"]
        let manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [], resources: [contents])
        #expect(!Publication.Builder(manifest: manifest, format: .epub, fetcher: Documents([:])).build().isSearchable)
    }

    @Test func `of words is found in a document that is read once, however many there are`() async throws {
        let fetcher = Documents(["a.xhtml": Array(String(repeating: "aaa ", count: 170).utf8), "b.xhtml": Array("aa".utf8)])
        let book = Publication.Builder(
            manifest: Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml"), chapter("b.xhtml")]),
            format: .epub,
            fetcher: fetcher
        ).build()
        fetcher.reads.withLock { $0 = [] }
        var places: [Double] = []
        for try await locator in book.search("aa") {
            places.append(try #require(locator.locations.progression))
            #expect(fetcher.reads.withLock { $0 } == (places.count <= 170 ? ["a.xhtml"] : ["a.xhtml", "b.xhtml"]))
        }
        // 679 characters, a hit every fourth; then the second document
        let expected: [Double] = (0..<170).map { Double($0 * 4) / 679 } + [0.0]
        #expect(places == expected)
        // the same hits by the piece, as the web reader asks for them
        var start: PublicationSearch.Place? = PublicationSearch.Place(resource: 0, hits: 0)
        var again: [Double] = []
        while let from = start {
            let results = try await PublicationSearch(publication: book).hits(of: "aa", from: from)
            again += results.locators.compactMap(\.locations.progression)
            start = results.next
        }
        #expect(again == places)
        let beyond = PublicationSearch.Place(resource: 1, hits: .max)
        #expect(try await PublicationSearch(publication: book).hits(of: "aa", from: beyond).locators.isEmpty)
    }

    @Test(
        arguments: [
            ("<h1>a<picture><img src='x'/></picture> b</h1><p>c</p>", [1, nil, 1, nil]),
            ("<h2><div>a</div><div>b</div></h2>c", [2, 2, nil]),
            ("<h1>a<br/>b</h1>c", [1, 1, nil]),
            ("<h1>a<p>b</p>", [1, nil]),
            ("<h3>a<section>b</section>c", [3, nil, nil]),
            ("<ul><li><h4>a</h4>b</li><li>c</li></ul>", [4, nil, nil]),
            ("<h1/>a<h2>b</h2>", [nil, 2]),
            ("<h1>a<h2>b</h2>c", [1, 2, nil]),
        ] as [(String, [Int?])]
    )
    func `is a heading until it ends or another block begins`(source: String, levels: [Int?]) async throws {
        let book = publication([chapter("a.xhtml")], ["a.xhtml": Array(source.utf8)])
        var found: [Int?] = []
        for try await element in book.content() { found.append(element.headingLevel) }
        #expect(found == levels)
    }

    @Test func `content is read piece by piece from any place`() async throws {
        let first = """
            <html><head><title>no</title></head><body><h2>One</h2><p>a <em>b</em> c</p><p> </p>
            <p>before <img alt="A &amp; B" src="../img/1.png"/> after</p><ul><li>x</li><li>y</li></ul></body></html>
            """
        let book = publication(
            [
                chapter("text/a.xhtml"), chapter("text/gone.xhtml"),
                Link(href: "2.jpg", mediaType: MediaType(known: "image/jpeg")),
                Link(href: "3.mp3", mediaType: MediaType(known: "audio/mpeg"), title: "Track"), chapter("text/b.xhtml"),
            ],
            ["text/a.xhtml": Array(first.utf8), "text/b.xhtml": Array("<p>end</p>".utf8)]
        )
        var elements: [ContentElement] = []
        for try await element in book.content() { elements.append(element) }
        #expect(
            elements.map(\.role) == [.heading, .body, .body, .image, .body, .body, .body, .image, .audio, .body]
        )
        #expect(elements.map(\.text) == ["One", "a b c", "before", "A & B", "after", "x", "y", nil, "Track", "end"])
        #expect(elements[0].headingLevel == 2 && elements[1].headingLevel == nil)
        #expect(elements[3].link?.href == "img/1.png" && elements[7].link?.href == "2.jpg")
        #expect(elements[1].locator.text.highlight == "a b c")
        let places = elements.prefix(7).compactMap(\.locator.locations.progression)
        #expect(places.count == 7 && places == places.sorted())
        // the piece in which a place is comes first
        for index in [0, 1, 4, 6, 7, 9] {
            var rest: [ContentElement] = []
            for try await element in book.content(from: elements[index].locator) { rest.append(element) }
            #expect(rest == Array(elements[index...]), "\(index)")
        }
    }

    @Test func `of a restricted publication is not looked for`() async throws {
        let builder = Publication.Builder(
            manifest: Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml")]),
            format: .epub,
            fetcher: Documents(["a.xhtml": Array("<p>words</p>".utf8)])
        )
        var closed = builder
        closed.services.set((any ContentProtectionService).self) { _ in
            RestrictedProtectionService(
                name: "Lock",
                error: Publication.OpeningError(.credentialsRequired, "it needs a password")
            )
        }
        let publication = closed.build()
        #expect(!publication.isSearchable)
        await #expect(throws: ResourceError(.forbidden, "")) {
            for try await _ in publication.search("words") { Issue.record("found") }
        }
        await #expect(throws: ResourceError(.forbidden, "")) {
            for try await _ in publication.content() { Issue.record("read") }
        }
    }
}
