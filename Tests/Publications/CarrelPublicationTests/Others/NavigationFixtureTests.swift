// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("A navigation document of others")
struct NavigationFixtureTests {
    private let book = UnpackedBook()

    private static let overlays = [
        "audio-clip-times", "basic", "empty-seq", "nested", "par-audio-video", "par-image", "par-without-text", "seq-textref",
        "seq-types", "video-clip-times",
    ]

    static let names: Set<String> = Set(
        ["full-metadata-nav.xhtml", "nav-empty.ncx", "nav-section.xhtml", "nav.ncx", "nav.xhtml"]
            .map { "opf/navigation-documents/\($0)" } + overlays.map { "opf/smil/\($0).smil" }
    )

    private func package(_ item: String, version: Int) -> [UInt8] {
        Array(
            """
            <package xmlns="http://www.idpf.org/2007/opf" version="\(version).0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
            <dc:title>Book</dc:title></metadata><manifest>\(item)</manifest><spine toc="ncx"/></package>
            """.utf8
        )
    }

    private func open(_ name: String) async throws -> Publication {
        let bytes = try Fixtures.bytes("readium/opf/navigation-documents/\(name)")
        if name.hasSuffix(".ncx") {
            let item = #"<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>"#
            return try await book.open(package(item, version: 2), ["EPUB/toc.ncx": bytes])
        }
        return try await book.open(
            package(#"<item id="n" href="nav.xhtml" properties="nav"/>"#, version: 3),
            ["EPUB/nav.xhtml": bytes]
        )
    }

    @Test func `in a section has contents and landmarks`() async throws {
        let publication = try await open("nav-section.xhtml")
        #expect(publication.tableOfContents.map(\.title) == ["Chapter 1", "Chapter 2"])
        #expect(publication.tableOfContents.map(\.href) == ["EPUB/ch1.xhtml", "EPUB/ch2.xhtml"])
        let landmarks = publication.manifest.landmarks
        #expect(landmarks.map(\.title) == ["Cover", "Table of Contents", "Begin Reading", "Index", "Glossary"])
        #expect(landmarks[1].href == "EPUB/nav.xhtml#toc")
        #expect(
            landmarks.flatMap(\.relations)
                == ["cover", "toc", "bodymatter", "index", "glossary"].map { "http://idpf.org/epub/vocab/structure/#\($0)" }
        )
    }

    @Test func `with landmarks alone has no contents, and says so`() async throws {
        let publication = try await open("full-metadata-nav.xhtml")
        #expect(publication.tableOfContents.isEmpty)
        #expect(publication.manifest.landmarks.map(\.title) == ["Cover", "Table of Contents", "Begin Reading"])
        #expect(book.warnings.warnings.map(\.message) == ["the publication has no table of contents"])
    }

    @Test func `without entries has no contents, and says so`() async throws {
        let publication = try await open("nav-empty.ncx")
        #expect(publication.tableOfContents.isEmpty && publication.manifest.pageList.isEmpty)
        #expect(book.warnings.warnings.map(\.message) == ["the publication has no table of contents"])
    }

    @Test(arguments: overlays)
    func `lists audio next to its text, with its bytes`(name: String) async throws {
        let overlay = try Fixtures.bytes("readium/opf/smil/\(name).smil")
        let items = """
            <item id="c" href="chapter01.xhtml" media-type="application/xhtml+xml" media-overlay="s"/>
            <item id="s" href="chapter01.smil" media-type="application/smil+xml"/>
            """
        let text = String(decoding: package(items, version: 3), as: UTF8.self)
            .replacing("<spine toc=\"ncx\"/>", with: "<spine><itemref idref=\"c\"/></spine>")
            .replacing("</metadata>", with: "<meta property=\"media:duration\" refines=\"#s\">0:00:10.123</meta></metadata>")
        let publication = try await book.open(
            Array(text.utf8),
            ["EPUB/chapter01.smil": overlay, "EPUB/chapter01.xhtml": UnpackedBook.chapter]
        )
        let listed = try #require(publication.readingOrder.first?.alternates.first)
        #expect(listed.href == "EPUB/chapter01.smil")
        #expect(listed.mediaType?.essence == "application/smil+xml")
        #expect(listed.duration == 10.123)
        #expect(publication.manifest.resources.isEmpty)
        #expect(try await publication.get(listed).read(upTo: 1 << 20) == overlay)
    }
}
