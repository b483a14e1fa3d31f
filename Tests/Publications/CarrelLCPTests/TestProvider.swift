// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting

@testable import CarrelLCP

/// A provider of licenses of the tests' own: a root, a certificate under it, and what they sign.
struct TestProvider {
    let certificates: TestCertificates
    let root: [UInt8]
    let contentKey = Secret.random(count: 32)
    let passphrase = "open sesame"

    /// Skips the test where there is no openssl command.
    init(_ extensions: String = "") async throws {
        certificates = try TestCertificates()
        root = try await certificates.make("root", extensions: TestCertificates.authority, key: .rsa(bits: 2048))
        try await certificates.make(
            "provider",
            by: "root",
            extensions: "\(TestCertificates.signer)\n\(extensions)",
            key: .rsa(bits: 2048)
        )
    }

    var anchor: TrustAnchor {
        get throws { TrustAnchor(name: "test root", certificate: try Certificate(der: root)) }
    }

    var profiles: ProfileRegistry {
        get throws { ProfileRegistry([.basic(adding: [try anchor])]) }
    }

    /// Signs a license.
    ///
    /// - Parameters:
    ///   - changes: members that replace members of ``unsigned(_:)``; nil removes a member.
    ///   - links: links in addition to the hint and the publication.
    ///   - certificate: the signer's certificate.
    /// - Returns: the document.
    /// - Throws: openssl's error.
    func license(
        _ changes: [String: JSON?] = [:],
        links: [JSON] = [],
        certificate: String = "provider"
    ) async throws -> [UInt8] {
        try await sign(unsigned(changes, links: links), certificate: certificate)
    }

    func unsigned(_ changes: [String: JSON?] = [:], links: [JSON] = []) throws -> JSONObject {
        let key = UserKey(passphrase: passphrase).secret
        var object = JSONObject()
        object["id"] = "license-1"
        object["issued"] = "2026-06-01T10:00:00Z"
        object["provider"] = "https://provider.example"
        for (name, value) in changes { object[name] = value }
        let id = object["id"]?.string ?? ""
        let encrypted = (try contentKey.withBytes { try Self.encrypt($0, key) }, try Self.encrypt(Array(id.utf8), key))
        object["encryption"] = [
            "profile": .string(LCPProfile.basicURI),
            "content_key": [
                "algorithm": "http://www.w3.org/2001/04/xmlenc#aes256-cbc", "encrypted_value": .string(encrypted.0),
            ],
            "user_key": [
                "algorithm": "http://www.w3.org/2001/04/xmlenc#sha256", "text_hint": "What opens the cave?",
                "key_check": .string(encrypted.1),
            ],
        ]
        object["links"] = .array(
            [
                ["rel": "hint", "href": "https://provider.example/hint", "type": "text/html"],
                ["rel": "publication", "href": "https://provider.example/book.epub", "type": "application/epub+zip"],
            ] + links
        )
        return object
    }

    func sign(_ object: JSONObject, certificate: String = "provider") async throws -> [UInt8] {
        var object = object
        let value = try await certificates.sign(CanonicalForm.strict.bytes(of: object), with: certificate)
        object["signature"] = [
            "algorithm": "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "certificate": .string(Base64.encode(certificates.directory.read("\(certificate).der") ?? [])),
            "value": .string(Base64.encode(value)),
        ]
        return JSON.object(object).write()
    }

    /// A list of revoked certificates by the root, in DER (`TestCertificates.revocationList`).
    func revocationList(
        _ revoked: [String] = [],
        digest: String = "sha256",
        signer: String = "root",
        from start: String? = nil,
        options: [String] = [],
        extensions: String = ""
    ) async throws -> [UInt8] {
        try await certificates.revocationList(
            revoked,
            by: signer,
            digest: digest,
            from: start,
            options: options,
            extensions: extensions
        )
    }

    /// The root's list of nothing in version 1 of X.509, which does not say when the next one is due (RFC 5280 §5.1.2.5).
    func endlessList() async throws -> [UInt8] {
        func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            let length: [UInt8] =
                content.count < 0x80
                ? [UInt8(content.count)] : [0x82, UInt8(content.count >> 8), UInt8(truncatingIfNeeded: content.count)]
            return [tag] + length + content
        }
        let algorithm = der(0x30, [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11, 0x05, 0])
        let issuer = der(0x30, der(0x31, der(0x30, [0x06, 3, 0x55, 4, 3] + der(0x0c, Array("root".utf8)))))
        let body = der(0x30, algorithm + issuer + der(0x17, Array("260601000000Z".utf8)))
        let signature = try await certificates.sign(body, with: "root")
        return der(0x30, body + algorithm + der(0x03, [0] + signature))
    }

    static func encrypt(_ bytes: [UInt8], _ key: Secret) throws -> String { try encrypt(bytes.rawSpan, key) }

    /// Base 64 of an initialization vector and what AES-256 makes of bytes.
    static func encrypt(_ bytes: RawSpan, _ key: Secret) throws -> String {
        let iv = Random.bytes(16)
        return Base64.encode(try iv + cipherText(bytes, key, iv))
    }

    /// Encrypts bytes with AES-256 and PKCS#7 padding.
    static func cipherText(_ bytes: RawSpan, _ key: Secret, _ iv: [UInt8]) throws -> [UInt8] {
        var cipher = Optional(try AESCBCEncryptor(key: key, iv: iv))
        let room = AESCBCEncryptor.cipherLength(ofPlainLength: bytes.byteCount)
        return try [UInt8](rawCapacity: room) { out in
            try cipher?.update(bytes, into: &out)
            try cipher.take()?.finish(into: &out)
        }
    }
}
