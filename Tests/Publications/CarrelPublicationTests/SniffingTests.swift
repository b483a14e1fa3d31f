// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("What kind of file something is")
struct SniffingTests {
    private func sniff(_ path: String, mediaType: String? = nil) async throws -> Format {
        let asset = PublicationAsset(path: path, mediaType: mediaType.flatMap { MediaType($0) })
        return try await AssetOpener().open(asset, warnings: nil).format
    }

    @Test(arguments: [
        ("audiobook-lcp.unknown", "application/audiobook+lcp"), ("audiobook-package.unknown", "application/audiobook+zip"),
        ("audiobook-wrongtype.json", "application/audiobook+json"), ("audiobook.json", "application/audiobook+json"),
        ("cbz.unknown", "application/vnd.comicbook+zip"), ("divina-lcp.unknown", "application/divina+lcp"),
        ("divina-package.unknown", "application/divina+zip"), ("divina.json", "application/divina+json"),
        ("epub-lcp-without-license.unknown", "application/epub+zip"), ("epub-lcp.unknown", "application/epub+zip"),
        ("epub.unknown", "application/epub+zip"), ("html-doctype-case.unknown", "text/html"), ("html.unknown", "text/html"),
        ("json.unknown", "application/json"), ("lcpl.unknown", "application/vnd.readium.lcp.license.v1.0+json"),
        ("lpf-index-html.unknown", "application/lpf+zip"), ("lpf.unknown", "application/lpf+zip"),
        ("opds-authentication.json", "application/opds-authentication+json"),
        ("opds1-entry.unknown", "application/atom+xml;type=entry;profile=opds-catalog"),
        ("opds1-feed.unknown", "application/atom+xml;profile=opds-catalog"), ("opds2-feed.json", "application/opds+json"),
        ("opds2-publication.json", "application/opds-publication+json"), ("pdf-lcp.unknown", "application/pdf+lcp"),
        ("pdf.unknown", "application/pdf"), ("unknown", "application/octet-stream"), ("unknown.zip", "application/zip"),
        ("w3c-wpub.json", "application/ld+json"), ("webpub-package.unknown", "application/webpub+zip"),
        ("webpub.json", "application/webpub+json"), ("xhtml.unknown", "application/xhtml+xml"),
        ("zab.unknown", "application/x.readium.zab+zip"),
    ])
    func `is detected by its bytes if its name is unknown`(name: String, mediaType: String) async throws {
        let path = try Fixtures.path("readium/sniffing/\(name)")
        #expect(try await sniff(path).mediaType.description == mediaType)
    }

    @Test(arguments: ["epub-lcp.unknown", "epub-lcp-without-license.unknown", "pdf-lcp.unknown", "audiobook-lcp.unknown"])
    func `tells that a license protects it`(name: String) async throws {
        let format = try await sniff(try Fixtures.path("readium/sniffing/\(name)"))
        #expect(format.conforms(to: .lcp))
    }

    @Test func `is not what its name says when its bytes say otherwise`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.write("photo.zip", [0xff, 0xd8, 0xff, 0xe0] + [UInt8](repeating: 0, count: 100))
        #expect(try await sniff(path).mediaType.description == "image/jpeg")
        let pdf = directory.write("book.epub", "%PDF-1.7\n")
        #expect(try await sniff(pdf, mediaType: "application/epub+zip") == .pdf)
    }

    @Test func `is detected by its name or its media type if its bytes are ambiguous`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.write("sound.m4b", [UInt8](repeating: 7, count: 64))
        #expect(try await sniff(path).mediaType.description == "audio/mp4")
        let other = directory.write("sound", [UInt8](repeating: 7, count: 64))
        #expect(try await sniff(other, mediaType: "audio/x-m4a").mediaType.description == "audio/mp4")
        #expect(try await sniff(other) == .unknown)
    }

    @Test func `of a folder is told by what lies in it`() async throws {
        let directory = TemporaryDirectory()
        try await checkProcess(["mkdir", "-p", directory.file("book/META-INF"), directory.file("comic")])
        directory.write("book/META-INF/container.xml", "<container/>")
        directory.write("comic/1.png", [1])
        directory.write("comic/2.jpg", [1])
        let book = try await sniff(directory.file("book"))
        #expect(book.specifications == [.folder, .epub])
        #expect(try await sniff(directory.file("comic")).specifications == [.folder, .informalComic])
    }
}
