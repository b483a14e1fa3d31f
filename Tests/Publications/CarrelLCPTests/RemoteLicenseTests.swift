// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelPublication
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP

@Suite("The license of a package on a server")
struct RemoteLicenseTests {
    private let directory = TemporaryDirectory()
    private let clock = ManualClock(Instant(milliseconds: 1_795_000_000_000))  // 18 November 2026
    private let status = LicenseStatusServer()

    /// Serves the files of the directory by ranges.
    private func server() throws -> (server: HTTPServer, base: String) {
        let folder = directory
        var router = Router()
        router.on(.get, "/{name}") { request, parameters in
            guard let bytes = folder.read(parameters["name"]) else { return HTTPResponse(.notFound) }
            return HTTPResponse.serving(Representation(bytes, contentType: "application/octet-stream"), for: request)
        }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let port = try #require(try server.start().first?.port)
        return (server, "http://127.0.0.1:\(port)")
    }

    @Test func `is renewed over HTTP and stored separately, where the next opening finds it`() async throws {
        let test = try await TestProvider()
        let provider = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
            try await test.certificates.sign($0, with: "provider")
        }
        try status.start()
        var terms = LicenseProvider.Terms()
        terms.id = "license-1"
        terms.rights = #"{"end":"2026-12-01T00:00:00Z"}"#
        terms.links = [status.statusLink]
        let book = try await ProtectedPublication.epub(at: directory.file("book.epub"), chapters: 2, .lcp(provider, terms))
        let before = directory.read("book.epub")
        terms.updated = "2026-11-18T00:00:00Z"
        terms.rights = #"{"end":"2027-01-15T00:00:00Z"}"#
        let new = try await provider.license(terms, key: book.contentKey, type: "application/epub+zip")
        status.state.withLock { $0.license = book.license }
        status.state.withLock { $0.renewed = (new, "2026-11-18T00:00:00Z") }
        let (server, base) = try server()
        let profiles = try test.profiles

        func open(isOffline: Bool = false) async throws -> Publication {
            var configuration = LCPService.Configuration()
            configuration.profiles = profiles
            configuration.isOffline = isOffline
            let store = LCPStore(path: directory.file("lcp.sqlite"))
            let service = LCPService(store: store, client: HTTPClient(), configuration: configuration, clock: clock)
            return try await Streamer(contentProtections: [service.contentProtection()], onAskCredentials: nil).open(
                asset: PublicationAsset(url: "\(base)/book.epub"),
                allowUserInteraction: false,
                credentials: "open sesame"
            )
        }
        let end = try #require(Instant.parse("2027-01-15T00:00:00Z"))
        let publication = try await open()
        #expect(!publication.isRestricted, "\(String(describing: publication.protectionError))")
        let renewal = try await publication.lcpLicense?.renew()
        #expect(renewal == .renewed(until: end))
        #expect(directory.read("book.epub") == before)
        await status.stop()

        // its own license has ended by then, and only this device has the newer one
        clock.set(try #require(Instant.parse("2027-01-10T00:00:00Z")))
        let again = try await open(isOffline: true)
        #expect(!again.isRestricted, "\(String(describing: again.protectionError))")
        #expect(again.lcpLicense?.document.rights.end == end)
        let chapter = try await again.get(again.readingOrder[1]).read(upTo: 1 << 20)
        #expect(chapter == ProtectedPublication.chapter(1))
        await server.shutdown(grace: .zero)
    }
}
