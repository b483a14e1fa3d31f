// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

/// Package documents of one feature each (readium/swift-toolkit, `OPF`).
@Suite("A package document of others")
struct PackageFixtureTests {
    private let book = UnpackedBook()

    private typealias Check = @Sendable (Publication) throws -> Void

    static let names: Set<String> = Set(
        checks.keys.map { "opf/opf/\($0)" } + ["opf/opf/displayOptions.xml", "opf/container/container.xml"]
    )

    /// The expected results; files with more details have separate tests (EPUBTests).
    private static let checks: [String: Check] = identities.merging(renditions) { $1 }.merging(fallbacks) { $1 }
        .merging(testedElsewhere) { $1 }

    private static let alice = "Alice's Adventures in Wonderland"

    private static let identities: [String: Check] = [
        "minimal.opf": {
            #expect($0.metadata.title.description == alice)
            #expect($0.metadata.identifier == nil && $0.metadata.languages.isEmpty && $0.metadata.authors.isEmpty)
            #expect($0.readingOrder.map(\.href) == ["EPUB/titlepage.xhtml"])
            #expect($0.readingOrder[0].mediaType?.essence == "application/xhtml+xml")
        },
        "links-spine.opf": { #expect($0.readingOrder.map(\.href) == ["EPUB/titlepage.xhtml"]) },
        "with-namespaces-prefix.opf": {
            #expect($0.metadata.title.description == alice)
            #expect($0.readingOrder.map(\.href) == ["EPUB/titlepage.xhtml"])
        },
        "identifier-unique.opf": { #expect($0.metadata.identifier == "urn:uuid:2") },
        "title-main.opf": { #expect($0.metadata.title == "Main title takes precedence") },
        "sortAs-epub2.opf": { #expect($0.metadata.sortAs == "Aventures") },
        "sortAs-epub3.opf": { #expect($0.metadata.sortAs == "Aventures") },
        "dates-epub3.opf": {
            #expect($0.metadata.published == "1865-07-04")
            #expect($0.metadata.modified == "2012-04-02T12:47:00Z")
        },
        "version-default.opf": { #expect($0.metadata.title.description == alice) },
        "version-epub2.opf": { #expect($0.metadata.title.description == alice) },
        "version-epub3.opf": { #expect($0.metadata.title.description == alice) },
        "cover-epub2.opf": { #expect($0.links(withRelation: "cover").map(\.href) == ["EPUB/cover.jpg"]) },
        "cover-epub3.opf": { #expect($0.links(withRelation: "cover").map(\.href) == ["EPUB/cover.jpg"]) },
        "tdm-epub2.opf": checkTextMining,
        "tdm-epub3.opf": checkTextMining,
    ]

    @Sendable
    private static func checkTextMining(_ publication: Publication) {
        let tdm = publication.metadata.otherMetadata["tdm"]
        #expect(tdm?["reservation"]?.string == "all")
        #expect(tdm?["policy"]?.string == "https://provider.com/policies/policy.json")
    }

    private static let renditions: [String: Check] = [
        "progression-none.opf": { #expect($0.metadata.readingProgression == nil) },
        "progression-default.opf": { #expect($0.metadata.readingProgression == .auto) },
        "progression-ltr.opf": { #expect($0.metadata.readingProgression == .ltr) },
        "progression-rtl.opf": { #expect($0.metadata.readingProgression == .rtl) },
        "progression-readingOrder.opf": { #expect($0.metadata.readingProgression == .rtl) },
        "progression-spine.opf": { #expect($0.metadata.readingProgression == .rtl) },
        "rendition-metadata.opf": {
            #expect($0.metadata.layout == .fixed)
            let presentation = $0.metadata.otherMetadata["presentation"]
            #expect(presentation?["orientation"]?.string == "landscape")
            #expect(presentation?["flow"]?.string == "scrolled-doc")
            #expect(presentation?["spread"]?.string == "both")
        },
    ]

    private static let fallbacks: [String: Check] = [
        "all-images-in-spine.opf": {
            #expect($0.readingOrder.map(\.href) == ["EPUB/page1.jpg", "EPUB/page2.png", "EPUB/page3.gif"])
            #expect($0.readingOrder.map { $0.alternates.map(\.href) } == [["EPUB/page1.xhtml"], ["EPUB/page2.xhtml"], []])
            #expect($0.manifest.resources.isEmpty)
        },
        "fallback-image-in-spine.opf": {
            #expect($0.readingOrder.map { $0.mediaType?.essence } == ["image/jpeg", "image/png"])
            #expect($0.readingOrder.map { $0.alternates.map(\.href) } == [["EPUB/page1.xhtml"], ["EPUB/page2.xhtml"]])
        },
        "fallback-html-in-spine.opf": {
            #expect($0.readingOrder.map(\.href) == ["EPUB/page1.xhtml", "EPUB/page2.xhtml"])
            #expect($0.readingOrder.map { $0.alternates.map(\.href) } == [["EPUB/page1.jpg"], ["EPUB/page2.png"]])
        },
        "fallback-general.opf": {
            #expect($0.readingOrder.map(\.href) == ["EPUB/chapter1.xhtml", "EPUB/chapter2.xhtml"])
            #expect($0.readingOrder.map { $0.alternates.map(\.href) } == [["EPUB/chapter1-alt.xhtml"], ["EPUB/chapter2.pdf"]])
            #expect($0.readingOrder[1].alternates[0].mediaType?.essence == "application/pdf")
        },
    ]

    /// Those with tests of their own have a title and a reading order at least.
    private static let testedElsewhere: [String: Check] = Dictionary(
        uniqueKeysWithValues: [
            "accessibility-epub2.opf", "accessibility-epub3.opf", "collections-epub2.opf", "collections-epub3.opf",
            "contributors.opf", "dates-epub2.opf", "dc-metadata.opf", "fallback-image-html-mixed.opf", "full-metadata.opf",
            "guide-epub2.opf", "links-properties.opf", "links.opf", "media-overlays.opf", "subjects-localized.opf",
            "subjects-multiple.opf", "subjects-single.opf", "title-localized.opf", "title-multiple-subtitles.opf",
        ].map { ($0, checkSomething) }
    )

    @Sendable
    private static func checkSomething(_ publication: Publication) {
        #expect(!publication.readingOrder.isEmpty && publication.metadata.title.description.count > 3)
    }

    @Test(arguments: checks.keys.sorted())
    func `gives the manifest that it should`(name: String) async throws {
        let check = try #require(Self.checks[name])
        try check(try await book.open(try Fixtures.bytes("readium/opf/opf/\(name)")))
    }

    @Test func `is found where the container says that it is`() async throws {
        let container = try Fixtures.bytes("readium/opf/container/container.xml")
        let package = try Fixtures.bytes("readium/opf/opf/minimal.opf")
        let publication = try await book.open(
            Array("<none/>".utf8),
            ["META-INF/container.xml": container, "EPUB/content.opf": package]
        )
        #expect(publication.metadata.title.description == Self.alice)
    }

    @Test func `of EPUB 2 has its layout in the options of a bookseller`() async throws {
        let options = try Fixtures.bytes("readium/opf/opf/displayOptions.xml")
        let package = try Fixtures.bytes("readium/opf/opf/version-epub2.opf")
        for name in ["com.apple.ibooks.display-options.xml", "com.kobobooks.display-options.xml"] {
            let publication = try await UnpackedBook().open(package, ["META-INF/\(name)": options])
            #expect(publication.metadata.layout == .fixed)
            #expect(publication.metadata.otherMetadata["presentation"]?["orientation"]?.string == "landscape")
        }
        let newer = try Fixtures.bytes("readium/opf/opf/version-epub3.opf")
        let third = try await UnpackedBook().open(newer, ["META-INF/com.apple.ibooks.display-options.xml": options])
        #expect(third.metadata.layout == nil)
    }
}
