// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import Testing

struct `The certificates of the service itself` {
    private func agreement(_ test: TestService) async throws -> Certificate {
        let answer = try await test.send(.get, "/v1/license/certificate")
        #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/pkix-cert")
        return try Certificate(der: answer.body)
    }

    @Test func `name the key for agreement under its id, which the root vouches for`() async throws {
        let test = try await TestService(with: .authority)
        let keys = try await test.service.authority.keys()
        let certificate = try await agreement(test)
        let key = try #require(keys.document.agreementKey(at: test.clock.now))
        #expect(try P256.PublicKey(subjectPublicKeyInfo: certificate.subjectPublicKeyInfo) == key)
        let id = try #require(keys.document.keys.first { $0.use == .agreement }).key.thumbprint
        #expect(certificate.commonName == id && !certificate.maySign)
        try CertificateRoots([keys.root]).verify(certificate, through: [], at: test.clock.now)
        #expect(try await agreement(test).der == certificate.der, "it is issued once")
        let folder = TemporaryDirectory()
        let root = folder.write("root.pem", Certificate.pem(keys.trust.root))
        let file = folder.write("agreement.pem", Certificate.pem(certificate.der))
        let seconds = String(test.clock.now.milliseconds / 1000)
        try await checkProcess(["openssl", "verify", "-x509_strict", "-attime", seconds, "-CAfile", root, file])
    }

    @Test func `follow a rotation of that key and of the root`() async throws {
        let test = try await TestService(with: .authority)
        let first = try await agreement(test)
        test.clock.advance(by: .seconds(2))
        _ = try await test.service.authority.rotate("agreement", by: .operator)
        let second = try await agreement(test)
        #expect(second.commonName != first.commonName)
        test.clock.advance(by: .seconds(2))
        _ = try await test.service.authority.rotate("root", by: .operator)
        let third = try await agreement(test)
        #expect(third.commonName == second.commonName && third.der != second.der)
        let root = try await test.service.authority.keys().root
        try CertificateRoots([root]).verify(third, through: [], at: test.clock.now)
    }

    @Test func `of a TLS server are the root's, for ninety days, and for no player`() async throws {
        let test = try await TestService(with: .authority)
        let made = try await test.service.authority.serverCertificate(
            names: ["books.example.org", "localhost"],
            addresses: [[127, 0, 0, 1]]
        )
        let keys = try await test.service.authority.keys()
        let certificate = try Certificate(der: made.certificate)
        try CertificateRoots([keys.root]).verify(certificate, through: [], at: test.clock.now)
        #expect(made.validity.upperBound == test.clock.now + .seconds(90 * 86_400) && made.number == keys.number)
        // the last second of a certificate is one that it is valid in
        #expect(certificate.validity?.upperBound.wholeSecond == made.validity.upperBound)
        #expect(certificate.validity?.lowerBound == made.validity.lowerBound)
        #expect(made.clientAuthorities == [keys.trust.root, keys.devices.certificate])
        #expect(try P256.PublicKey(subjectPublicKeyInfo: certificate.subjectPublicKeyInfo) == made.key.publicKey)
        #expect(throws: RightsError.self) { try keys.document.player(made.certificate, root: keys.root, at: test.clock.now) }
        let text = try await checkProcess(
            ["openssl", "x509", "-noout", "-ext", "subjectAltName,extendedKeyUsage"],
            input: Array(Certificate.pem(made.certificate).utf8)
        )
        #expect(text.contains("DNS:books.example.org, DNS:localhost, IP Address:127.0.0.1"))
        #expect(text.contains("TLS Web Server Authentication"))
        let key = try await checkProcess(
            ["openssl", "pkey", "-pubout", "-outform", "PEM"],
            input: made.key.pem.withBytes { [UInt8](copying: $0) }
        )
        #expect(key.contains(Base64.encode(made.key.publicKey.subjectPublicKeyInfo).prefix(64)), "the key in PEM is the key")
    }
}
