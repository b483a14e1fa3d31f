// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

@testable import CarrelPublication

/// Ten times as many entries may take ten times the work, and some; work that grows with their square would take a hundred times.
@Suite("A publication of thousands of entries")
struct LargePublicationTests {
    private let directory = TemporaryDirectory()
    /// With CARREL_LONG, as many as the largest that are about.
    private static let (few, many) = unsafe getenv("CARREL_LONG") == nil ? (800, 8000) : (5000, 50_000)
    private static let growth = 30.0

    private func check(
        _ name: String,
        reading: Bool = false,
        links: (Int) -> Int = { $0 },
        _ make: (Int) -> MadeArchive
    ) async throws {
        let (few, many) = (
            directory.write("few.\(name)", make(Self.few).bytes), directory.write("many.\(name)", make(Self.many).bytes)
        )
        let small = try await OpenedElsewhere(few, reading: reading)
        let large = try await OpenedElsewhere(many, reading: reading)
        #expect(small.outcome == "open" && large.outcome == "open", "\(large.message)")
        #expect(small.links == links(Self.few) && large.links == links(Self.many))
        #expect(small.failures.isEmpty && large.failures.isEmpty)
        #expect(large.work / small.work < Self.growth, "\(small.work) s for \(Self.few), \(large.work) s for \(Self.many)")
        #expect(small.peak < 64 && (Self.many > 8000 || large.peak < 64), "MiB")
    }

    /// An EPUB whose every document has something for every chapter.
    private func book(_ count: Int, chapters: Bool) -> MadeArchive {
        var (items, spine, refinements, contents, points, encrypted) = ("", "", "", "", "", "")
        for number in 0..<count {
            items += #"<item id="c\#(number)" href="text/chapter%20\#(number).xhtml" media-type="application/xhtml+xml"/>"#
            spine += #"<itemref idref="c\#(number)"/>"#
            refinements += ##"<meta refines="#c\##(number)" property="media:duration">1s</meta>"##
            contents += #"<li><a href="text/chapter%20\#(number).xhtml#p">Chapter \#(number)</a></li>"#
            points +=
                #"<navPoint><navLabel><text>\#(number)</text></navLabel><content src="text/chapter%20\#(number).xhtml"/></navPoint>"#
            // as long as the entries of protected publications are
            encrypted += """
                <EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>
                <ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:RetrievalMethod URI="a" Type="b"/></ds:KeyInfo><CipherData>
                <CipherReference URI="EPUB/text/chapter%20\(number).xhtml"/></CipherData><EncryptionProperties><EncryptionProperty>
                <ns:Compression xmlns:ns="http://www.idpf.org/2016/encryption#compression" Method="0" OriginalLength="7"/>
                </EncryptionProperty></EncryptionProperties></EncryptedData>
                """
        }
        let package = """
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:x</dc:identifier>
            <dc:title>Book</dc:title>\(refinements)</metadata><manifest>
            <item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>
            <item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>\(items)</manifest>
            <spine toc="ncx">\(spine)</spine></package>
            """
        // without contents of its own, the NCX is read, too
        let navigation =
            chapters ? MadeArchive.navigation.replacing(#"<li><a href="c.xhtml">One</a></li>"#, with: contents) : "<html/>"
        var archive = MadeArchive.epub([
            "EPUB/package.opf": Array(package.utf8), "EPUB/nav.xhtml": Array(navigation.utf8),
            "EPUB/toc.ncx": Array("<ncx><navMap>\(points)</navMap></ncx>".utf8),
            "META-INF/encryption.xml": Array("<encryption>\(encrypted)</encryption>".utf8),
        ])
        for number in 0..<count { archive.add("EPUB/text/chapter \(number).xhtml", "<html/>") }
        return archive
    }

    @Test(arguments: [true, false])
    func `that is an EPUB is opened, found its way through and read without quadratic work`(chapters: Bool) async throws {
        try await check("epub", reading: true, links: { $0 + 2 }) { book($0, chapters: chapters) }
    }

    @Test func `of fifty thousand chapters is opened`() async throws {
        let opened = try await OpenedElsewhere(directory.write("large.epub", book(50_000, chapters: true).bytes))
        #expect(opened.outcome == "open")
        #expect(opened.links == 50_002)
        #expect(!opened.warnings.contains { $0.contains("encryption.xml") }, "\(opened.warnings.prefix(3))")
    }

    @Test func `that is a comic is put in order without quadratic work`() async throws {
        try await check("cbz") { count in
            MadeArchive((0..<count).map { MadeArchive.Entry("Volume 1/page \(count - $0).png", "x") })
        }
    }

    @Test func `that is an audiobook is put in order without quadratic work`() async throws {
        try await check("zab") { count in
            MadeArchive((0..<count).map { MadeArchive.Entry("Disc 1/track \(count - $0).mp3", "x") })
        }
    }

    @Test func `that is a Readium package is opened and read without quadratic work`() async throws {
        try await check("webpub", reading: true) { count in
            // addresses of a server, which are looked for in the package
            let links = (0..<count).map { #"{"href":"http://example.org/c\#($0).html","type":"text/html"}"# }.joined(
                separator: ","
            )
            let manifest = #"{"metadata":{"title":"Book"},"readingOrder":[\#(links)]}"#
            var archive = MadeArchive([MadeArchive.Entry("manifest.json", Array(manifest.utf8), deflated: true)])
            for number in 0..<count { archive.add("c\(number).html", "<html/>") }
            return archive
        }
    }

    @Test func `finds each link by its address immediately, inside and outside`() async throws {
        func work(_ count: Int) -> Duration {
            let inside = (0..<count).map { Link(href: "c%20\($0).html") }
            let outside = (0..<count).map { Link(href: "https://example.org/c\($0).html?x") }
            let manifest = Manifest(metadata: Metadata(title: "Book"), readingOrder: inside, resources: outside)
            let fetcher = SingleResourceFetcher(BytesResource(Link(href: "x"), []))
            let publication = Publication.Builder(manifest: manifest, format: .webPublication, fetcher: fetcher).build()
            return ContinuousClock().measure {
                for number in 0..<count {
                    #expect(publication.link(withHREF: "./c \(number).html#p")?.href == inside[number].href)
                    #expect(publication.link(withHREF: "https://example.org/c\(number).html#p")?.href == outside[number].href)
                }
            }
        }
        let (few, many) = (work(500), work(5000))
        #expect(many / few < Self.growth, "\(few) for 500, \(many) for 5,000")
    }
}
