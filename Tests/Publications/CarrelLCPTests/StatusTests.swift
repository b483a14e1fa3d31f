// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelPublication
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP

@Suite("A license with a status at its provider")
struct StatusTests {
    let directory = TemporaryDirectory()
    private let clock = ManualClock(Instant(milliseconds: 1_795_000_000_000))  // 18 November 2026
    let server = LicenseStatusServer()

    /// A shelf: a server, a provider, and a book with two chapters.
    struct Shelf {
        let provider: LicenseProvider
        var certificates: TestCertificates?
        let profiles: ProfileRegistry
        var terms: LicenseProvider.Terms
        var book: ProtectedPublication
    }

    func withShelf(
        rights: String = #"{"end":"2026-12-01T00:00:00Z"}"#,
        _ body: (inout Shelf) async throws -> Void
    ) async throws {
        let test = try await TestProvider()
        let certificate = test.certificates.directory.read("provider.der") ?? []
        let provider = LicenseProvider(certificate: certificate) { try await test.certificates.sign($0, with: "provider") }
        try server.start()
        var terms = LicenseProvider.Terms()
        terms.id = "license-1"
        terms.rights = rights
        terms.links = [server.statusLink]
        let book = try await ProtectedPublication.epub(at: directory.file("book.epub"), chapters: 2, .lcp(provider, terms))
        server.state.withLock { $0.license = book.license }
        var shelf = Shelf(
            provider: provider,
            certificates: test.certificates,
            profiles: try test.profiles,
            terms: terms,
            book: book
        )
        do {
            try await body(&shelf)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    func service(
        _ shelf: Shelf,
        store: String = "lcp.sqlite",
        timeout: Duration = .seconds(5),
        isOffline: Bool = false
    ) throws -> LCPService {
        var configuration = LCPService.Configuration()
        configuration.profiles = shelf.profiles
        configuration.deviceName = "Ann's reader"
        configuration.languages = ["fr", "en"]
        configuration.timeout = timeout
        configuration.isOffline = isOffline
        return LCPService(
            store: LCPStore(path: directory.file(store)),
            client: HTTPClient(),
            configuration: configuration,
            clock: clock
        )
    }

    func open(_ shelf: Shelf, _ service: LCPService) async throws -> Publication {
        try await Streamer(contentProtections: [service.contentProtection()], onAskCredentials: nil)
            .open(asset: PublicationAsset(path: shelf.book.path), allowUserInteraction: false, credentials: "open sesame")
    }

    /// The shelf's license after a renewal.
    func renewed(_ shelf: Shelf, until end: String, updated: String) async throws -> [UInt8] {
        var terms = shelf.terms
        terms.updated = updated
        terms.rights = #"{"end":"\#(end)"}"#
        return try await shelf.provider.license(terms, key: shelf.book.contentKey, type: "application/epub+zip")
    }

    @Test func `is registered once, in the background, under a name that stays`() async throws {
        try await withShelf { shelf in
            for _ in 0..<3 {
                let service = try service(shelf)
                let publication = try await open(shelf, service)
                #expect(!publication.isRestricted)
                await service.finishBackgroundWork()
            }
            let asked = server.asked("register")
            #expect(asked.count == 1)
            #expect(asked.first?.hasSuffix("&name=Ann%27s%20reader") == true, "\(asked)")
            #expect(server.state.withLock { $0.devices.count } == 1)
            #expect(server.state.withLock { $0.headers.allSatisfy { $0["Accept-Language"] == "fr, en" } })
            let id = try await service(shelf).store.deviceID()
            #expect(server.state.withLock { $0.devices } == [id])
        }
    }

    @Test(arguments: [HTTPStatus.badRequest, .internalServerError, .serviceUnavailable])
    func `defect 1: is registered again until the server has taken it`(status: HTTPStatus) async throws {
        try await withShelf { shelf in
            server.state.withLock { $0.failures["register"] = (status, "{}") }
            for _ in 0..<2 {
                let service = try service(shelf)
                _ = try await open(shelf, service)
                await service.finishBackgroundWork()
            }
            #expect(server.asked("register").count == 2)
            let document = try LicenseDocument(try #require(shelf.book.license))
            let isRegistered = try await service(shelf).store.isRegistered(document)
            #expect(!isRegistered)
            server.state.withLock { $0.failures = [:] }
            for _ in 0..<2 {
                let service = try service(shelf)
                _ = try await open(shelf, service)
                await service.finishBackgroundWork()
            }
            #expect(server.asked("register").count == 3)
        }
    }

    @Test func `is open before the server has taken its registration`() async throws {
        try await withShelf { shelf in
            server.gate.close()
            let service = try service(shelf)
            let publication = try await open(shelf, service)
            #expect(!publication.isRestricted)
            #expect(server.asked("register").isEmpty)
            server.gate.open()
            await service.finishBackgroundWork()
            #expect(server.asked("register").count == 1)
        }
    }

    @Test(arguments: ["no JSON", #"{"id":"another license","status":"revoked"}"#, #"{"status":"revoked"}"#])
    func `opens when the server says what cannot be understood`(body: String) async throws {
        try await withShelf { shelf in
            server.state.withLock { $0.statusBody = body }
            let publication = try await open(shelf, try service(shelf))
            #expect(!publication.isRestricted)
        }
    }

    @Test func `opens when the server cannot be reached`() async throws {
        try await withShelf { shelf in
            await server.stop()
            let publication = try await open(shelf, try service(shelf))
            #expect(!publication.isRestricted)
            #expect(publication.lcpLicense?.status == nil)
        }
    }

    @Test(arguments: [("revoked", "lcp.revoked"), ("returned", "lcp.returned"), ("cancelled", "lcp.loan-cancelled")])
    func `defect 8: stays closed when it was taken back, also where its own dates are good`(
        status: String,
        code: String
    ) async throws {
        try await withShelf { shelf in
            for (license, updated) in [(shelf.book.license, "2026-11-01T10:00:00Z"), (nil, "2026-11-05T10:00:00Z")] {
                server.state.withLock { state in
                    state.status = status
                    state.license = license
                    state.licenseUpdated = updated
                }
                let publication = try await open(shelf, try service(shelf))
                #expect(publication.isRestricted)
                #expect((publication.protectionError as? Publication.OpeningError)?.code.identifier == code)
                await #expect(throws: ResourceError(.forbidden, "")) {
                    try await publication.get("OEBPS/chapter-1.xhtml").read(0..<1)
                }
                #expect(server.asked("register").isEmpty)
            }
        }
    }

    @Test func `reports registered devices when it was revoked, and never if there are none`() async throws {
        try await withShelf { shelf in
            server.state.withLock { $0.status = "revoked" }
            let none = try await open(shelf, try service(shelf))
            #expect(none.protectionErrorMessage?.contains("device") == false)
            server.state.withLock { $0.devices = ["1", "2"] }
            let two = try await open(shelf, try service(shelf))
            #expect(two.protectionErrorMessage?.hasSuffix("by 2 devices") == true)
        }
    }

    @Test func `is renewed: the new license is in the publication, which stays open for reading`() async throws {
        try await withShelf { shelf in
            let new = try await renewed(shelf, until: "2027-01-15T00:00:00Z", updated: "2026-11-18T00:00:00Z")
            server.state.withLock { $0.renewed = (new, "2026-11-18T00:00:00Z") }
            let service = try service(shelf)
            let publication = try await open(shelf, service)
            let before = publication.get("OEBPS/chapter-0.xhtml")
            let end = try #require(Instant.parse("2027-01-15T00:00:00Z"))
            let renewal = try await publication.lcpLicense?.renew(until: end)
            #expect(renewal == .renewed(until: end))
            #expect(publication.lcpLicense?.document.rights.end == end)
            let asked = try #require(server.asked("renew").first)
            #expect(asked.hasPrefix("end=2027-01-15T00%3A00%3A00.000Z&id="))
            #expect(asked.hasSuffix("&name=Ann%27s%20reader"))
            let inside = try await publication.get("META-INF/license.lcpl").read(upTo: 1 << 20)
            #expect(inside == new)
            for (number, resource) in [(0, before), (1, publication.get("OEBPS/chapter-1.xhtml"))] {
                let text = try await resource.read(upTo: 1 << 20)
                #expect(text == ProtectedPublication.chapter(number))
            }
            let unzip = try requirePeer("unzip")
            try await checkProcess([unzip, "-tq", shelf.book.path])
            clock.set(try #require(Instant.parse("2027-01-10T00:00:00Z")))
            await server.stop()
            let again = try await open(shelf, try self.service(shelf, store: "other.sqlite"))
            #expect(!again.isRestricted)
        }
    }

    @Test func `that has expired can be renewed and opened then`() async throws {
        try await withShelf { shelf in
            clock.set(try #require(Instant.parse("2026-12-02T00:00:00Z")))
            server.state.withLock { $0.status = "active" }
            let service = try service(shelf)
            let closed = try await open(shelf, service)
            #expect(closed.isRestricted)
            #expect((closed.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.expired")
            let new = try await renewed(shelf, until: "2027-01-15T00:00:00Z", updated: "2026-12-02T00:00:00Z")
            server.state.withLock { $0.renewed = (new, "2026-12-02T00:00:00Z") }
            try await closed.lcpLicense?.renew()
            #expect(closed.isRestricted)
            #expect(try await !open(shelf, service).isRestricted)
        }
    }

    @Test func `may have a page for renewals instead`() async throws {
        try await withShelf { shelf in
            let link = #"{"rel":"renew","href":"https://provider.example/renew","type":"text/html"}"#
            server.state.withLock { $0.links = [link] }
            let publication = try await open(shelf, try service(shelf))
            let renewal = try await publication.lcpLicense?.renew()
            #expect(renewal == .page("https://provider.example/renew"))
        }
    }

    @Test func `is not renewed when the provider refuses, whose words are there for the user`() async throws {
        try await withShelf { shelf in
            let type = "http://readium.org/license-status-document/error/renew/date"
            let body = #"{"type":"\#(type)","title":"Incorrect renewal period.","detail":"No."}"#
            server.state.withLock { $0.failures["renew"] = (.forbidden, body) }
            let license = try #require(try await open(shelf, try service(shelf)).lcpLicense)
            let error = await #expect(throws: LCPError.self) { try await license.renew() }
            #expect(error?.code == .refused)
            #expect(error?.message == "the license server answered 403: Incorrect renewal period. No.")
            #expect(error?.problem?.type == type)
            #expect(error?.problem?.status == 403)
        }
    }

    @Test func `is given back, and does not open any more`() async throws {
        try await withShelf { shelf in
            let service = try service(shelf)
            let publication = try await open(shelf, service)
            await service.finishBackgroundWork()
            try await returnLoan(of: publication)
            #expect(publication.lcpLicense?.status?.status == .returned)
            let again = try await open(shelf, service)
            #expect((again.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.returned")
        }
    }

    @Test func `is replaced by a newer one, once that was checked like the first`() async throws {
        try await withShelf { shelf in
            let new = try await renewed(shelf, until: "2027-02-01T00:00:00Z", updated: "2026-11-10T00:00:00Z")
            var forged = new
            forged.replace("2027-02-01", with: "2037-02-01")
            server.state.withLock { state in
                state.licenseUpdated = "2026-11-10T00:00:00Z"
                state.license = forged
            }
            let kept = try await open(shelf, try service(shelf))
            #expect(!kept.isRestricted)
            #expect(kept.lcpLicense?.document.rights.end == Instant.parse("2026-12-01T00:00:00Z"))
            server.state.withLock { $0.license = new }
            let replaced = try await open(shelf, try service(shelf))
            #expect(replaced.lcpLicense?.document.rights.end == Instant.parse("2027-02-01T00:00:00Z"))
            #expect(server.asked("license").count == 2)
            // it is in the publication now
            let again = try await open(shelf, try service(shelf, store: "other.sqlite"))
            #expect(again.lcpLicense?.document.rights.end == Instant.parse("2027-02-01T00:00:00Z"))
            #expect(server.asked("license").count == 2)
        }
    }

    @Test func `asks no server that is not public unless it may`() async throws {
        try await withShelf { shelf in
            var configuration = LCPService.Configuration()
            configuration.profiles = shelf.profiles
            let store = LCPStore(path: directory.file("lcp.sqlite"))
            let publication = try await open(shelf, LCPService(store: store, configuration: configuration, clock: clock))
            #expect(!publication.isRestricted)
            #expect(server.asked("status").isEmpty)
        }
    }

    @Test(arguments: [("revoked", "lcp.revoked"), ("returned", "lcp.returned"), ("cancelled", "lcp.loan-cancelled")])
    func `stays closed without the server once that has closed it, until the server says otherwise`(
        status: String,
        code: String
    ) async throws {
        try await withShelf { shelf in
            server.state.withLock { $0.status = status }
            _ = try await open(shelf, try service(shelf))
            let closed = try await open(shelf, try service(shelf, isOffline: true))
            #expect((closed.protectionError as? Publication.OpeningError)?.code.identifier == code)
            server.state.withLock { $0.failures["status"] = (.serviceUnavailable, "") }
            let still = try await open(shelf, try service(shelf))
            #expect((still.protectionError as? Publication.OpeningError)?.code.identifier == code)
            server.state.withLock { state in
                state.failures = [:]
                state.status = "active"
            }
            #expect(try await !open(shelf, try service(shelf)).isRestricted)
            #expect(try await !open(shelf, try service(shelf, isOffline: true)).isRestricted)
        }
    }

    @Test func `stays closed without the server once it was given back`() async throws {
        try await withShelf { shelf in
            try await open(shelf, try service(shelf)).lcpLicense?.giveBack()
            let closed = try await open(shelf, try service(shelf, isOffline: true))
            #expect((closed.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.returned")
        }
    }

    @Test func `does not come back once a newer one took its place`() async throws {
        try await withShelf { shelf in
            let old = try #require(directory.read("book.epub"))
            let new = try await renewed(shelf, until: "2026-11-25T00:00:00Z", updated: "2026-11-10T00:00:00Z")
            server.state.withLock { state in
                state.licenseUpdated = "2026-11-10T00:00:00Z"
                state.license = new
            }
            #expect(try await !open(shelf, try service(shelf)).isRestricted)
            #expect(try await !open(shelf, try service(shelf, isOffline: true)).isRestricted)
            directory.write("book.epub", old)
            let closed = try await open(shelf, try service(shelf, isOffline: true))
            #expect((closed.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.superseded")
            let elsewhere = try await open(shelf, try service(shelf, store: "other.sqlite", isOffline: true))
            #expect(!elsewhere.isRestricted)
        }
    }

    @Test func `has nothing from one of the same name that another provider issued`() async throws {
        try await withShelf { shelf in
            var terms = shelf.terms
            terms.provider = "https://other.example"
            terms.updated = "2026-11-10T00:00:00Z"
            let foreign = try LicenseDocument(
                try await shelf.provider.license(terms, key: shelf.book.contentKey, type: "application/epub+zip")
            )
            let own = try LicenseDocument(try #require(shelf.book.license))
            let store = LCPStore(path: directory.file("lcp.sqlite"))
            try await store.keep(foreign)
            try await store.noteRegistration(foreign)
            try await store.noteStanding(of: foreign, refusal: LCPError(.revoked, ""))
            let isRegistered = try await store.isRegistered(own)
            #expect(!isRegistered)
            #expect(own.nameHere != foreign.nameHere)
            await store.close()
            let publication = try await open(shelf, try service(shelf, isOffline: true))
            #expect(!publication.isRestricted)
            #expect(publication.lcpLicense?.document.provider == own.provider)
        }
    }

    @Test func `uses its own license if the stored one was changed or is signed under another root`() async throws {
        try await withShelf { shelf in
            let new = try await renewed(shelf, until: "2027-02-01T00:00:00Z", updated: "2026-11-10T00:00:00Z")
            var forged = new
            forged.replace("2027-02-01", with: "2037-02-01")
            let test = try await TestProvider()
            let other = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
                try await test.certificates.sign($0, with: "provider")
            }
            var terms = shelf.terms
            terms.updated = "2026-11-10T00:00:00Z"
            let foreign = try await other.license(terms, key: shelf.book.contentKey, type: "application/epub+zip")
            shelf = Shelf(
                provider: shelf.provider,
                profiles: ProfileRegistry([.basic(adding: shelf.profiles.anchors + [try test.anchor])]),
                terms: shelf.terms,
                book: shelf.book
            )
            for bytes in [forged, foreign] {
                let store = LCPStore(path: directory.file("lcp.sqlite"))
                try await store.keep(try LicenseDocument(bytes))
                await store.close()
                let publication = try await open(shelf, try service(shelf, isOffline: true))
                #expect(!publication.isRestricted)
                #expect(publication.lcpLicense?.document.updated == nil)
            }
        }
    }

    @Test func `is unchanged if the server has no newer license, whatever its clock shows`() async throws {
        try await withShelf { shelf in
            server.state.withLock { $0.licenseUpdated = "2026-11-01T10:00:00.500Z" }
            let before = directory.read("book.epub")
            for _ in 0..<2 {
                let publication = try await open(shelf, try service(shelf))
                #expect(!publication.isRestricted)
            }
            #expect(directory.read("book.epub") == before)
            #expect(server.asked("license").count == 2)
        }
    }

    @Test func `is not renewed by an answer that changes nothing`() async throws {
        try await withShelf { shelf in
            let license = try #require(try await open(shelf, try service(shelf)).lcpLicense)
            await #expect(throws: LCPError(.refused, "")) { try await license.renew() }
            #expect(server.asked("renew").count == 1)
        }
    }

    @Test func `stores its newer license separately if the publication is read-only`() async throws {
        try await withShelf { shelf in
            let new = try await renewed(shelf, until: "2027-02-01T00:00:00Z", updated: "2026-11-10T00:00:00Z")
            let store = LCPStore(path: directory.file("lcp.sqlite"))
            try await store.keep(try LicenseDocument(new))
            await store.close()
            server.state.withLock { $0.licenseUpdated = "2026-11-10T00:00:00Z" }
            let publication = try await open(shelf, try service(shelf))
            #expect(publication.lcpLicense?.document.rights.end == Instant.parse("2027-02-01T00:00:00Z"))
            #expect(server.asked("license").isEmpty)
        }
    }
}

extension [UInt8] {
    /// Puts a text in place of another of the same length, wherever that is.
    mutating func replace(_ text: String, with other: String) {
        let (old, new) = (Array(text.utf8), Array(other.utf8))
        for start in indices where self[start...].starts(with: old) { replaceSubrange(start..<start + old.count, with: new) }
    }
}
