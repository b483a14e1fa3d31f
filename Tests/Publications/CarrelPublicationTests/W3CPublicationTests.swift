// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("A publication of the W3C")
struct W3CPublicationTests {
    private let directory = TemporaryDirectory()
    private let warnings = WarningList()

    private func open(_ members: String, _ files: [(String, String)]) async throws -> Publication {
        let manifest =
            #"{"conformsTo":"https://www.w3.org/TR/audiobooks/","name":"T","readingOrder":["a.mp3","b.mp3"]\#(members)}"#
        let entries = [("publication.json", manifest), ("a.mp3", "1"), ("b.mp3", "2")] + files
        let archive = MadeArchive(entries.map { MadeArchive.Entry($0.0, $0.1) })
        return try await Streamer(onAskCredentials: nil).open(
            asset: PublicationAsset(path: directory.write("book.lpf", archive.bytes)),
            allowUserInteraction: false,
            warnings: warnings
        )
    }

    private static let contents = """
        <!DOCTYPE html><html><body><nav><ol><li><a href="no.html">No</a></ol></nav>
        <nav role="doc-toc"><h2>Contents</h2><ol>
        <li><a href="../a.mp3">One &amp;<br> <b>only</b></a>
        <li><span>Part</span><ul><li><a href="../b.mp3#t=10">Two</a> <a href="x">y</a></ul>
        <li><a>nowhere</a></li>
        </ol></nav><section role="doc-pagelist"><ol><li><a href="../a.mp3#t=1">1</a></li></ol></section></body></html>
        """

    @Test func `has the contents of the page that its manifest calls so`() async throws {
        let members = #","resources":[{"url":"toc/contents.html","rel":"contents"}]"#
        let publication = try await open(members, [("toc/contents.html", Self.contents)])
        let contents = publication.tableOfContents
        #expect(contents.map(\.title) == ["One & only", "Part"])
        #expect(contents.map(\.href) == ["a.mp3", "#"])
        #expect(contents.last?.children.map(\.title) == ["Two"])
        #expect(contents.last?.children.map(\.href) == ["b.mp3#t=10"])
        #expect(publication.manifest.pageList.map(\.href) == ["a.mp3#t=1"])
        #expect(warnings.warnings.isEmpty, "\(warnings.warnings)")
    }

    @Test func `has the contents of its own page where the manifest names none`() async throws {
        let page = #"<html><body><div role=doc-toc><div></div><ol><li><a href=b.mp3>B</a></ol></div><ol><li><a href=x>x</a></ol>"#
        let publication = try await open("", [("index.html", page)])
        #expect(publication.tableOfContents.map(\.href) == ["b.mp3"])
        #expect(warnings.warnings.isEmpty, "\(warnings.warnings)")
    }

    @Test(
        arguments: [
            ("", [], []),
            (#","resources":[{"url":"t.html","rel":"contents"}]"#, [], [#""t.html" is not in the publication"#]),
            (
                #","resources":[{"url":"t.html","rel":"contents"}]"#, [("t.html", "<nav><ol><li><a href=a.mp3>A</a>")],
                [#""t.html" has no table of contents"#]
            ),
        ] as [(String, [(String, String)], [String])]
    )
    func `without contents opens all the same`(members: String, files: [(String, String)], messages: [String]) async throws {
        let publication = try await open(members, files)
        #expect(publication.tableOfContents.isEmpty)
        #expect(warnings.warnings.map(\.message) == messages)
    }

    @Test func `says for whom it is accessible, and whether it is abridged`() async throws {
        let publication = try await open(
            #"""
            ,"abridged":true,"accessMode":["auditory","textual"],"accessibilityFeature":"captions","accessibilityHazard":["none"],
            "accessibilitySummary":{"value":"All is read.","language":"en"},
            "accessModeSufficient":[{"type":"ItemList","itemListElement":["auditory","visual"]},"textual, visual"]
            """#,
            []
        )
        let accessibility = try #require(publication.metadata.accessibility)
        #expect(accessibility.accessModes == ["auditory", "textual"])
        #expect(accessibility.features == ["captions"])
        #expect(accessibility.hazards == ["none"])
        #expect(accessibility.summary == "All is read.")
        #expect(accessibility.accessModesSufficient == [["auditory", "visual"], ["textual", "visual"]])
        #expect(publication.metadata.otherMetadata["abridged"]?.bool == true)
    }

    @Test func `has contents that end, however they are broken`() {
        var numbers = SplitMix(seed: 5)
        let bytes = Array(Self.contents.utf8)
        for _ in 0..<200 {
            var broken = bytes
            for _ in 0..<8 {
                broken[Int.random(in: 0..<bytes.count, using: &numbers)] =
                    Array("<>/\"a =&".utf8).randomElement(using: &numbers) ?? 0
            }
            _ = NavigationDocument(html: String(decoding: broken, as: UTF8.self), at: "toc/contents.html").lists
        }
        let deep = NavigationDocument(html: "<nav role=doc-toc>" + String(repeating: "<ol><li>", count: 20_000), at: "a.html")
        #expect(deep.lists.isEmpty)
    }
}
