// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelPublication

/// Opens protected publications with a known content key: a technology without its license checks.
private struct KnownKeyProtection: ContentProtection {
    let key: [UInt8]

    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        do {
            let links = try await fetcher.links()
            guard let license = links.first(where: { $0.href.hasSuffix("license.lcpl") }) else { return nil }
            _ = try await fetcher.get(license).read(upTo: 1 << 20)
            let decrypting = TransformingFetcher.decrypting(
                with: try ContentKey(Secret(key)),
                properties: try await fetcher.encryptedResources()
            )
            return ProtectedAsset(asset: asset, fetcher: TransformingFetcher(fetcher, decrypting))
        } catch {
            throw (error as? ResourceError).map { Publication.OpeningError($0) }
                ?? Publication.OpeningError(.forbidden, "\(error)")
        }
    }
}

@Suite("A protected publication")
struct ProtectedPublicationTests {
    private let directory = TemporaryDirectory()

    private func provider() async throws -> LicenseProvider {
        let certificates = try TestCertificates()
        try await certificates.make("authority", extensions: TestCertificates.authority, key: .rsa(bits: 2048))
        let certificate = try await certificates.make(
            "provider",
            by: "authority",
            extensions: TestCertificates.signer,
            key: .rsa(bits: 2048)
        )
        return LicenseProvider(certificate: certificate) { try await certificates.sign($0, with: "provider") }
    }

    private func open(_ made: ProtectedPublication, _ asset: PublicationAsset? = nil) async throws -> Publication {
        try await Streamer(contentProtections: [KnownKeyProtection(key: made.contentKey)])
            .open(asset: asset ?? PublicationAsset(path: made.path), allowUserInteraction: false)
    }

    @Test func `defect 15: is read whatever its resources are called`() async throws {
        let names = ["100% sure.xhtml", "a b.xhtml", "a%20b.xhtml", "Ä ö.xhtml", "c#d?.xhtml"]
        let made = try await ProtectedPublication.epub(
            at: directory.file("book.epub"),
            chapters: 3,
            names: names,
            .lcp(try await provider(), LicenseProvider.Terms())
        )
        let publication = try await open(made)
        #expect(publication.readingOrder.count == 8)
        for (number, link) in publication.readingOrder.enumerated() {
            #expect(link.properties.encryption?.isLCP == true, "\(link.href)")
            let text = try await publication.get(link).read(upTo: 1 << 20)
            #expect(text == ProtectedPublication.chapter(number), "\(link.href)")
        }
    }

    @Test func `with unescaped names in encryption.xml is read`() async throws {
        let zip = try requirePeer("zip")
        let made = try await ProtectedPublication.epub(
            at: directory.file("book.epub"),
            chapters: 1,
            names: ["50%25 off.xhtml"],
            .lcp(try await provider(), LicenseProvider.Terms())
        )
        try await checkProcess([try requirePeer("unzip"), "-q", "book.epub", "META-INF/*"], directory: directory.path)
        let text = String(decoding: try #require(directory.read("META-INF/encryption.xml")), as: UTF8.self)
        let parts = text.split(separator: "50%2525%20off.xhtml")
        #expect(parts.count == 2)
        directory.write("META-INF/encryption.xml", parts.joined(separator: "50%25 off.xhtml"))
        try await checkProcess([zip, "-q", "book.epub", "META-INF/encryption.xml"], directory: directory.path)
        let publication = try await open(made)
        let chapter = try #require(publication.readingOrder.last)
        #expect(try await publication.get(chapter).read(upTo: 1 << 20) == ProtectedPublication.chapter(1))
    }

    @Test func `of web pages, a PDF or sound is read by ranges`() async throws {
        let provider = try await provider()
        let web = try await ProtectedPublication.webpub(
            at: directory.file("web.webpub"),
            chapters: 4,
            .lcp(provider, LicenseProvider.Terms())
        )
        let pages = try await open(web)
        #expect(pages.format.conforms(to: .lcp))
        for (number, link) in pages.readingOrder.enumerated() {
            #expect(try await pages.get(link).read(upTo: 1 << 20) == ProtectedPublication.chapter(number))
        }
        let pdf = try await ProtectedPublication.pdf(
            at: directory.file("a.lcpdf"),
            byteCount: 3_000_000,
            .lcp(provider, LicenseProvider.Terms())
        )
        let document = try await open(pdf)
        #expect(document.format.mediaType.description == "application/pdf+lcp")
        let resource = document.get(document.readingOrder[0])
        #expect(try await resource.length() == 3_000_000)
        for start in [0, 1, 65_521, 1_999_999, 2_999_990] as [Int64] {
            let range = start..<min(3_000_000, start + 70_001)
            #expect(try await resource.read(range) == ProtectedPublication.content(range))
        }
    }

    @Test func `decrypts as openssl does`() async throws {
        let openssl = try requirePeer("openssl")
        let unzip = try requirePeer("unzip")
        let made = try await ProtectedPublication.pdf(
            at: directory.file("a.lcpdf"),
            byteCount: 300_007,
            .lcp(try await provider(), LicenseProvider.Terms())
        )
        let entry = try await runProcess([unzip, "-p", made.path, "publication.pdf"]).output
        let plain = try await runProcess(
            [
                openssl, "enc", "-d", "-aes-256-cbc", "-K", Hex.encode(made.contentKey), "-iv", Hex.encode(entry.prefix(16)),
            ],
            input: Array(entry.dropFirst(16))
        )
        #expect(plain.status.isSuccess)
        #expect(plain.output == ProtectedPublication.content(0..<300_007))
    }

    @Test func `on a server is opened by five requests at most, and its first byte is one more`() async throws {
        let made = try await ProtectedPublication.audiobook(
            at: directory.file("a.lcpa"),
            tracks: 5,
            byteCount: 4_000_000,
            .lcp(try await provider(), LicenseProvider.Terms())
        )
        try await withServer { base, asked in
            let publication = try await open(made, PublicationAsset(url: "\(base)/a.lcpa"))
            #expect(publication.readingOrder.count == 5)
            let opening = asked.withLock { $0.count }
            #expect(opening <= 5, "\(asked.withLock { $0 })")
            let track = publication.get(publication.readingOrder[2])
            let first = try await track.read(0..<65_536)
            #expect(first == ProtectedPublication.content(0..<65_536))
            #expect(asked.withLock { $0.count } == opening + 1, "\(asked.withLock { $0 })")
            let second = try await track.read(65_536..<131_072)
            #expect(second == ProtectedPublication.content(65_536..<131_072))
            #expect(asked.withLock { $0.count } == opening + 2)
            let seek = try await track.read(3_000_001..<3_000_101)
            #expect(seek == ProtectedPublication.content(3_000_001..<3_000_101))
            #expect(asked.withLock { $0.count } == opening + 3)
        }
    }

    @Test func `with a separate license opens like one with its license inside`() async throws {
        let provider = try await provider()
        let made = try await ProtectedPublication.epub(
            at: directory.file("book.epub"),
            chapters: 2,
            .lcp(provider, LicenseProvider.Terms())
        )
        let zip = try requirePeer("zip")
        try await checkProcess([zip, "-qd", "book.epub", "META-INF/license.lcpl"], directory: directory.path)
        try await withServer { base, _ in
            for var asset in [PublicationAsset(path: made.path), PublicationAsset(url: "\(base)/book.epub")] {
                let without = try await Streamer().open(asset: asset, allowUserInteraction: false)
                #expect(without.isRestricted)
                asset.license = made.license
                let publication = try await open(made, asset)
                #expect(try await publication.get("META-INF/license.lcpl").read(upTo: 1 << 20) == made.license)
                #expect(try await publication.get("OEBPS/chapter-1.xhtml").read(upTo: 1 << 20) == ProtectedPublication.chapter(1))
            }
        }
    }

    @Test func `has its documents read once`() async throws {
        let made = try await ProtectedPublication.epub(
            at: directory.file("book.epub"),
            chapters: 2,
            .lcp(try await provider(), LicenseProvider.Terms())
        )
        try await withServer { base, asked in
            // longer than the cached end
            let padding = directory.write("padding", [UInt8](repeating: 7, count: 200_000))
            try await checkProcess([try requirePeer("zip"), "-q0", made.path, padding, "-j"])
            _ = try await open(made, PublicationAsset(url: "\(base)/book.epub"))
            let ranges = asked.withLock { $0 }
            #expect(Set(ranges).count == ranges.count, "\(ranges)")
        }
    }

    /// Serves the files of the directory by ranges, and notes which were asked for.
    private func withServer(_ body: (_ base: String, _ asked: Locked<[String]>) async throws -> Void) async throws {
        let asked = Locked<[String]>([])
        let folder = directory
        var router = Router()
        router.on(.get, "/{name}") { request, parameters in
            asked.withLock { $0.append(request.headers["Range"] ?? "all") }
            guard let bytes = folder.read(parameters["name"]) else { return HTTPResponse(.notFound) }
            return HTTPResponse.serving(Representation(bytes, contentType: "application/octet-stream"), for: request)
        }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let port = try #require(try server.start().first?.port)
        try await body("http://127.0.0.1:\(port)", asked)
        await server.shutdown(grace: .zero)
    }
}
