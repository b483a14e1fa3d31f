// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelXML
import Testing

@testable import CarrelPublication

/// Defects of other readers, by project and issue number.
@Suite("What other readers stumbled over")
struct RegressionTests {
    private let book = UnpackedBook()

    @Test func `a package that says it is XML 1.1 is opened (readium-lcp-server 342)`() async throws {
        let package = #"<?xml version="1.1" encoding="UTF-8"?>"# + MadeArchive.package
        let publication = try await book.open(Array(package.utf8), ["EPUB/c.xhtml": UnpackedBook.chapter])
        #expect(publication.metadata.title == "Book")
        #expect(publication.readingOrder.map(\.href) == ["EPUB/c.xhtml"])
    }

    @Test(arguments: [
        ("a b.otf", "a%20b.otf"), ("a b.otf", "a b.otf"), ("100%.otf", "100%25.otf"), ("100%.otf", "100%.otf"),
        ("a+b&c.otf", "a+b&amp;c.otf"), ("é.otf", "%C3%A9.otf"), ("é.otf", "é.otf"), ("a#b.otf", "a%23b.otf"),
    ])
    func `names with spaces and signs are found in encryption.xml in any spelling (readium-lcp-server 198, 302)`(
        name: String,
        uri: String
    ) async throws {
        let encryption = """
            <encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/><CipherData>
            <CipherReference URI="EPUB/\(uri)"/></CipherData></EncryptedData></encryption>
            """
        let path = try #require(ResourcePath(decoded: name))
        let package = MadeArchive.package.replacing("urn:x", with: MadeEPUB.identifier)
            .replacing(
                "</manifest>",
                with: "<item id=\"f\" href=\"\(path.href.replacing("&", with: "&amp;"))\" media-type=\"font/otf\"/></manifest>"
            )
        let publication = try await book.open(
            Array(package.utf8),
            ["META-INF/encryption.xml": Array(encryption.utf8), "EPUB/\(name)": MadeEPUB.obscuredFont]
        )
        #expect(try await publication.get("EPUB/\(path.href)").read(upTo: 10_000) == MadeEPUB.font)
    }

    @Test func `lists named like members of the manifest are ignored (found by fuzzing)`() async throws {
        let lists = ["metadata", "links", "readingOrder", "resources", "loi"].map { type in
            #"<nav epub:type="\#(type)"><ol><li><a href="c.xhtml">One</a></li></ol></nav>"#
        }
        let navigation = MadeArchive.navigation.replacing("</body>", with: lists.joined() + "</body>")
        let title = """
            <dc:title id="t">Book</dc:title><meta refines="#t" property="alternate-script" xml:lang="fr">Livre</meta>
            <meta refines="#t" property="alternate-script" xml:lang="fr">Autre</meta>
            """
        let package = MadeArchive.package.replacing("<dc:title>Book</dc:title>", with: title)
        let publication = try await book.open(Array(package.utf8), ["EPUB/nav.xhtml": Array(navigation.utf8)])
        #expect(Set(publication.manifest.subcollections.keys) == ["loi"])
        #expect(publication.metadata.title.text(for: "fr") == "Livre")
        let json = publication.manifest.json()
        #expect(try Manifest(json.rawSpan) == publication.manifest)
    }

    @Test(arguments: ["inf", "nan", "1e999", "-inf", String(repeating: "9", count: 400)])
    func `numbers that are none are left out of the manifest, which can be written (found by fuzzing)`(number: String)
        async throws
    {
        let metadata = """
            <meta property="belongs-to-collection" id="s">S</meta><meta refines="#s" property="group-position">\(number)</meta>
            <meta property="media:duration">\(number)</meta><meta refines="#c" property="media:duration">\(number):00:1e308</meta>
            </metadata>
            """
        let package = MadeArchive.package.replacing("</metadata>", with: metadata)
        let publication = try await book.open(Array(package.utf8), ["EPUB/c.xhtml": UnpackedBook.chapter])
        #expect(publication.metadata.belongsTo["collection"]?[0].position == nil && publication.metadata.duration == nil)
        var comic = Manifest(metadata: Metadata(title: "T"), readingOrder: [Link(href: "1.png")])
        let info = Array("<ComicInfo><Series>S</Series><Number>\(number)</Number></ComicInfo>".utf8)
        ComicInfo(try XMLElement.parse(info.rawSpan)).add(to: &comic)
        #expect(comic.metadata.belongsTo["series"]?[0].position == nil)
        #expect(W3CManifest.seconds(.string("PT\(number)S")) == nil)
        #expect(ClockValue.seconds("1e308h") == nil && ClockValue.seconds("1e307:1e307:0") == nil)
        for manifest in [publication.manifest, comic] {
            let json = manifest.json()
            #expect(try Manifest(json.rawSpan) == manifest)
        }
    }

    @Test func `a cover that is encrypted, too, is refused and nothing else happens (swift-toolkit 208)`() async throws {
        let encryption = """
            <encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>
            <KeyInfo><RetrievalMethod Type="http://readium.org/2014/01/lcp#EncryptedContentKey"/></KeyInfo>
            <CipherData><CipherReference URI="EPUB/cover.png"/></CipherData></EncryptedData></encryption>
            """
        let cover = #"<item id="k" href="cover.png" media-type="image/png" properties="cover-image"/></manifest>"#
        let package = MadeArchive.package.replacing("</manifest>", with: cover)
        let files = ["META-INF/encryption.xml": Array(encryption.utf8), "EPUB/cover.png": [UInt8](repeating: 7, count: 48)]
        let publication = try await book.open(Array(package.utf8), files)
        #expect(publication.isRestricted && publication.metadata.title == "Book")
        let link = try #require(publication.links(withRelation: "cover").first)
        await #expect(throws: ResourceError(.forbidden, "")) { try await publication.get(link).read(upTo: 100) }
    }
}
