// SPDX-License-Identifier: Apache-2.0

/// The namespaces of documents, with the prefixes that Carrel writes.
enum CPIXNamespace {
    static let cpix: StaticString = "urn:dashif:org:cpix"
    static let pskc: StaticString = "urn:ietf:params:xml:ns:keyprov:pskc"
    static let signature: StaticString = "http://www.w3.org/2000/09/xmldsig#"
    static let encryption: StaticString = "http://www.w3.org/2001/04/xmlenc#"
    static let speke: StaticString = "urn:aws:amazon:com:speke"

    static let prefixes = [
        "\(cpix)": "cpix", "\(pskc)": "pskc", "\(signature)": "ds", "\(encryption)": "enc", "\(speke)": "speke",
    ]
}

/// The algorithms of documents (CPIX 2.3 §7.2, XML Encryption 1.1, RFC 6931).
enum CPIXAlgorithm {
    /// RSAES-OAEP with SHA-1 and MGF1-SHA-1; in key transport, no weakness of SHA-1 helps an attacker.
    static let keyTransport = "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p"
    static let cipher = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
    static let mac = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha512"

    /// Whether an algorithm of a signature or a digest uses SHA-1, which is broken.
    static func isSHA1(_ identifier: String) -> Bool { identifier.lowercased().hasSuffix("sha1") }
}
