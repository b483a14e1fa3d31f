// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("Publications that are no EPUB")
struct OtherFormatsTests {
    private let directory = TemporaryDirectory()
    private let warnings = WarningList()

    private func open(_ path: String) async throws -> Publication {
        try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: warnings)
    }

    @Test func `of comics are read with what their ComicInfo says`() async throws {
        let publication = try await open(try Fixtures.path("readium/misc/test-comicinfo.cbz"))
        let metadata = publication.metadata
        #expect(metadata.title == "Test Comic Issue")
        #expect(metadata.belongsTo["series"]?[0].name == "Test Series")
        #expect(metadata.belongsTo["series"]?[0].position == 5)
        #expect(metadata.published == "2024-06")
        #expect(metadata.authors.map(\.name) == ["Test Writer"])
        #expect(metadata.contributors[.penciler]?.map(\.name) == ["Test Artist"])
        #expect(metadata.subjects.map(\.name) == ["Action", "Adventure"])
        #expect(metadata.numberOfPages == 3)
        #expect(publication.manifest.conforms(to: .divina))
        #expect(publication.readingOrder.map(\.href) == (1...3).map { "TestComic/page-0\($0).png" })
        #expect(publication.links(withRelation: "cover").map(\.href) == ["TestComic/page-01.png"])
    }

    @Test func `of images alone are in the order that people expect`() async throws {
        let zip = try requirePeer("zip")
        try await checkProcess(["mkdir", "-p", directory.file("Tale/.x")])
        for name in ["p10.png", "p2.jpg", "P1.png", "notes.txt", ".hidden.png"] { directory.write("Tale/\(name)", [1]) }
        directory.write("Thumbs.db", [1])
        try await checkProcess([zip, "-qr", "a.cbz", "Tale", "Thumbs.db"], directory: directory.path)
        let publication = try await open(directory.file("a.cbz"))
        #expect(publication.metadata.title == "Tale")
        #expect(publication.readingOrder.map(\.href) == ["Tale/P1.png", "Tale/p2.jpg", "Tale/p10.png"])
        #expect(publication.readingOrder[0].relations == ["cover"])
    }

    @Test func `reads audio as archives of tracks, or one file with its tags`() async throws {
        let publication = try await open(try Fixtures.path("readium/misc/audiotest.zab"))
        #expect(publication.metadata.title == "Test Audiobook")
        #expect(publication.manifest.conforms(to: .audiobook))
        #expect(
            publication.readingOrder.map(\.href)
                == ["gtr-jazz.mp3", "Latin.mp3", "vln-lin-cs.mp3"].map { "Test%20Audiobook/\($0)" }
        )
        #expect(publication.readingOrder.allSatisfy { $0.mediaType?.essence == "audio/mpeg" })
        let single = try await open(try Fixtures.path("readium/lcp/audiotest-gtr-jazz.mp3"))
        #expect(single.readingOrder.count == 1)
        #expect(try await single.get(single.readingOrder[0]).length() == 152_381)
    }

    @Test func `of one tagged file say who speaks`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=d=1", "-metadata", "title=The Sea", "-metadata", "artist=A. Author",
            "-metadata", "language=en", "-f", "mp3", directory.file("sound"),
        ])
        let publication = try await open(directory.file("sound"))
        #expect(publication.metadata.title == "The Sea")
        #expect(publication.metadata.authors.map(\.name) == ["A. Author"])
        #expect(publication.format.mediaType.description == "audio/mpeg")
    }

    @Test(arguments: ["m4b", "m4a", "zip"])
    func `of a tagged MP4 file have its chapters, its length and its picture`(fileExtension: String) async throws {
        let (ffmpeg, zip) = (try requirePeer("ffmpeg"), try requirePeer("zip"))
        directory.write(
            "tags",
            """
            ;FFMETADATA1
            title=The Sea
            artist=A. Author
            composer=N. Narrator
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=1500
            title=Morning
            [CHAPTER]
            TIMEBASE=1/1000
            START=1500
            END=3000
            title=Evening
            """
        )
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "color=red:s=16x16:d=1", "-frames:v", "1", directory.file("c.png"),
        ])
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=d=3", "-i", directory.file("c.png"), "-i", directory.file("tags"),
            "-map", "0:a", "-map", "1:v", "-map_metadata", "2", "-c:a", "aac", "-c:v", "copy", "-disposition:v", "attached_pic",
            "-f", "mp4", directory.file("sound.m4a"),
        ])
        if fileExtension == "zip" {
            try await checkProcess([zip, "-q", "-0", "sound.zip", "sound.m4a"], directory: directory.path)
        } else if fileExtension != "m4a" {
            try await checkProcess(["mv", directory.file("sound.m4a"), directory.file("sound.\(fileExtension)")])
        }
        let publication = try await open(directory.file("sound.\(fileExtension)"))
        #expect(publication.metadata.title == "The Sea")
        #expect(publication.metadata.authors.map(\.name) == ["A. Author"])
        #expect(publication.metadata.narrators.map(\.name) == ["N. Narrator"])
        #expect(publication.tableOfContents.map(\.title) == ["Morning", "Evening"])
        #expect(publication.tableOfContents[1].href.hasSuffix("#t=1.5"))
        #expect(abs(try #require(publication.readingOrder[0].duration) - 3) < 0.1)
        #expect(try await publication.cover()?.bytes == directory.read("c.png"))
    }

    @Test func `in a Readium package are as its manifest says`() async throws {
        let publication = try await open(try Fixtures.path("readium/webpub/basic.webpub"))
        #expect(!publication.readingOrder.isEmpty)
        for link in publication.readingOrder where link.path != nil {
            _ = try await publication.get(link).read(0..<1)
        }
        let pdf = try await open(try Fixtures.path("readium/webpub/rwpm-unencrypted.lcpdf"))
        #expect(pdf.readingOrder.first?.mediaType?.essence == "application/pdf")
        #expect(try await pdf.get(pdf.readingOrder[0]).read(0..<5) == Array("%PDF-".utf8))
    }

    @Test func `in a package with strange addresses are found all the same`() async throws {
        let publication = try await open(try Fixtures.path("readium/lcp/audiotest.lcpa"))
        #expect(publication.readingOrder[0].href == "audio/gtr-jazz.mp3")
        #expect(publication.metadata.title == "audiotest")
        // two of three tracks are missing from this file
        #expect(warnings.warnings.filter { $0.severity == .major }.count == 2)
    }

    @Test func `of the W3C are read as Readium's are`() async throws {
        let zip = try requirePeer("zip")
        directory.write("publication.json", try Fixtures.bytes("readium/webpub/w3c-manifest.json"))
        try await checkProcess(["mkdir", "-p", directory.file("audio")])
        directory.write("audio/Latin.mp3", [1, 2, 3])
        try await checkProcess([zip, "-qr", "book.lpf", "publication.json", "audio"], directory: directory.path)
        let publication = try await open(directory.file("book.lpf"))
        let metadata = publication.metadata
        #expect(metadata.title == "audiotest")
        #expect(metadata.authors.map(\.name.description) == ["Alpha", "Beta", "Gamma", "Zeta"])
        #expect(metadata.authors[3].name.text(for: "en") == "Taze")
        #expect(metadata.authors[2].sortAs == "g")
        #expect(metadata.narrators.map(\.name) == ["Music"])
        #expect(metadata.languages == ["fr", "en"])
        #expect(metadata.duration == 150)
        #expect(publication.readingOrder.map(\.duration) == [10, 12])
        #expect(publication.readingOrder[1].mediaType?.essence == "audio/mpeg")
        #expect(try await publication.get(publication.readingOrder[1]).read(0..<9) == [1, 2, 3])
        #expect(W3CManifest.seconds("P1DT1H1M1.5S") == 90_061.5)
        #expect(W3CManifest.seconds("PT") == nil)
        #expect(W3CManifest.seconds("P1Y") == nil)
    }

    @Test(
        arguments: [
            #"<link href="meta/book.json" rel="publication">"#, #"<LINK REL='x Publication'   href=meta/book.json>"#,
            #"<!-- <link rel="publication" href="other.json"> --><title>x</title><link/rel="publication"/href="./meta/book.json?a&amp;b"/>"#,
        ]
    )
    func `of the W3C that have only a page are found through it`(link: String) async throws {
        let manifest =
            #"{"conformsTo":"https://www.w3.org/TR/audiobooks/","name":"By its page","readingOrder":["../a.mp3","b.mp3#t=1"]}"#
        let archive = MadeArchive([
            MadeArchive.Entry("index.html", "<!DOCTYPE html><html><head>\(link)</head><body>x</body></html>"),
            MadeArchive.Entry("meta/book.json", manifest), MadeArchive.Entry("a.mp3", "1"), MadeArchive.Entry("meta/b.mp3", "2"),
        ])
        let publication = try await open(directory.write("page.lpf", archive.bytes))
        #expect(publication.format.conforms(to: .lpf))
        #expect(publication.metadata.title == "By its page")
        #expect(publication.readingOrder.map(\.href) == ["a.mp3", "meta/b.mp3#t=1"])
        #expect(try await publication.get(publication.readingOrder[1]).read(0..<9) == Array("2".utf8))
    }

    @Test func `with a page that leads to no manifest are of no format, unless the page is all there is`() async throws {
        let page = MadeArchive.Entry("index.html", "<!DOCTYPE html><html><head><title>x</title></head><body>x</body></html>")
        for (entries, code) in [
            ([page], Publication.OpeningError.Code.parsingFailed),
            ([page, MadeArchive.Entry("other.txt", "y")], .unsupportedFormat),
        ] {
            let path = directory.write("page.unknown", MadeArchive(entries).bytes)
            await #expect(throws: Publication.OpeningError(code, "")) { try await open(path) }
        }
    }

    @Test func `of the W3C whose page holds the manifest are read from it, and begin with it`() async throws {
        let page = """
            <html><head><title> A
             page </title><script>"</notscript>"; var a = "<link rel='publication' href='no.json'>"</script>
            <link rel="publication" href="#m"><script type="application/ld+json" id="m">{"author":"A. Author"}</SCRIPT></head></html>
            """
        let path = directory.write("embedded.lpf", MadeArchive([MadeArchive.Entry("index.html", page)]).bytes)
        let publication = try await open(path)
        #expect(publication.metadata.title == "A page")
        #expect(publication.metadata.authors.map(\.name) == ["A. Author"])
        #expect(publication.readingOrder.map(\.href) == ["index.html"])
        #expect(publication.readingOrder.first?.mediaType?.isHTML == true)
        // titles in the body belong to drawings
        let drawn = "<link rel=publication href=#m></head><body><svg><title>No</title></svg>"
        let script = "<script id=m type='application/ld+json'>{}</script>"
        for (words, title) in [
            ("<title>R&amp;D &lt;1&#62; &#x41;&copy; &</title>", "R&D <1> A© &"), ("", nil),
        ] as [(String, String?)] {
            #expect(EntryPage("<html><head>\(words)\(drawn)\(script)").title == title)
        }
        for link in ["", "<link rel=publication href='#m'>", "<link rel=publication href=none.json>", "<link rel=publication>"] {
            let bytes = MadeArchive([MadeArchive.Entry("index.html", "<html>\(link)</html>")]).bytes
            await #expect(throws: Publication.OpeningError(.parsingFailed, ""), "\(link)") {
                try await open(directory.write("none.lpf", bytes))
            }
        }
    }
}
