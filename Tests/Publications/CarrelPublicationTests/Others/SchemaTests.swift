// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

/// Written documents match the schemas of Readium. The fixtures have no schemas of positions, locators, content protection and
/// OPDS feeds.
@Suite("A manifest that is written")
struct SchemaTests {
    private let directory = TemporaryDirectory()
    private static let schema = "schema/webpub/publication.schema.json"

    /// Faults of the publications themselves, which are not ours to change.
    private static let faultsOfOthers: [String: [String]] = [
        // a feature and a hazard that are not in the vocabularies
        "epub/thorium/a11y_metadata.epub": ["/metadata/accessibility/feature/29 enum", "/metadata/accessibility/hazard/4 enum"],
        "epub/thorium/a11y_metadata_2025.epub": [
            "/metadata/accessibility/feature/30 enum", "/metadata/accessibility/hazard/3 enum",
        ],
    ]

    private func manifest(_ path: String, _ name: String) async throws -> [UInt8] {
        let publication = try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false)
        defer { publication.close() }
        return publication.manifest.json()
    }

    @Test func `for a publication of others follows the schema, but for what that publication says`() async throws {
        var manifests: [String: [UInt8]] = [:]
        for (name, outcome) in FixtureTable.all {
            if case .refused = outcome { continue }
            manifests[name] = try await manifest(try Fixtures.path("readium/\(name)"), name)
        }
        for name in LCPFixture.all.map(\.name) + ["lcp/wasteland-otf-obf.epub", "lcp/daisy.pdf", "pdf/pypdf/unencrypted.pdf"] {
            manifests[name] = try await manifest(try Fixtures.path("readium/\(name)"), name)
        }
        #expect(manifests.count > 40)
        let faults = try await JSONSchemas.faults(of: manifests, by: Self.schema, in: directory)
        #expect(faults == Self.faultsOfOthers)
        let documents = manifests.filter { name, _ in name.hasSuffix(".lcpdf") || name.hasPrefix("sniffing/pdf") }
        #expect(documents.count == 5)
        let faultsOfDocuments = try await JSONSchemas.faults(of: documents, by: "schema/lcp/lcpdf.schema.json", in: directory)
        #expect(faultsOfDocuments == [:])
    }

    @Test func `for a package document of others follows the schema`() async throws {
        var manifests: [String: [UInt8]] = [:]
        for name in PackageFixtureTests.names where name.hasPrefix("opf/opf/") && name.hasSuffix(".opf") {
            manifests[name] = try await UnpackedBook().open(try Fixtures.bytes("readium/\(name)")).manifest.json()
        }
        #expect(manifests.count > 35)
        let faults = try await JSONSchemas.faults(of: manifests, by: Self.schema, in: directory)
        // of the direction that is up to the reader the schema knows nothing any more; readers do
        #expect(faults == ["opf/opf/progression-default.opf": ["/metadata/readingProgression enum"]])
    }

    @Test func `for a publication with everything in it follows the schema`() async throws {
        let books = ["complete": MadeEPUB.complete, "fixed": MadeEPUB.fixedLayout, "old": MadeEPUB.version2]
        var manifests: [String: [UInt8]] = [:]
        for (name, files) in books {
            manifests[name] = try await manifest(directory.write("\(name).epub", MadeEPUB.archive(files).bytes), name)
        }
        // the same link twice, and files of an unknown kind
        let link = #"<link rel="record" href="https://books.example/1.json" media-type="application/json"/>"#
        let package = MadeArchive.package.replacing("</metadata>", with: link + link + "</metadata>")
        let twice = MadeArchive.epub(["EPUB/package.opf": Array(package.utf8)])
        manifests["twice"] = try await manifest(directory.write("twice.epub", twice.bytes), "twice")
        let sound = MadeArchive([
            MadeArchive.Entry("1.mp3", MadeEPUB.sound), MadeArchive.Entry("2.mp3", MadeEPUB.sound),
            MadeArchive.Entry("list.xspf", "x"),
        ])
        manifests["sound"] = try await manifest(directory.write("sound.zab", sound.bytes), "sound")
        let faults = try await JSONSchemas.faults(of: manifests, by: Self.schema, in: directory)
        // EPUB 2 has days there, and no time of day is made up
        #expect(faults == ["old": ["/metadata/modified format"]])
        // what is wrong is found
        let wrong = ["wrong": Array(#"{"metadata": {"modified": "today"}, "readingOrder": [{"href": "a"}], "links": [1]}"#.utf8)]
        #expect(
            try await JSONSchemas.faults(of: wrong, by: Self.schema, in: directory).mapValues { Set($0) } == [
                "wrong": ["/metadata required", "/metadata/modified format", "/readingOrder/0 required", "/links/0 type"]
            ]
        )
    }
}
