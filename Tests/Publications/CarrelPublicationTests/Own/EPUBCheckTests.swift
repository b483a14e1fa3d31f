// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

@testable import CarrelPublication

@Suite("An EPUB of our own")
struct EPUBCheckTests {
    private let directory = TemporaryDirectory()

    private static let all: [String: [String: [UInt8]]] = [
        "complete": MadeEPUB.complete, "fixed-layout": MadeEPUB.fixedLayout, "version-2": MadeEPUB.version2,
    ]

    @Test(arguments: all.keys.sorted())
    func `has nothing that EPUBCheck finds wrong`(name: String) async throws {
        let java = try requirePeer("java")
        let jar = "/usr/share/java/epubcheck.jar"
        guard unsafe access(jar, R_OK) == 0 else { try Test.cancel("epubcheck is not installed: nothing to test against") }
        let path = directory.write("\(name).epub", MadeEPUB.archive(try #require(Self.all[name])).bytes)
        let result = try await runProcess([java, "-Xshare:auto", "-jar", jar, path], timeout: .seconds(120))
        #expect(result.status.isSuccess, "\(result.text) \(result.errorText)")
        #expect(result.text.contains("No errors or warnings detected"), "\(result.text) \(result.errorText)")
    }

    private func open(_ files: [String: [UInt8]]) async throws -> Publication {
        let warnings = WarningList()
        let path = directory.write("own.epub", MadeEPUB.archive(files).bytes)
        let publication = try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: warnings)
        #expect(warnings.warnings == [])
        #expect(!publication.isProtected)
        for link in publication.readingOrder + publication.manifest.resources {
            let bytes = try await publication.get(link).read(upTo: 1 << 20)
            #expect(!bytes.isEmpty, "\(link.href)")
        }
        return publication
    }

    @Test func `is opened with its metadata`() async throws {
        let metadata = try await open(MadeEPUB.complete).metadata
        #expect(metadata.identifier == MadeEPUB.identifier)
        #expect(metadata.title.text(for: "en") == "The Whole" && metadata.title.text(for: "fr") == "Le Tout")
        #expect(metadata.sortAs == "Whole, The" && metadata.subtitle == "And Its Parts")
        #expect(metadata.languages == ["en", "fr"])
        #expect(metadata.authors.map(\.name) == ["Ada Author"] && metadata.authors[0].sortAs == "Author, Ada")
        #expect(metadata.contributors[.illustrator]?.map(\.name) == ["Ina Ink"])
        #expect(metadata.contributors[.editor]?.map(\.name) == ["Ed Itor"])
        #expect(metadata.narrators.map(\.name) == ["Nora Narrator"] && metadata.publishers.map(\.name) == ["House"])
        #expect(metadata.published == "2020-02-03" && metadata.modified == "2021-03-04T05:06:07Z")
        #expect(metadata.subjects.map(\.name) == ["Sea"] && metadata.subjects[0].code == "FIC047000")
        #expect(metadata.belongsTo["series"]?.map(\.name) == ["Series"] && metadata.belongsTo["series"]?[0].position == 2)
        #expect(metadata.belongsTo["collection"]?.map(\.name) == ["Set"])
        #expect(metadata.layout == .reflowable && metadata.readingProgression == .ltr)
        #expect(metadata.duration == 4.5)
        #expect(metadata.otherMetadata["mediaOverlay"]?["activeClass"]?.string == "now")
        #expect(metadata.otherMetadata["presentation"]?["flow"]?.string == "paginated")
        #expect(metadata.description == "All of it.")
        let accessibility = try #require(metadata.accessibility)
        #expect(accessibility.conformsTo == ["http://www.idpf.org/epub/a11y/accessibility-20170105.html#wcag-aa"])
        #expect(accessibility.accessModes == ["textual", "visual"])
        #expect(accessibility.accessModesSufficient == [["textual", "visual"], ["textual"]])
        #expect(accessibility.features == ["alternativeText", "synchronizedAudioText"] && accessibility.hazards == ["none"])
        #expect(accessibility.summary == "For all." && accessibility.certifiedBy == "Checkers")
        #expect(accessibility.certifierCredential == "Sworn")
    }

    @Test func `is opened with all its navigation`() async throws {
        let manifest = try await open(MadeEPUB.complete).manifest
        #expect(manifest.tableOfContents.map(\.title) == ["One and only", "Rest"])
        #expect(
            manifest.tableOfContents[1].children.map(\.href) == ["c2%C3%A9", "plate", "notes"].map { "EPUB/text/\($0).xhtml" }
        )
        #expect(manifest.landmarks.map(\.href) == ["EPUB/nav.xhtml#toc", "EPUB/text/c1.xhtml"])
        #expect(manifest.pageList.map(\.title) == ["1", "2"] && manifest.pageList[1].href == "EPUB/text/c1.xhtml#pg2")
        #expect(manifest.collection("loi").map(\.title) == ["A dot"])
        #expect(manifest.collection("lot").map(\.href) == ["EPUB/text/c2%C3%A9.xhtml#t1"])
        // all of it survives being written
        let json = manifest.json()
        #expect(try Manifest(json.rawSpan) == manifest)
    }

    @Test func `is opened with unchanged resources`() async throws {
        let publication = try await open(MadeEPUB.complete)
        let order = publication.readingOrder
        #expect(
            order.map(\.href) == ["EPUB/text/c1.xhtml", "EPUB/text/c2%C3%A9.xhtml", "EPUB/text/plate.xhtml", "EPUB/extra.pdf"]
        )
        #expect(order[0].alternates.map(\.href) == ["EPUB/audio/c1.smil"] && order[0].alternates[0].duration == 4.5)
        #expect(order[1].properties.contains == ["mathml", "js", "svg"])
        #expect(order[2].properties.json["layout"]?.string == "fixed" && order[2].properties.page == "center")
        #expect(order[2].properties.json["spread"]?.string == "none")
        #expect(order[3].mediaType?.essence == "application/pdf")
        #expect(order[3].alternates.map(\.href) == ["EPUB/text/extra.xhtml"])
        #expect(publication.links(withRelation: "cover").map(\.href) == ["EPUB/cover.png"])
        #expect(publication.links(withRelation: "contents").map(\.href) == ["EPUB/nav.xhtml"])
        #expect(publication.manifest.resources.contains { $0.href == "EPUB/text/notes.xhtml" })
        let font = try #require(publication.link(withHREF: "EPUB/fonts/f.otf"))
        #expect(font.properties.encryption?.algorithm == "http://www.idpf.org/2008/embedding")
        #expect(try await publication.get(font).read(upTo: 1 << 20) == MadeEPUB.font)
        #expect(try await publication.get("EPUB/audio/c1.mp3").read(100..<200) == Array(MadeEPUB.sound[100..<200]))
    }

    @Test func `of pages laid out by its publisher says how they stand`() async throws {
        let publication = try await open(MadeEPUB.fixedLayout)
        #expect(publication.metadata.layout == .fixed && publication.metadata.readingProgression == .rtl)
        #expect(publication.metadata.otherMetadata["presentation"]?["spread"]?.string == "landscape")
        #expect(publication.metadata.otherMetadata["presentation"]?["orientation"]?.string == "portrait")
        #expect(publication.readingOrder.map(\.properties.page) == ["right", "left"])
        #expect(publication.readingOrder.map { $0.mediaType?.essence } == ["application/xhtml+xml", "image/svg+xml"])
        #expect(publication.tableOfContents.map(\.title) == ["Page", "Two"])
    }

    @Test func `of version 2 is opened with what it says in its own way`() async throws {
        let publication = try await open(MadeEPUB.version2)
        let metadata = publication.metadata
        #expect(metadata.authors.map(\.sortAs) == ["Author, Ada"])
        #expect(metadata.contributors[.translator]?.map(\.name) == ["Tess Lator"])
        #expect(metadata.subjects.map(\.name) == ["Sea", "Wind"])
        #expect(metadata.published == "1999-01-02" && metadata.modified == "2001-02-03")
        #expect(metadata.belongsTo["series"]?[0].position == 3)
        #expect(publication.links(withRelation: "cover").map(\.href) == ["EPUB/cover.png"])
        #expect(
            publication.tableOfContents.map(\.title) == ["One"] && publication.tableOfContents[0].children.map(\.title) == ["Two"]
        )
        #expect(publication.manifest.pageList.map(\.href) == ["EPUB/c1.html#p1"])
        #expect(publication.manifest.landmarks.map(\.title) == ["Start", "Contents"])
        #expect(publication.readingOrder.map(\.href) == ["EPUB/c1.html"])
    }
}
