// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelPublication
import CarrelTesting
import ProtectedPublications
import Testing

@testable import CarrelLCP

@Suite("A catalog with passphrases")
struct CatalogTests {
    private let directory = TemporaryDirectory()
    private let digest = Self.digest("open sesame")

    private static func digest(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return SHA256.hash(bytes.rawSpan)
    }

    @Test func `of OPDS 1 or 2 has digests in base 64 or 16`() async throws {
        let (base64, base16) = (Base64.encode(digest), Hex.encode(digest))
        let first = { (text: String, namespace: String) in
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xmlns:l="\(namespace)"><entry><title>A</title>
            <link rel="http://opds-spec.org/acquisition" type="application/vnd.readium.lcp.license.v1.0+json" href="a.lcpl">
            <l:hashed_passphrase>\(text)</l:hashed_passphrase></link></entry></feed>
            """
        }
        let second = { (text: String) in
            #"{"publications":[{"metadata":{"title":"A"},"links":[{"href":"a.lcpl","properties":{"lcp_hashed_passphrase":"\#(text)"}}]}]}"#
        }
        let namespace = "http://readium.org/lcp-specs/ns"
        let good = [
            first(base64, namespace), first(base16, namespace), first(" \(base64)\n", namespace), second(base64), second(base16),
        ]
        for text in good {
            let keys = CatalogPassphrases.all(in: Array(text.utf8))
            #expect(keys == [UserKey(passphrase: "open sesame")], "\(text)")
        }
        let bad = [
            first(base64, "http://example.com"), first("AAAA", namespace), second("none"), "", "<html>", "[1]",
            first(String(base16.dropLast()), namespace),
        ]
        for text in bad {
            let keys = CatalogPassphrases.all(in: Array(text.utf8))
            #expect(keys.isEmpty, "\(text)")
        }
    }

    @Test func `opens its books without a question`() async throws {
        let test = try await TestProvider()
        let provider = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
            try await test.certificates.sign($0, with: "provider")
        }
        let terms = LicenseProvider.Terms()
        let book = try await ProtectedPublication.epub(at: directory.file("book.epub"), chapters: 1, .lcp(provider, terms))
        var configuration = LCPService.Configuration()
        configuration.profiles = try test.profiles
        configuration.isOffline = true
        let service = LCPService(store: LCPStore(path: directory.file("lcp.sqlite")), configuration: configuration)
        let streamer = Streamer(contentProtections: [service.contentProtection()], onAskCredentials: nil)
        let asset = PublicationAsset(path: book.path)
        let closed = try await streamer.open(asset: asset, allowUserInteraction: false)
        #expect((closed.protectionError as? Publication.OpeningError)?.code == .credentialsRequired)

        let text = #"{"links":[{"properties":{"lcp_hashed_passphrase":"\#(Base64.encode(digest))"}}]}"#
        let count = try await service.addPassphrases(fromCatalog: Array(text.utf8))
        #expect(count == 1)
        let publication = try await streamer.open(asset: asset, allowUserInteraction: false)
        #expect(!publication.isRestricted)
        let chapter = try await publication.get(publication.readingOrder[0]).read(upTo: 1 << 20)
        #expect(chapter == ProtectedPublication.chapter(0))
    }
}
