// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelJSON
import CarrelPublication
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP

@Suite("A license that stands alone")
struct StandaloneLicenseTests {
    private let directory = TemporaryDirectory()

    /// Serves the files of the directory by ranges, and counts.
    private func withServer(_ body: (_ base: String, _ asked: Locked<Int>) async throws -> Void) async throws {
        let asked = Locked(0)
        let folder = directory
        var router = Router()
        router.on(.get, "/{name}") { request, parameters in
            asked.withLock { $0 += 1 }
            guard let bytes = folder.read(parameters["name"]) else { return HTTPResponse(.notFound) }
            return HTTPResponse.serving(Representation(bytes, contentType: "application/octet-stream"), for: request)
        }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let port = try #require(try server.start().first?.port)
        try await body("http://127.0.0.1:\(port)", asked)
        await server.shutdown(grace: .zero)
    }

    private func open(
        _ profiles: ProfileRegistry,
        isOffline: Bool = false,
        warnings: WarningList = WarningList()
    ) async throws -> Publication {
        var configuration = LCPService.Configuration()
        configuration.profiles = profiles
        configuration.isOffline = isOffline
        let service = LCPService(
            store: LCPStore(path: directory.file("lcp.sqlite")),
            client: HTTPClient(),
            configuration: configuration
        )
        return try await Streamer(contentProtections: [service.contentProtection()], onAskCredentials: nil)
            .open(
                asset: PublicationAsset(path: directory.file("a.lcpl")),
                allowUserInteraction: false,
                credentials: "open sesame",
                warnings: warnings
            )
    }

    @Test func `opens the publication that it leads to, which is read by ranges`() async throws {
        let test = try await TestProvider()
        let provider = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
            try await test.certificates.sign($0, with: "provider")
        }
        let terms = LicenseProvider.Terms()
        let made = try await ProtectedPublication.audiobook(
            at: directory.file("a.lcpa"),
            tracks: 3,
            byteCount: 1_000_000,
            .lcp(provider, terms)
        )
        try await withServer { base, asked in
            let license = try await provider.license(
                terms,
                key: made.contentKey,
                type: "application/audiobook+lcp",
                href: "\(base)/a.lcpa"
            )
            directory.write("a.lcpl", license)
            let publication = try await open(try test.profiles)
            #expect(!publication.isRestricted, "\(String(describing: publication.protectionError))")
            #expect(publication.format.mediaType.description == "application/audiobook+zip")
            #expect(publication.readingOrder.count == 3)
            let range = Int64(700_001)..<700_100
            let part = try await publication.get(publication.readingOrder[1]).read(range)
            #expect(part == ProtectedPublication.content(range))
            #expect(asked.withLock { $0 } <= 6)
            await #expect(throws: Publication.OpeningError(.unavailable, "")) {
                try await open(try test.profiles, isOffline: true)
            }
            let size = try #require(directory.read("a.lcpa")).count
            for (declared, isRight) in [(size, true), (size - 1, false)] {
                directory.write(
                    "a.lcpl",
                    try await provider.license(
                        terms,
                        key: made.contentKey,
                        type: "application/audiobook+lcp",
                        href: "\(base)/a.lcpa",
                        length: declared
                    )
                )
                let heard = WarningList()
                #expect(try await !open(try test.profiles, warnings: heard).isRestricted)
                #expect(heard.warnings.contains { $0.message.contains("its license says \(size - 1)") } == !isRight)
            }
        }
    }

    @Test func `leads to a package whose container is looked at, too`() async throws {
        let zip = try requirePeer("zip")
        let test = try await TestProvider()
        let provider = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
            try await test.certificates.sign($0, with: "provider")
        }
        let terms = LicenseProvider.Terms()
        let made = try await ProtectedPublication.epub(at: directory.file("a.epub"), chapters: 1, .lcp(provider, terms))
        directory.write("a|b.txt", "notes")
        try await checkProcess([zip, "-q", "a.epub", "a|b.txt"], directory: directory.path)
        try await withServer { base, _ in
            let type = "application/epub+zip"
            directory.write(
                "a.lcpl",
                try await provider.license(terms, key: made.contentKey, type: type, href: "\(base)/a.epub")
            )
            let heard = WarningList()
            let publication = try await open(try test.profiles, warnings: heard)
            #expect(!publication.isRestricted, "\(String(describing: publication.protectionError))")
            let words = "the name of entry \"a|b.txt\" has a character that EPUB does not allow, U+007C"
            #expect(heard.warnings.map(\.message) == [words])
        }
    }

    /// Opening reads ranges of the publication, and sees its length; only the check reads all of it.
    @Test func `is compared with all bytes of its publication by the check, whose hash may be in base 16 or 64`() async throws {
        let test = try await TestProvider()
        let bytes = ProtectedPublication.content(0..<200_000)
        directory.write("a.epub", bytes)
        let digest = SHA256.hash(bytes.rawSpan)
        let hex = Hex.encode(digest)
        let otherHash = "it has another SHA-256 than the license says"
        let cases: [(members: [String: JSON], fault: String?)] = [
            ([:], nil), (["length": 200_000, "hash": .string(hex)], nil),
            (["hash": .string(Base64.encode(digest))], nil), (["hash": .string(String(hex.reversed()))], otherHash),
            (["hash": .string(Base64.encode(digest.reversed()))], otherHash),
            (["length": 199_999, "hash": .string(hex)], "it has 200000 bytes instead of 199999"),
        ]
        try await withServer { base, _ in
            for (members, fault) in cases {
                var link: JSONObject = [
                    "rel": "publication", "href": .string("\(base)/a.epub"), "type": "application/octet-stream",
                ]
                for (name, value) in members { link[name] = value }
                var document = try test.unsigned()
                document["links"] = [.object(link)]
                directory.write("a.lcpl", try await test.sign(document))
                var checker = ComplianceChecker(client: HTTPClient())
                checker.profiles = try test.profiles
                let checks = try await checker.check(PublicationAsset(path: directory.file("a.lcpl")))
                let found = checks.first { $0.name == "links.publication" }?.outcome
                #expect(found == fault.map { .failed($0) } ?? .passed, "\(members.keys)")
            }
        }
    }

    @Test func `without a trusted signature is not followed`() async throws {
        let test = try await TestProvider()
        try await withServer { base, asked in
            var document = try test.unsigned()
            document["links"] = [["rel": "publication", "href": .string("\(base)/a.lcpa"), "type": "application/audiobook+lcp"]]
            directory.write("a.lcpl", try await test.sign(document))
            await #expect(throws: Publication.OpeningError(.forbidden, "")) { try await open(ProfileRegistry()) }
            #expect(asked.withLock { $0 } == 0)
        }
    }
}
