// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTPClient
import CarrelPublication
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

// The examples of Readium's proposal 006, "Content Protection", as a third party writes them: without @testable.
import CarrelLCP

@Suite("The examples of the proposal")
struct SeedExampleTests {
    private let directory = TemporaryDirectory()

    /// As the manual has it.
    private func read(
        _ path: String,
        copying text: String,
        to pasteboard: inout [String],
        _ lcpService: LCPService,
        _ authentication: Person
    ) async throws -> Publication {
        let streamer = Streamer(contentProtections: [lcpService.contentProtection(authentication)])
        let publication = try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: true)
        if let error = publication.protectionError { print(error) }
        if await publication.rights.copy(text) { pasteboard.append(text) }
        try await publication.lcpLicense?.renew()
        return publication
    }

    @Test func `open a book, ask for its passphrase, copy from it and renew it`() async throws {
        let test = try await TestProvider()
        let provider = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
            try await test.certificates.sign($0, with: "provider")
        }
        let server = LicenseStatusServer()
        try server.start()
        var terms = LicenseProvider.Terms()
        terms.id = "license-1"
        terms.links = [server.statusLink]
        terms.rights = #"{"copy":10,"end":"2099-01-01T00:00:00Z"}"#
        let book = try await ProtectedPublication.epub(at: directory.file("book.epub"), chapters: 1, .lcp(provider, terms))
        terms.updated = "2026-11-18T00:00:00Z"
        terms.rights = #"{"copy":10,"end":"2099-02-01T00:00:00Z"}"#
        let renewed = try await provider.license(terms, key: book.contentKey, type: "application/epub+zip")
        server.state.withLock { $0.license = book.license }
        server.state.withLock { $0.renewed = (renewed, "2026-11-18T00:00:00Z") }

        var configuration = LCPService.Configuration()
        configuration.profiles = try test.profiles
        let store = LCPStore(path: directory.file("lcp.sqlite"))
        let lcpService = LCPService(store: store, client: HTTPClient(), configuration: configuration)
        let hints = Locked<[String]>([])
        let person = Person { hint in
            hints.withLock { $0.append(hint) }
            return "open sesame"
        }
        var pasteboard: [String] = []
        let publication = try await read(book.path, copying: "a sentence", to: &pasteboard, lcpService, person)
        #expect(!publication.isRestricted)
        #expect(hints.withLock { $0 } == ["What Ali Baba said"])
        #expect(pasteboard == ["a sentence"])
        let canCopy = await publication.rights.canCopy
        #expect(!canCopy)
        #expect(server.asked("renew").count == 1)
        #expect(publication.lcpLicense?.document.rights.end == Instant.parse("2099-02-01T00:00:00Z"))
        await server.stop()
    }

    @Test func `extend a publication by what a protection knows of it`() async throws {
        directory.write("a.mp3", [0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 0, 0])
        let publication = try await Streamer(onAskCredentials: nil).open(
            asset: PublicationAsset(path: directory.file("a.mp3")),
            allowUserInteraction: false,
            onCreatePublication: { builder in
                builder.services.set((any ContentProtectionService).self) { _ in ShelfProtectionService(license: "mine") }
            }
        )
        #expect(publication.shelfLicense == "mine")
        #expect(publication.isProtected)
        #expect(publication.lcpLicense == nil)
    }
}
