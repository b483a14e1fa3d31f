// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("Positions, cover and navigator")
struct PositionsTests {
    private let directory = TemporaryDirectory()

    /// A container of which only lengths are known; reading fails.
    private final class Lengths: Fetcher {
        let lengths: [String: Int64]

        init(_ lengths: [String: Int64]) {
            self.lengths = lengths
        }

        func links() async throws(ResourceError) -> [Link] { [] }
        func get(_ link: Link) -> any Resource { FailingResource(link, ResourceError(.unavailable, "nobody may read")) }
        func storedLength(of link: Link) -> LengthHint? { lengths[link.href].map { LengthHint($0) } }
    }

    private func publication(_ order: [Link], _ lengths: [String: Int64] = [:], _ change: (inout Metadata) -> Void = { _ in })
        -> Publication
    {
        var metadata = Metadata(title: "A")
        change(&metadata)
        return Publication.Builder(
            manifest: Manifest(metadata: metadata, readingOrder: order),
            format: .epub,
            fetcher: Lengths(lengths)
        ).build()
    }

    private func chapter(_ href: String) -> Link { Link(href: href, mediaType: MediaType(known: "application/xhtml+xml")) }

    @Test func `of a text that flows are a kilobyte of its container each, and nothing is read for them`() async throws {
        let order = ["a.xhtml", "b.xhtml", "c.xhtml", "d.xhtml"].map(chapter)
        let publication = publication(order, ["a.xhtml": 0, "b.xhtml": 1024, "c.xhtml": 2049])
        let positions = try await publication.positionsByReadingOrder()
        #expect(positions.map(\.count) == [1, 1, 3, 1])
        #expect(try await publication.positionCountsByReadingOrder() == [1, 1, 3, 1])
        let all = positions.flatMap(\.self)
        #expect(all.map(\.locations.position) == [1, 2, 3, 4, 5, 6])
        #expect(all.map(\.locations.progression) == [0, 0, 0, 1.0 / 3, 2.0 / 3, 0])
        #expect(all.map(\.locations.totalProgression) == (0..<6).map { Double($0) / 6 })
        #expect(all[3].href == "c.xhtml")
        let bytes = try await publication.get(Positions.href).read(upTo: 10_000)
        let json = try JSON.parse(bytes.rawSpan)
        #expect(json["total"]?.int == 6)
        #expect(json["positions"]?.array?[3] == all[3].json)
        #expect(publication.links(withRelation: "http://readium.org/position-list").map(\.href) == ["~readium/positions"])
    }

    @Test func `are one for each page of fixed layout and each picture, and none for audio`() async throws {
        let order = ["a.xhtml", "b.xhtml"].map(chapter)
        let fixed = publication(order, ["a.xhtml": 9000, "b.xhtml": 9000]) { $0.layout = .fixed }
        #expect(try await fixed.positions().map(\.locations.totalProgression) == [0, 0.5])
        var mixed = order
        mixed[1].properties = Properties(["layout": "reflowable"])
        let both = publication(mixed, ["a.xhtml": 9000, "b.xhtml": 9000]) { $0.layout = .fixed }
        #expect(try await both.positionsByReadingOrder().map(\.count) == [1, 9])
        let comic = publication(
            ["1.png", "2.png"].map { Link(href: $0, mediaType: MediaType(known: "image/png")) },
            ["1.png": 90_000]
        )
        #expect(try await comic.positions().count == 2)
        let sound = publication([Link(href: "1.mp3", mediaType: MediaType(known: "audio/mpeg"))], ["1.mp3": 90_000])
        #expect(try await sound.positions().isEmpty)
        #expect(sound.links(withRelation: "http://readium.org/position-list").isEmpty)
    }

    @Test func `of a PDF document are its pages`() async throws {
        let path = directory.write("a.pdf", TestPDF(pages: 4).bytes)
        let pdf = try await Streamer().open(asset: PublicationAsset(path: path), allowUserInteraction: false)
        let positions = try await pdf.positions()
        #expect(positions.map(\.locations.fragments) == (1...4).map { ["page=\($0)"] })
        #expect(positions.map(\.locations.totalProgression) == [0, 0.25, 0.5, 0.75])
    }

    @Test(arguments: [Int64.max, 1 << 40])
    func `of a length that cannot be are few`(length: Int64) async throws {
        let one = publication([chapter("a.xhtml")], ["a.xhtml": length])
        #expect(try await one.positions().count == 1)
        let order = (0..<50).map { chapter("\($0).xhtml") }
        let many = publication(order, Dictionary(uniqueKeysWithValues: order.map { ($0.href, 90_000 * 1024) }))
        #expect(try await many.positions().count == 50)
        #expect(try await many.positionCountsByReadingOrder() == order.map { _ in 1 })
    }

    @Test func `may be made otherwise, or not at all`() async throws {
        final class One: PositionsService {
            func positionsByReadingOrder() async throws(ResourceError) -> [[Locator]] {
                [[Locator(href: "a.xhtml", mediaType: MediaType(known: "text/html"))]]
            }
        }
        let manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml")])
        var builder = Publication.Builder(manifest: manifest, format: .epub, fetcher: Lengths(["a.xhtml": 5000]))
        #expect(try await builder.build().positions().count == 5)
        builder.services.decorate((any PositionsService).self) { before, _ in before == nil ? nil : One() }
        #expect(try await builder.build().positions().count == 1)
        builder.services.set((any PositionsService).self, nil)
        #expect(try await builder.build().positions().isEmpty)
        #expect(try await builder.build().positionsByReadingOrder() == [[]])
        #expect(try await builder.build().positionCountsByReadingOrder() == [0])
    }

    @Test func `of an archive follow from what it holds, packed, and of a folder from its files`() async throws {
        let zip = try requirePeer("zip")
        let text = String(repeating: "all the same ", count: 1000)
        directory.write("a.xhtml", text)
        directory.write("b.xhtml", text)
        try await checkProcess([zip, "-q", "-0", "a.zip", "a.xhtml"], directory: directory.path)
        try await checkProcess([zip, "-q", "a.zip", "b.xhtml"], directory: directory.path)
        let archive = try await ArchiveFetcher(try FileResource(Link(href: "a.zip"), path: directory.file("a.zip")))
        let wrapped = InvalidatingFetcher(fetcher: TransformingFetcher(archive)) { $0 }
        #expect(wrapped.storedLength(of: Link(href: "a.xhtml#top"))?.byteCount == 13_000)
        #expect(try #require(wrapped.storedLength(of: Link(href: "b.xhtml"))).byteCount < 1000)
        #expect(wrapped.storedLength(of: Link(href: "c.xhtml")) == nil)
        let folder = FolderFetcher(path: directory.path)
        #expect(folder.storedLength(of: Link(href: "b.xhtml"))?.byteCount == 13_000)
        // what cannot be read has no length either
        try await checkProcess(["ln", "-s", ".", "linked"], directory: directory.path)
        #expect(folder.storedLength(of: Link(href: "linked/b.xhtml")) == nil)
    }

    // MARK: cover

    private static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]

    @Test func `a cover is the picture that the publication names, also where that is restricted`() async throws {
        let comic = try await Streamer()
            .open(
                asset: PublicationAsset(path: try Fixtures.path("readium/misc/test-comicinfo.cbz")),
                allowUserInteraction: false
            )
        let cover = try #require(try await comic.cover())
        #expect(cover.mediaType.essence == "image/png")
        #expect(try await comic.get(Cover.href).read(upTo: Cover.limit) == cover.bytes)
        // the manifest names it already
        #expect(comic.links(withRelation: "cover").count == 1)
        let epub = try await Streamer()
            .open(
                asset: PublicationAsset(path: try Fixtures.path("readium/epub/childrens-literature.epub")),
                allowUserInteraction: false
            )
        #expect(try await epub.cover()?.mediaType.isBitmap == true)
    }

    @Test func `a cover that is not encrypted is the only resource of a restricted publication that is read`() async throws {
        for isEncrypted in [false, true] {
            var link = Link(href: "cover.png", mediaType: MediaType(known: "image/png"), relations: ["cover"])
            if isEncrypted { link.properties.encryption = Encryption(algorithm: Encryption.aes256CBC) }
            let manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml")], resources: [link])
            var builder = Publication.Builder(
                manifest: manifest,
                format: .epub,
                fetcher: SingleResourceFetcher(BytesResource(link, Self.png))
            )
            let error = Publication.OpeningError(.forbidden, "the loan is over")
            builder.services.set((any ContentProtectionService).self) { _ in
                RestrictedProtectionService(name: LocalizedString("A protection"), error: error)
            }
            let publication = builder.build()
            if isEncrypted {
                await #expect(throws: ResourceError(.forbidden, "")) { try await publication.get(link).read(upTo: 100) }
            } else {
                #expect(try await publication.get(link).read(upTo: 100) == Self.png)
                #expect(try await publication.cover()?.bytes == Self.png)
            }
            await #expect(throws: ResourceError(.forbidden, "")) { try await publication.get("a.xhtml").read(upTo: 100) }
        }
    }

    @Test func `a cover that is encrypted or no picture is none (swift 208)`() async throws {
        var link = Link(href: "cover.png", mediaType: MediaType(known: "image/png"))
        link.relations = ["cover"]
        let manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml")], resources: [link])
        for (bytes, isCover) in [(Self.png, true), ([7, 7, 7, 7], false), ([], false)] {
            let fetcher = SingleResourceFetcher(BytesResource(link, bytes))
            let publication = Publication.Builder(manifest: manifest, format: .epub, fetcher: fetcher).build()
            #expect(try await (publication.cover() != nil) == isCover)
        }
        let gone = Publication.Builder(manifest: manifest, format: .epub, fetcher: Lengths([:])).build()
        await #expect(throws: ResourceError(.unavailable, "")) { try await gone.cover() }
        let none = publication([chapter("a.xhtml")])
        #expect(try await none.cover() == nil)
        await #expect(throws: ResourceError(.notFound, "")) { try await none.get(Cover.href).read(upTo: 10) }
    }

    @Test func `a cover of a PDF document is its first page, drawn by another program`() async throws {
        _ = try requirePeer("pdftoppm")
        let path = directory.write("a.pdf", TestPDF(pages: 2).bytes)
        let pdf = try await Streamer().open(asset: PublicationAsset(path: path), allowUserInteraction: false)
        let cover = try #require(try await pdf.cover())
        #expect(cover.mediaType.essence == "image/jpeg")
        #expect(pdf.links(withRelation: "cover").map(\.href) == ["~readium/cover"])
        // one that lies in no file that has a name is drawn too
        let copied = try await PDFCover.draw(BytesResource(Link(href: "a.pdf"), TestPDF(pages: 1).bytes))
        #expect(copied == cover)
        #expect(try await PDFCover.draw(BytesResource(Link(href: "a.pdf"), Array("no document".utf8))) == nil)
    }

    @Test func `a cover is not drawn from what cannot be read, and not promised`() throws {
        let link = Link(href: "a.pdf", mediaType: Format.pdf.mediaType)
        let manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [link])
        for isRestricted in [false, true] {
            let fetcher = SingleResourceFetcher(BytesResource(link, TestPDF(pages: 1).bytes))
            var builder = Publication.Builder(manifest: manifest, format: .pdf, fetcher: fetcher)
            if isRestricted {
                let error = Publication.OpeningError(.forbidden, "the loan is over")
                builder.services.set((any ContentProtectionService).self) { _ in
                    RestrictedProtectionService(name: LocalizedString("A protection"), error: error)
                }
            }
            #expect(builder.build().links(withRelation: "cover").isEmpty == isRestricted)
        }
    }

    @Test func `the cover of an audio file is the picture in its tag`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "color=red:s=16x16:d=1", "-frames:v", "1", directory.file("c.png"),
        ])
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=d=1", "-i", directory.file("c.png"), "-map", "0:a", "-map", "1:v",
            "-c:v",
            "copy", "-disposition:v", "attached_pic", directory.file("a.mp3"),
        ])
        let sound = try await Streamer().open(asset: PublicationAsset(path: directory.file("a.mp3")), allowUserInteraction: false)
        #expect(try await sound.cover()?.mediaType.essence == "image/png")
        #expect(try await sound.cover()?.bytes == directory.read("c.png"))
    }

    // MARK: navigator

    private final class Closed: ContentProtectionService {
        let isRestricted: Bool
        let error: (any Error)?

        init(isRestricted: Bool, error: Publication.OpeningError?) {
            self.isRestricted = isRestricted
            self.error = error
        }
    }

    @Test func `a navigator refuses a restricted publication, and says why`() throws {
        let manifest = Manifest(metadata: Metadata(title: "A"), readingOrder: [chapter("a.xhtml")])
        var builder = Publication.Builder(manifest: manifest, format: .epub, fetcher: Lengths([:]))
        builder.services.set((any ContentProtectionService).self) { _ in
            Closed(isRestricted: true, error: Publication.OpeningError(.cancelled, "the loan is over"))
        }
        #expect(throws: Publication.OpeningError(.cancelled, "")) { try Navigator(builder.build()) }
        builder.services.set((any ContentProtectionService).self) { _ in Closed(isRestricted: true, error: nil) }
        #expect(throws: Publication.OpeningError(.forbidden, "")) { try Navigator(builder.build()) }
        builder.services.set((any ContentProtectionService).self) { _ in Closed(isRestricted: false, error: nil) }
        #expect(try Navigator(builder.build()).currentLocator.href == "a.xhtml")
        #expect(throws: Publication.OpeningError(.parsingFailed, "")) { try Navigator(publication([])) }
    }

    @Test func `a navigator goes from resource to resource, and to places`() async throws {
        let publication = publication(["a%20b.xhtml", "b.xhtml", "c.xhtml"].map(chapter), ["b.xhtml": 3000])
        let navigator = try Navigator(publication)
        #expect(!navigator.goBackward())
        #expect(navigator.goForward())
        #expect(navigator.currentLocator.href == "b.xhtml")
        #expect(navigator.currentLocator.locations.progression == 0)
        #expect(navigator.goForward())
        #expect(!navigator.goForward())
        #expect(navigator.go(to: Link(href: "b.xhtml#part", title: "Part")))
        #expect(navigator.currentLocator.locations.fragments == ["part"])
        #expect(navigator.currentLocator.title == "Part")
        #expect(!navigator.go(to: Link(href: "elsewhere.xhtml")))
        let position = try #require(try await publication.positions().dropFirst(2).first)
        #expect(navigator.go(to: position))
        #expect(navigator.currentLocator == position)
        var other = position
        other.href = "./a b.xhtml"
        #expect(navigator.go(to: other))
        #expect(navigator.currentLocator.href == "a%20b.xhtml")
        other.href = "https://example.org/"
        #expect(!navigator.go(to: other))
        #expect(try Navigator(publication, at: position).currentLocator == position)
    }
}
