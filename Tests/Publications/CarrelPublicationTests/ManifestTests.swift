// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("A manifest")
struct ManifestTests {
    private func manifest(_ text: String, _ warnings: WarningList? = nil) throws -> Manifest {
        let bytes = Array(text.utf8)
        return try Manifest(bytes.rawSpan, warnings: warnings)
    }

    @Test(arguments: [
        "webpub/mobydick-manifest.json", "webpub/flatland-manifest.json", "sniffing/audiobook.json", "sniffing/divina.json",
        "sniffing/webpub.json",
    ])
    func `of others is read and written without loss`(name: String) throws {
        let bytes = try Fixtures.bytes("readium/\(name)")
        let first = try Manifest(bytes.rawSpan)
        let again = first.json()
        #expect(try Manifest(again.rawSpan) == first)
        #expect(!first.readingOrder.isEmpty)
        // every address that was in it is in it still
        let (before, after) = (Self.addresses(try JSON.parse(bytes.rawSpan)), Self.addresses(try JSON.parse(again.rawSpan)))
        #expect(before == after)
    }

    private static func addresses(_ json: JSON) -> [String: Int] {
        var found: [String: Int] = [:]
        func walk(_ json: JSON) {
            if let href = json["href"]?.string { found[href, default: 0] += 1 }
            for (_, value) in json.object ?? JSONObject() { walk(value) }
            for value in json.array ?? [] { walk(value) }
        }
        walk(json)
        return found
    }

    @Test func `says all that the model has`() throws {
        let manifest = try manifest(
            """
            {"@context": "https://readium.org/webpub-manifest/context.jsonld", "metadata": {"@type": "http://schema.org/Book",
            "title": {"fr": "Vingt mille lieues", "en": "Twenty Thousand Leagues"}, "identifier": "urn:isbn:9780000000002",
            "author": [{"name": "Verne", "sortAs": "Verne, Jules"}, "Another"], "narrator": {"name": {"en": "A", "fr": "B"}},
            "language": "fr", "subject": ["Sea", {"name": "Travel", "code": "TRV", "scheme": "https://example.org/s"}],
            "belongsTo": {"series": {"name": "Voyages", "position": 6}}, "published": "1870", "numberOfPages": 300,
            "readingProgression": "ltr", "accessibility": {"accessModeSufficient": ["textual", ["auditory", "textual"]], "hazard": ["none"]},
            "x-own": {"kept": true}},
            "links": [{"rel": "self", "href": "https://example.org/manifest.json", "type": "application/webpub+json"}],
            "readingOrder": [{"href": "c1.xhtml", "type": "application/xhtml+xml", "title": "One", "properties": {"encrypted":
            {"algorithm": "http://www.w3.org/2001/04/xmlenc#aes256-cbc", "originalLength": 100, "scheme": "http://readium.org/2014/01/lcp"},
            "page": "left"}, "alternate": [{"href": "c1.mp3", "type": "audio/mpeg", "duration": 12.5}]}],
            "resources": [{"href": "cover.jpg", "type": "image/jpeg", "rel": "cover", "width": 10, "height": 20}],
            "toc": [{"href": "c1.xhtml", "title": "One", "children": [{"href": "c1.xhtml#a", "title": "A"}]}],
            "landmarks": [{"href": "c1.xhtml", "title": "Text"}], "pageList": {"links": [{"href": "c1.xhtml#p1", "title": "1"}]}}
            """
        )
        let metadata = manifest.metadata
        #expect(metadata.title.text(for: "en-GB") == "Twenty Thousand Leagues")
        #expect(metadata.title.text(for: "de") == "Vingt mille lieues")
        #expect(metadata.authors.map(\.name.description) == ["Verne", "Another"])
        #expect(metadata.authors[0].sortAs == "Verne, Jules")
        #expect(metadata.narrators[0].name.text(for: "fr") == "B")
        #expect(metadata.subjects[1].code == "TRV")
        #expect(metadata.belongsTo["series"]?[0].position == 6)
        #expect(metadata.accessibility?.accessModesSufficient == [["textual"], ["auditory", "textual"]])
        #expect(metadata.otherMetadata["x-own"]?["kept"]?.bool == true)
        let link = manifest.readingOrder[0]
        #expect(link.properties.encryption?.originalLength == LengthHint(100))
        #expect(link.properties.page == "left")
        #expect(link.alternates[0].duration == 12.5)
        #expect(manifest.tableOfContents[0].children[0].fragment == "a")
        #expect(manifest.landmarks.map(\.title) == ["Text"])
        #expect(manifest.pageList.map(\.title) == ["1"])
        let again = manifest.json()
        #expect(try Manifest(again.rawSpan) == manifest)
    }

    @Test func `with mistakes is read with warnings`() throws {
        let warnings = WarningList()
        let manifest = try manifest(
            """
            {"metadata": {"author": [{"sortAs": "nobody"}, "A"], "duration": -3, "readingProgression": "upwards"},
            "spine": [{"title": "no address"}, {"href": "a", "type": "not a type"}]}
            """,
            warnings
        )
        #expect(manifest.metadata.title == "Untitled")
        #expect(manifest.metadata.authors.map(\.name) == ["A"])
        #expect(manifest.metadata.duration == nil)
        #expect(manifest.readingOrder.map(\.href) == ["a"])
        #expect(warnings.warnings.map(\.severity) == [.moderate, .minor, .minor, .minor])
    }

    @Test(arguments: ["[]", "{}", #"{"metadata": {"title": "a"}}"#, #"{"metadata": [], "readingOrder": []}"#, "{"])
    func `that is none is refused`(text: String) {
        #expect(throws: Malformed.self) { try manifest(text) }
    }

    @Test func `has places that are written and read`() throws {
        let text = """
            {"href": "c1.xhtml", "type": "application/xhtml+xml", "locations": {"fragments": ["p1"], "progression": 0.5,
            "position": 3, "cssSelector": "#p1"}, "text": {"highlight": "word"}}
            """
        let bytes = Array(text.utf8)
        let json = try JSON.parse(bytes.rawSpan)
        let locator = try #require(Locator(json))
        #expect(locator.locations.progression == 0.5)
        #expect(locator.json == json)
        #expect(Locator(["href": "a"]) == nil)
        #expect(Locator(["href": "a", "type": "text/html", "locations": ["progression": 2]])?.locations.progression == nil)
    }
}

@Suite("A media type")
struct MediaTypeTests {
    @Test(arguments: [
        ("Text/HTML; charset=\"utf-8\"", "text/html;charset=utf-8"), ("application/epub+zip", "application/epub+zip"),
        (" audio/mpeg ;; q=1", "audio/mpeg;q=1"),
    ])
    func `is read whatever its spelling`(text: String, canonical: String) {
        #expect(MediaType(text)?.description == canonical)
    }

    @Test(arguments: ["", "text", "text/", "/html", "text/html/x", "te xt/html", "text/html;charset"])
    func `that is none is refused`(text: String) {
        #expect(MediaType(text) == nil)
    }
}
