// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `An authority` {
    static let now = Instant(milliseconds: 1_800_000_000_000)
    static let validity = now...(now + .seconds(86400 * 90))

    let rootKey = P256.PrivateKey()
    let key = P256.PrivateKey()
    let device = P256.PrivateKey()
    let root: CertificateAuthority
    let authority: CertificateAuthority

    init() throws {
        root = try .root(name: "root", key: rootKey, validity: Self.validity)
        authority = try CertificateAuthority(
            certificate: root.issue(
                subject: "devices",
                publicKey: key.publicKey,
                validity: Self.validity,
                kind: .authority(pathLength: 0)
            ),
            key: key
        )
    }

    func issue() throws -> Certificate {
        try Certificate(
            der: authority.issue(
                subject: "device",
                publicKey: device.publicKey,
                validity: Self.validity,
                kind: .client(identifier: "urn:uuid:1", description: "tpm")
            )
        )
    }

    @Test func `issues a certificate that leads to its root and says what it should`() throws {
        let certificate = try issue()
        let roots = try CertificateRoots([Certificate(der: root.certificate)])
        let path = try roots.verify(certificate, through: [Certificate(der: authority.certificate)], at: Self.now)
        #expect(path.count == 3)
        let other = try issue()
        #expect(certificate.commonName == "device" && certificate.identifier == "urn:uuid:1")
        #expect(certificate.subjectDescription == "tpm")
        #expect(try Certificate(der: root.certificate).subjectDescription == nil)
        #expect(certificate.subjectPublicKeyInfo == device.publicKey.subjectPublicKeyInfo)
        #expect(certificate.validity?.lowerBound == Self.now && certificate.maySign)
        #expect(certificate.serial.count == 16 && certificate.serial != other.serial)
        let der = certificate.der
        let digest = SHA256.hash(der.rawSpan)
        #expect(certificate.thumbprint == digest)
        for instant in [Self.now - .seconds(1), Self.validity.upperBound + .seconds(1)] {
            #expect(throws: CryptoError(.untrusted, "")) {
                try roots.verify(certificate, through: [Certificate(der: authority.certificate)], at: instant)
            }
        }
        let stranger = try CertificateAuthority.root(name: "root", key: .init(), validity: Self.validity)
        #expect(throws: CryptoError(.untrusted, "")) {
            try CertificateRoots([Certificate(der: stranger.certificate)])
                .verify(certificate, through: [Certificate(der: authority.certificate)], at: Self.now)
        }
    }

    @Test func `finds the key of a known certificate, and none in a part of one`() throws {
        for der in [try issue().der, root.certificate, authority.certificate] {
            let key = try Certificate(der: der).subjectPublicKeyInfo
            #expect(try Certificate.subjectPublicKeyInfo(ofKnown: der) == key)
            for count in 0..<der.count {
                #expect(throws: CryptoError(.certificate, "")) {
                    try Certificate.subjectPublicKeyInfo(ofKnown: Array(der[..<count]))
                }
            }
        }
        // no certificate, and one whose parts have other tags or end beyond it
        let short: [[UInt8]] = [
            [0x30, 0x00], [0x30, 0x02, 0x30, 0x00], [0x30, 0x04, 0x30, 0x02, 0x02, 0x00],
            [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 0x80], [0x31, 0x02, 0x30, 0x00],
        ]
        for der in short {
            #expect(throws: CryptoError(.certificate, "")) { try Certificate.subjectPublicKeyInfo(ofKnown: der) }
        }
    }

    @Test func `issues no certificates below a device`() throws {
        let fake = try CertificateAuthority(certificate: try issue().der, key: device)
        let below = fake.issue(
            subject: "x",
            publicKey: P256.PrivateKey().publicKey,
            validity: Self.validity,
            kind: .client(identifier: "urn:uuid:2", description: "")
        )
        #expect(throws: CryptoError(.untrusted, "")) {
            try CertificateRoots([Certificate(der: root.certificate)])
                .verify(Certificate(der: below), through: [Certificate(der: authority.certificate), try issue()], at: Self.now)
        }
    }

    @Test func `lists what it revoked`() throws {
        let (revoked, other) = (try issue(), try issue())
        let list = try RevocationList(
            authority.revocationList(
                number: 7,
                revoked: [.init(serial: revoked.serial, instant: Self.now)],
                thisUpdate: Self.now,
                nextUpdate: Self.now + .seconds(3600)
            )
        )
        #expect(
            list.isSigned(by: key.publicKey.subjectPublicKeyInfo) && !list.isSigned(by: rootKey.publicKey.subjectPublicKeyInfo)
        )
        #expect(list.isByIssuer(of: revoked) && list.revokes(revoked) && !list.revokes(other))
        #expect(
            list.thisUpdate == Self.now && list.nextUpdate == Self.now + .seconds(3600) && !list.isPartial && !list.hasWeakDigest
        )
        let empty = try RevocationList(
            authority.revocationList(number: 8, revoked: [], thisUpdate: Self.now, nextUpdate: Self.now + .seconds(1))
        )
        #expect(!empty.revokes(revoked))
    }

    @Test func `is not made of a certificate for another key`() {
        #expect(throws: CryptoError(.certificate, "")) { try CertificateAuthority(certificate: root.certificate, key: key) }
    }

    @Test func `reads a request only where it is signed with its own key`() async throws {
        let request = try await CertificationRequest.make(commonName: "device", publicKey: device.publicKey) {
            device.sign($0.rawSpan)
        }
        #expect(try CertificationRequest(der: request).publicKey == device.publicKey)
        let foreign = try await CertificationRequest.make(commonName: "device", publicKey: device.publicKey) {
            key.sign($0.rawSpan)
        }
        #expect(throws: CryptoError(.request, "")) { try CertificationRequest(der: foreign) }
        #expect(throws: CryptoError(.request, "")) { try CertificationRequest(der: request + [0]) }
        for place in stride(from: 0, to: request.count, by: 7) {
            var altered = request
            altered[place] ^= 1
            #expect(throws: CryptoError(.request, "")) { try CertificationRequest(der: altered) }
        }
    }
}
