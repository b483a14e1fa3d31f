// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelLCP

@Suite("A list of revoked certificates")
struct RevocationTests {
    private let directory = TemporaryDirectory()
    private let clock = ManualClock(.now())

    @Test func `of version 1 with a weak digest is read, in PEM too`() throws {
        let list = try RevocationList(try Fixtures.bytes("readium/pki/edrlab-test-empty.crl"))
        #expect(list.hasWeakDigest)
        #expect(list.thisUpdate == Instant.parse("2017-09-26T13:55:15Z"))
        #expect(list.nextUpdate == Instant.parse("2027-09-24T13:55:15Z"))
        #expect(list.isSigned(by: TrustAnchor.edrlabTestRoots[0].subjectPublicKeyInfo))
        #expect(!list.isSigned(by: TrustAnchor.edrlabTestRoots[1].subjectPublicKeyInfo))
        let provider = try Certificate.all(in: try Fixtures.bytes("readium/pki/cert-edrlab-test-2016.pem"))[0]
        #expect(!list.revokes(provider))
    }

    @Test func `of others takes back the certificate that it names`() throws {
        let pki = "readium/pki/revoked/"
        let list = try RevocationList(try Fixtures.bytes(pki + "Server-localhost-sv.crl"))
        let root = try Certificate(der: try Fixtures.bytes(pki + "EdelCurlRoot-ca.der"))
        #expect(list.isSigned(by: root.subjectPublicKeyInfo))
        #expect(list.revokes(try Certificate(der: try Fixtures.bytes(pki + "Server-localhost-sv.der"))))
        #expect(!list.revokes(root))
    }

    @Test(arguments: ["", "0", "<html>", "-----BEGIN X509 CRL-----\n-----END X509 CRL-----\n"])
    func `is refused when it is none`(text: String) {
        #expect(throws: CryptoError(.certificate)) { try RevocationList(Array(text.utf8)) }
    }

    @Test func `counts when the root signed it that signed the certificate`() async throws {
        let provider = try await TestProvider()
        let license = try UnverifiedLicense(try await provider.license())
        let empty = try RevocationList(try await provider.revocationList())
        _ = try license.verified(by: provider.profiles, revocationLists: [empty])
        let list = try RevocationList(try await provider.revocationList(["provider"]))
        #expect(throws: LCPError(.certificateRevoked, "")) {
            try license.verified(by: provider.profiles, revocationLists: [empty, list])
        }
        // the same name and the same certificate, but another key
        let certificates = provider.certificates
        try await certificates.makeKey("other", .rsa(bits: 2048))
        let request = [
            "req", "-x509", "-new", "-key", certificates.directory.file("other.key"), "-subj", "/CN=root", "-days", "9",
        ]
        certificates.directory.write("other.pem", try await certificates.run(request, input: []))
        let foreign = try RevocationList(try await provider.revocationList(["provider"], signer: "other"))
        #expect(foreign.revokes(try license.certificate()))
        _ = try license.verified(by: provider.profiles, revocationLists: [foreign])
    }

    /// A server that answers what the closure says, and counts.
    private func withServer(
        _ answer: @escaping @Sendable () -> (HTTPStatus, [UInt8]),
        _ body: (_ url: String, _ asked: Locked<Int>) async throws -> Void
    ) async throws {
        let asked = Locked(0)
        var router = Router()
        router.on(.get, "/list.crl") { _, _ in
            asked.withLock { $0 += 1 }
            let (status, bytes) = answer()
            return HTTPResponse(status, body: .bytes(bytes))
        }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let port = try #require(try server.start().first?.port)
        try await body("http://127.0.0.1:\(port)/list.crl", asked)
        await server.shutdown(grace: .zero)
    }

    private func service(_ provider: TestProvider, _ url: String) throws -> LCPService {
        var configuration = LCPService.Configuration()
        configuration.profiles = try provider.profiles
        configuration.revocationListAddresses = [url]
        return LCPService(
            store: LCPStore(path: directory.file("lcp.sqlite")),
            client: HTTPClient(),
            configuration: configuration,
            clock: clock
        )
    }

    @Test func `defect 2: opens a license without an available list`() async throws {
        let provider = try await TestProvider()
        let license = try UnverifiedLicense(try await provider.license())
        let service = try service(provider, "http://127.0.0.1:1/list.crl")
        let verified = await service.verify(license)
        #expect(throws: Never.self) { try verified.get() }
        await service.finishBackgroundWork()
    }

    @Test func `is fetched in the background, stored, and fetched again after a week`() async throws {
        let provider = try await TestProvider()
        let license = try UnverifiedLicense(try await provider.license())
        let list = try await provider.revocationList(["provider"])
        try await withServer({ (.ok, list) }) { url, asked in
            let first = try service(provider, url)
            // what is not there yet is not waited for
            let before = await first.verify(license)
            #expect(throws: Never.self) { try before.get() }
            await first.finishBackgroundWork()
            let second = try service(provider, url)
            let after = await second.verify(license)
            #expect(throws: LCPError(.certificateRevoked, "")) { try after.get() }
            #expect(asked.withLock { $0 } == 1)
        }
    }

    @Test func `with a good digest takes the place of one with a broken digest that says it is newer`() async throws {
        let provider = try await TestProvider()
        let certificate = try UnverifiedLicense(try await provider.license()).certificate()
        let strong = try await provider.revocationList(["provider"], from: "20260601000000Z")
        let weak = try await provider.revocationList(digest: "sha1")
        let answer = Locked<(HTTPStatus, [UInt8])>((.ok, weak))
        try await withServer({ answer.withLock { $0 } }) { url, asked in
            let service = try service(provider, url)
            for (list, expected) in [(weak, weak), (strong, strong)] {
                clock.advance(by: .seconds(8 * 86_400))
                answer.withLock { $0 = (.ok, list) }
                service.lists.refresh(for: certificate)
                await service.finishBackgroundWork()
                let kept = await service.lists.current()
                #expect(kept.map(\.der) == [expected])
            }
        }
    }

    @Test func `that was made on a day that has not come is not kept, and its address is left alone for an hour`() async throws {
        let provider = try await TestProvider()
        let certificate = try UnverifiedLicense(try await provider.license()).certificate()
        let list = try await provider.revocationList()
        try await withServer({ (.ok, list) }) { url, asked in
            let service = try service(provider, url)
            clock.advance(by: .seconds(-3 * 86_400))
            for (pause, count) in [(0, 1), (3599, 1), (1, 2)] {
                clock.advance(by: .seconds(pause))
                service.lists.refresh(for: certificate)
                await service.finishBackgroundWork()
                #expect(asked.withLock { $0 } == count)
                let kept = await service.lists.current()
                #expect(kept.isEmpty)
            }
        }
    }

    @Test func `is not replaced by a captive portal's page, by another's list, or by an older one`() async throws {
        let provider = try await TestProvider()
        let license = try UnverifiedLicense(try await provider.license())
        let certificate = try license.certificate()
        let old = try await provider.revocationList()
        clock.set(.now())
        let strong = try await provider.revocationList(["provider"])
        let weak = try await provider.revocationList(digest: "sha1")
        let older = try await provider.revocationList(from: "20260601000000Z")
        let other = try await TestProvider().revocationList()
        let answer = Locked<(HTTPStatus, [UInt8])>((.ok, strong))
        try await withServer({ answer.withLock { $0 } }) { url, asked in
            let service = try service(provider, url)
            service.lists.refresh(for: certificate)
            await service.finishBackgroundWork()
            #expect(asked.withLock { $0 } == 1)
            clock.advance(by: .seconds(7 * 86_400 - 1))
            service.lists.refresh(for: certificate)
            await service.finishBackgroundWork()
            #expect(asked.withLock { $0 } == 1, "a week has not passed")
            let bad: [(HTTPStatus, [UInt8])] = [
                (.ok, Array("<html>Log in</html>".utf8)), (.ok, other), (.ok, weak), (.ok, older), (.notFound, old), (.ok, []),
            ]
            for (place, response) in bad.enumerated() {
                clock.advance(by: .seconds(8 * 86_400))
                answer.withLock { $0 = response }
                service.lists.refresh(for: certificate)
                await service.finishBackgroundWork()
                #expect(asked.withLock { $0 } == place + 2)
                let kept = await service.lists.current()
                #expect(kept.map(\.der) == [strong])
            }
        }
    }
}
