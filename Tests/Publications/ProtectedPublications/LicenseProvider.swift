// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Issues licenses of Readium LCP's basic profile (§3, §5) with the private key of a certificate.
package struct LicenseProvider: Sendable {
    /// In DER.
    package let certificate: [UInt8]
    private let sign: @Sendable ([UInt8]) async throws -> [UInt8]

    /// The profile of every license that it issues.
    package static let profile = "http://readium.org/lcp/basic-profile"
    static let cipher = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"

    /// - Parameters:
    ///   - certificate: in DER.
    ///   - sign: RSA PKCS #1 v1.5 with SHA-256 over the bytes that it is given.
    package init(certificate: [UInt8], sign: @escaping @Sendable ([UInt8]) async throws -> [UInt8]) {
        self.certificate = certificate
        self.sign = sign
    }

    /// The content of a license. Members are written in canonical order, so that the signed text equals the written text.
    package struct Terms: Sendable {
        package var id = "0d7c9b1a-6f0e-4c51-9a36-3c1c2f1c9e77"
        package var issued = "2026-11-01T10:00:00Z"
        package var updated: String?
        package var provider = "https://library.example"
        package var passphrase = "open sesame"
        package var hint = "What Ali Baba said"
        /// Links, as canonical JSON objects.
        package var links: [String] = []
        /// As a canonical JSON object.
        package var rights: String?
        package var user = #"{"id":"reader-1"}"#

        package init() {}
    }

    /// A license for a publication.
    ///
    /// - Parameters:
    ///   - terms: the content.
    ///   - key: the content key, 32 bytes.
    ///   - type: media type of the protected publication.
    ///   - href: the address.
    ///   - length: the length in bytes; nil omits it.
    /// - Returns: the document.
    /// - Throws: errors of signing.
    package func license(
        _ terms: Terms,
        key: [UInt8],
        type: String,
        href: String = "https://library.example/publication",
        length: Int? = nil
    ) async throws -> [UInt8] {
        let phrase = Array(terms.passphrase.utf8)
        let userKey = Secret(SHA256.hash(phrase.rawSpan))
        let links =
            [
                #"{"href":"https://library.example/hint","rel":"hint","type":"text/html"}"#,
                #"{"href":"\#(href)","#
                    + (length.map { #""length":\#($0),"# } ?? "") + #""rel":"publication","type":"\#(type)"}"#,
            ] + terms.links
        let contentKey = try Self.seal(key, userKey)
        let keyCheck = try Self.seal(Array(terms.id.utf8), userKey)
        let start =
            #"{"encryption":{"content_key":{"algorithm":"\#(Self.cipher)","encrypted_value":"\#(contentKey)"},"#
            + #""profile":"\#(Self.profile)","user_key":{"algorithm":"http://www.w3.org/2001/04/xmlenc#sha256","#
            + #""key_check":"\#(keyCheck)","text_hint":"\#(terms.hint)"}},"id":"\#(terms.id)","#
            + #""issued":"\#(terms.issued)","links":[\#(links.joined(separator: ","))],"provider":"\#(terms.provider)""#
        var end = ""
        if let rights = terms.rights { end += #","rights":\#(rights)"# }
        let signaturePlace = start + end
        var last = ""
        if let updated = terms.updated { last += #","updated":"\#(updated)""# }
        last += #","user":\#(terms.user)}"#
        let signature = Base64.encode(try await sign(Array((signaturePlace + last).utf8)))
        let member =
            #","signature":{"algorithm":"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256","#
            + #""certificate":"\#(Base64.encode(certificate))","value":"\#(signature)"}"#
        return Array((signaturePlace + member + last).utf8)
    }

    private static func seal(_ plain: [UInt8], _ key: Secret) throws -> String {
        let iv = Secret.random(count: 16).withBytes { [UInt8](copying: $0) }
        let cipher = try PackageWriter.encrypted(plain, under: key, iv)
        return Base64.encode(iv + cipher)
    }
}
