// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("The items of a package")
struct PackageItemTests {
    private let book = UnpackedBook()

    @Test func `are found in whatever order the spine lists them, and of two with one id the first`() async throws {
        let package = """
            <package xmlns="http://www.idpf.org/2007/opf" xmlns:x="urn:x" version="3.0">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title></metadata><manifest>
            <item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>
            <item id="b" href="b.svg" x:media-type="application/xhtml+xml" media-type="image/svg+xml"/>
            <item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>
            <item id="b" href="twin.xhtml" media-type="application/xhtml+xml"/>
            <item id="d" href="d%20d.xhtml" media-type="none"/>
            <item id="e" href="../e.css" media-type="text/css"/><item id="f" href="f.xhtml"/>
            </manifest><spine><itemref idref="c"/><itemref idref="b"/><itemref idref="d"/><itemref idref="a"/></spine></package>
            """
        let publication = try await book.open(Array(package.utf8))
        #expect(publication.readingOrder.map(\.href) == ["EPUB/c.xhtml", "EPUB/b.svg", "EPUB/d%20d.xhtml", "EPUB/a.xhtml"])
        #expect(publication.readingOrder.map { $0.mediaType?.subtype } == ["xhtml+xml", "svg+xml", "xhtml+xml", "xhtml+xml"])
        #expect(publication.manifest.resources.map(\.href) == ["e.css", "EPUB/f.xhtml"])
        #expect(publication.manifest.resources.map { $0.mediaType?.essence } == ["text/css", "application/xhtml+xml"])
    }
}
