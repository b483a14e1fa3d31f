// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("An EPUB")
struct EPUBTests {
    private let directory = TemporaryDirectory()
    private let warnings = WarningList()

    private func open(_ path: String) async throws -> Publication {
        try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: warnings)
    }

    /// An unpacked publication around a package document, and further files.
    private func book(_ package: [UInt8], _ files: [String: [UInt8]] = [:]) async throws -> Publication {
        try await checkProcess(["mkdir", "-p", directory.file("book/META-INF"), directory.file("book/EPUB/dir")])
        directory.write(
            "book/META-INF/container.xml",
            """
            <?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
            <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
            """
        )
        directory.write("book/EPUB/package.opf", package)
        for (name, bytes) in files { directory.write("book/\(name)", bytes) }
        return try await open(directory.file("book"))
    }

    private func fixture(_ name: String) async throws -> Publication {
        try await book(try Fixtures.bytes("readium/opf/opf/\(name)"))
    }

    @Test func `says in its manifest all that its package says`() async throws {
        let publication = try await fixture("full-metadata.opf")
        let metadata = publication.metadata
        #expect(metadata.identifier == "urn:uuid:7408D53A-5383-40AA-8078-5256C872AE41")
        #expect(metadata.title == "Alice's Adventures in Wonderland")
        #expect(metadata.subtitle == "Alice returns to the magical world from her childhood adventure")
        #expect(metadata.authors.map(\.name) == ["Lewis Carroll"])
        #expect(metadata.publishers.map(\.name) == ["D. Appleton and Co"])
        #expect(metadata.published == "1865-07-04")
        #expect(metadata.modified == "2012-04-02T12:47:00Z")
        #expect(metadata.languages == ["en-GB", "en"])
        #expect(metadata.subjects.map(\.name) == ["fiction", "classic"])
        #expect(metadata.subjects[1].scheme == "thema")
        #expect(metadata.subjects[1].code == "DCA")
        #expect(metadata.numberOfPages == 42)
        #expect(metadata.layout == .fixed)
        #expect(metadata.readingProgression == .rtl)
        #expect(metadata.accessibility?.certifiedBy == "EDRLab")
        #expect(
            publication.readingOrder.map(\.href)
                == ["titlepage.xhtml", "toc.xhtml", "chapter01.xhtml", "chapter02.xhtml"].map { "EPUB/\($0)" }
        )
        #expect(publication.links(withRelation: "cover").map(\.href) == ["EPUB/images/alice01a.gif"])
        #expect(publication.links(withRelation: "contents").map(\.href) == ["EPUB/nav.xhtml"])
    }

    @Test func `tells who did what`() async throws {
        let metadata = try await fixture("contributors.opf").metadata
        func names(_ role: ContributorRole) -> [String] { (metadata.contributors[role] ?? []).map(\.name.description) }
        #expect(names(.author) == ["Author 1", "Author 2", "Cameleon 1", "Author 3", "Author 4", "Author A", "Cameleon A"])
        #expect(names(.publisher) == ["Publisher 1", "Publisher 2", "Publisher A", "Publisher B"])
        #expect(names(.translator) == ["Translator"])
        #expect(names(.illustrator) == ["Illustrator 1", "Illustrator 2", "Illustrator A"])
        #expect(metadata.contributors[.illustrator]?[1].sortAs == "sorting")
        #expect(names(.contributor) == ["Contributor 1", "Unknown", "Contributor A"])
        #expect(metadata.contributors[.contributor]?[1].roles == ["unknown"])
    }

    @Test func `says for whom it can be read`() async throws {
        for name in ["accessibility-epub2.opf", "accessibility-epub3.opf"] {
            let found = try #require(try await fixture(name).metadata.accessibility)
            #expect(
                found.conformsTo == [
                    "http://idpf.org/epub/a11y/accessibility-20170105.html#wcag-a",
                    "https://www.w3.org/TR/epub-a11y-11#wcag-2.0-aaa",
                    "https://www.w3.org/TR/epub-a11y-11#wcag-2.1-aa",
                ]
            )
            #expect(found.accessModes == ["textual", "visual"])
            #expect(found.accessModesSufficient == [["textual"], ["textual", "visual"]])
            #expect(found.features == ["structuralNavigation", "alternativeText"])
            #expect(found.hazards == ["motionSimulation", "noSoundHazard"])
            #expect(found.certifiedBy == "Accessibility Testers Group")
            #expect(found.certifierCredential == "DAISY OK")
            #expect(found.certifierReport == "https://example.com/a11y-report/")
            #expect(found.exemption == "eaa-microenterprise")
        }
    }

    @Test func `belongs to series and collections`() async throws {
        let collections = try await fixture("collections-epub3.opf").metadata.belongsTo
        #expect(collections["series"]?.map(\.name.description) == ["Series A", "Series B"])
        #expect(collections["series"]?[0].position == 2)
        #expect(collections["series"]?[0].name.text(for: "fr") == "Série A")
        #expect(collections["collection"]?.map(\.name.description) == ["Collection A", "Collection B"])
        #expect(collections["collection"]?[0].identifier == "col-a")
        #expect(collections["collection"]?[0].sortAs == "ColA")
        let calibre = try await fixture("collections-epub2.opf").metadata.belongsTo
        #expect(calibre["series"]?.map(\.name.description) == ["Classic Anthology"])
        #expect(calibre["series"]?[0].position == 1.5)
    }

    @Test func `has titles in several languages, and subjects taken apart or not`() async throws {
        let metadata = try await fixture("title-localized.opf").metadata
        #expect(metadata.title.text(for: "fr") == "Les Aventures d'Alice au pays des merveilles")
        #expect(metadata.title.text(for: "en") == "Alice's Adventures in Wonderland")
        #expect(metadata.subtitle?.text(for: "fr").hasPrefix("Alice retourne") == true)
        #expect(try await fixture("title-multiple-subtitles.opf").metadata.subtitle == "Subtitle 2")
        #expect(try await fixture("subjects-single.opf").metadata.subjects.map(\.name) == ["apple", "banana", "pear"])
        #expect(try await fixture("subjects-single.opf").metadata.subjects.map(\.code) == ["DCA", "DCA", "DCA"])
        #expect(try await fixture("subjects-multiple.opf").metadata.subjects.map(\.name) == ["fiction", "apple; banana, pear"])
        #expect(try await fixture("subjects-localized.opf").metadata.subjects[0].name.text(for: "fr") == "fantastique")
        #expect(try await fixture("dates-epub2.opf").metadata.published == "1865-07-04")
        #expect(try await fixture("dates-epub2.opf").metadata.modified == "2012-04-02T12:47:00Z")
        #expect(try await fixture("dc-metadata.opf").metadata.authors.map(\.name) == ["Lewis Carroll"])
        #expect(try await fixture("dc-metadata.opf").metadata.identifier == "urn:uuid:1a16ce38-82bd-4e9b-861e-773c2e787a50")
    }

    @Test func `lists its resources as referenced`() async throws {
        let publication = try await fixture("links.opf")
        #expect(publication.readingOrder.map(\.href) == ["titlepage.xhtml", "EPUB/chapter01.xhtml"])
        #expect(publication.readingOrder[1].alternates.map(\.href) == ["EPUB/chapter01.smil"])
        #expect(
            publication.manifest.resources.map(\.href) == [
                "EPUB/fonts/MinionPro.otf", "EPUB/nav.xhtml", "style.css", "EPUB/chapter02.xhtml", "EPUB/chapter02.smil",
                "EPUB/images/alice01a.png", "EPUB/images/alice02a.gif", "EPUB/nomediatype.txt",
            ]
        )
        #expect(publication.link(withHREF: "EPUB/chapter02.smil")?.duration == 1949)
        let properties = try await fixture("links-properties.opf").readingOrder.map(\.properties)
        #expect(properties[0].page == "right")
        #expect(properties[0].json["layout"]?.string == "fixed")
        #expect(properties[0].contains == ["mathml"])
        #expect(properties[2].contains == ["js", "svg"])
        #expect(properties[2].json["overflow"]?.string == "scrolled")
        #expect(properties[2].page == "center")
        #expect(properties[7].json["spread"]?.string == "both")
        let overlays = try await fixture("media-overlays.opf")
        #expect(overlays.metadata.duration == 5549)
        #expect(overlays.readingOrder[0].alternates.map(\.duration) == [1425])
        let mixed = try await fixture("fallback-image-html-mixed.opf")
        #expect(mixed.readingOrder.map(\.href) == ["EPUB/page1.jpg", "EPUB/page2.xhtml"])
        #expect(mixed.readingOrder[0].alternates.map(\.href) == ["EPUB/page1.xhtml"])
    }

    @Test func `is found its way through by its navigation document`() async throws {
        let package =
            #"<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>"#
            + #"<item id="n" href="nav.xhtml" properties="nav"/></manifest><spine/></package>"#
        let nav = try Fixtures.bytes("readium/opf/navigation-documents/nav.xhtml")
        let publication = try await book(Array(package.utf8), ["EPUB/nav.xhtml": nav])
        let contents = publication.tableOfContents
        #expect(
            contents.map(\.title) == [
                "Chapter 1", "Chapter 2", "Unlinked section with nested HTML elements", "A link with nested HTML elements",
                "A link with newlines splitting the text",
            ]
        )
        #expect(contents.map(\.href) == ["EPUB/ch1.xhtml", "EPUB/ch2.xhtml", "#", "EPUB/dir/ch3.xhtml", "ch4.xhtml"])
        #expect(contents[2].children.map(\.title) == ["Linked sub-section"])
        #expect(contents[2].children[0].children.map(\.href) == ["EPUB/ssec1.xhtml#p1"])
        #expect(publication.manifest.pageList.map(\.href) == ["EPUB/ch1.xhtml#page1", "EPUB/ch1.xhtml#page2"])
        #expect(publication.manifest.landmarks.map(\.title) == ["Table of Contents", "Begin Reading"])
        #expect(publication.manifest.landmarks[1].relations == ["http://idpf.org/epub/vocab/structure/#bodymatter"])
    }

    @Test func `of version 2 is found its way through by its NCX and its guide`() async throws {
        let package =
            #"<package xmlns="http://www.idpf.org/2007/opf" version="2.0"><metadata/><manifest>"#
            + #"<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine toc="ncx"/></package>"#
        let ncx = try Fixtures.bytes("readium/opf/navigation-documents/nav.ncx")
        let publication = try await book(Array(package.utf8), ["EPUB/toc.ncx": ncx])
        let contents = publication.tableOfContents
        #expect(contents.prefix(2).map(\.title) == ["Chapter 1", "Chapter 2"])
        #expect(contents.map(\.href) == ["EPUB/ch1.xhtml", "EPUB/ch2.xhtml", "#", "EPUB/dir/ch3.xhtml", "ch4.xhtml"])
        #expect(contents[2].children[0].children.map(\.href) == ["EPUB/ssec1.xhtml#p1"])
        #expect(publication.manifest.pageList.map(\.title) == ["1", "2"])
        let guided = try await fixture("guide-epub2.opf")
        #expect(guided.manifest.landmarks.map(\.href) == ["EPUB/toc.xhtml", "EPUB/toc.xhtml#figures", "EPUB/beginpage.xhtml"])
        #expect(guided.manifest.landmarks[2].relations == ["http://idpf.org/epub/vocab/structure/#bodymatter"])
        #expect(guided.links(withRelation: "cover").map(\.href) == ["EPUB/cover.jpg"])
    }

    @Test func `of version 2 has the further lists of its NCX, by their classes`() async throws {
        let package =
            #"<package xmlns="http://www.idpf.org/2007/opf" version="2.0"><metadata/><manifest>"#
            + #"<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine toc="ncx"/></package>"#
        func target(_ title: String) -> String {
            "<navTarget><navLabel><text>\(title)</text></navLabel><content src=\"c.xhtml#\(title)\"/></navTarget>"
        }
        let lists =
            #"<navList class="loi figures"><navLabel><text> Of  Figures</text></navLabel>\#(target("f1"))\#(target("f2"))</navList>"#
            + "<navList class=\"loi\">\(target("f3"))</navList><navList>\(target("t1"))</navList>"
            + "<navList class=\"toc\">\(target("x"))</navList><navList class=\"lot\"/>"
        let ncx = #"<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap/>\#(lists)</ncx>"#
        let publication = try await book(Array(package.utf8), ["EPUB/toc.ncx": Array(ncx.utf8)])
        let found = publication.manifest.subcollections
        #expect(found.keys.sorted() == ["loi", "navList"])
        #expect(found["loi"]?.map { $0.links.map(\.href) } == [["EPUB/c.xhtml#f1", "EPUB/c.xhtml#f2"], ["EPUB/c.xhtml#f3"]])
        #expect(found["loi"]?[0].metadata["title"] == .string("Of Figures"))
        // what has the name of another member of the manifest has none
        #expect(publication.manifest.collection("navList").map(\.title) == ["t1", "x"])
        #expect(publication.tableOfContents.isEmpty)
    }

    @Test func `has its obscured fonts cleared`() async throws {
        let publication = try await open(try Fixtures.path("readium/lcp/wasteland-otf-obf.epub"))
        let fonts = publication.manifest.resources.filter {
            $0.properties.encryption?.algorithm == "http://www.idpf.org/2008/embedding"
        }
        #expect(fonts.count == 3)
        for font in fonts {
            let head = try await publication.get(font).read(0..<4)
            #expect(head == Array("OTTO".utf8))
            let whole = try await publication.get(font).read(upTo: 1 << 20)
            #expect(try await publication.get(font).read(1030..<1050) == Array(whole[1030..<1050]))
        }
    }

    @Test func `clears what Adobe obscured, too`() async throws {
        let key: [UInt8] = (0..<16).map { $0 * 0x11 }
        let font = try #require(
            FontObfuscation(
                algorithm: "http://ns.adobe.com/pdf/enc#RC",
                identifier: "urn:uuid:00112233-4455-6677-8899-aabbccddeeff"
            )
        )
        let plain = (0..<2000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let obscured = plain.enumerated().map { $0 < 1024 ? $1 ^ key[$0 % 16] : $1 }
        let cleared = font.clear(BytesResource(Link(href: "a.otf"), obscured))
        #expect(try await cleared.read(0..<2000) == plain)
        #expect(try await cleared.read(1000..<1100) == Array(plain[1000..<1100]))
        #expect(FontObfuscation(algorithm: "http://ns.adobe.com/pdf/enc#RC", identifier: "no uuid") == nil)
    }

    @Test(arguments: [
        ("childrens-literature.epub", "Children's Literature"), ("lorem.epub", nil), ("sample-with-space.epub", nil),
        ("thorium/a11y_metadata.epub", nil), ("thorium/a11y_metadata_2025.epub", nil), ("thorium/large-tables.epub", nil),
        ("epubcheck-ocf/epub2-ocf-minimal-valid.epub", nil), ("epubcheck-ocf/ocf-zip-valid.epub", nil),
        ("epubcheck-ocf/ocf-filename-utf8-valid.epub", nil), ("epubcheck-ocf/ocf-filepath-utf8-valid.epub", nil),
        ("epubcheck-ocf/ocf-mimetype-file-missing-error.epub", nil),
        ("epubcheck-ocf/ocf-filename-duplicate-zip-entry-error.epub", nil),
        ("epubcheck-ocf/ocf-filename-not-utf8-error.epub", nil),
        ("epubcheck-ocf/ocf-zip-mimetype-entry-extra-field-error.epub", nil),
        ("epubcheck-ocf/ocf-filename-duplicate-after-full-case-folding-error.epub", nil),
    ])
    func `of others is opened, and all that it lists is there`(name: String, title: String?) async throws {
        let publication = try await open(try Fixtures.path("readium/epub/\(name)"))
        if let title { #expect(publication.metadata.title.description.contains(title)) }
        #expect(!publication.readingOrder.isEmpty)
        for link in publication.readingOrder {
            let bytes = try await publication.get(link).read(upTo: 8 << 20)
            #expect(!bytes.isEmpty, "\(link.href)")
        }
    }

    @Test(arguments: [
        "ocf-zip-unreadable-empty-fatal.epub",
        "ocf-zip-unreadable-no-end-header-fatal.epub", "ocf-container-not-ocf-error.epub",
    ])
    func `that is none is refused`(name: String) async throws {
        let path = try Fixtures.path("readium/epub/epubcheck-ocf/\(name)")
        await #expect(throws: Publication.OpeningError.self) { try await open(path) }
    }

    @Test func `with mistakes is opened with warnings`() async throws {
        let package = """
            <!DOCTYPE package [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/>
            <manifest><item id="a" href="a%20b.xhtml"/><item href="x"/><item id="up" href="../../out.xhtml"/></manifest>
            <spine><itemref idref="a"/><itemref idref="none"/><itemref/></spine></package>
            """
        let publication = try await book(
            Array(package.utf8),
            ["EPUB/a b.xhtml": Array("<html/>".utf8), "META-INF/encryption.xml": [0x3c]]
        )
        #expect(publication.metadata.title == "book")
        #expect(try await publication.get(publication.readingOrder[0]).read(upTo: 100) == Array("<html/>".utf8))
        #expect(publication.readingOrder.count == 1)
        #expect(warnings.warnings.map(\.severity).contains(.major))
        #expect(warnings.warnings.count >= 5)
        await #expect(throws: ResourceError(.notFound, "")) { try await publication.get("../../out.xhtml").read(0..<1) }
    }
}
