// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Issues certificates and revocation lists (RFC 5280), signed with ECDSA on P-256 and SHA-256.
package struct CertificateAuthority: Sendable {
    /// Its own certificate, in DER.
    package let certificate: [UInt8]
    /// Its private key.
    package let key: P256.PrivateKey
    private let name: String

    /// - Parameters:
    ///   - certificate: in DER, for `key`.
    ///   - key: its private key.
    /// - Throws: `crypto.certificate` if the certificate is for another key, or cannot be read.
    package init(certificate: [UInt8], key: P256.PrivateKey) throws(CryptoError) {
        let issuer = try Certificate(der: certificate)
        guard issuer.subjectPublicKeyInfo == key.publicKey.subjectPublicKeyInfo, let name = issuer.commonName else {
            throw CryptoError(.certificate, "the authority's certificate is for another key")
        }
        self.certificate = certificate
        self.key = key
        self.name = name
    }

    /// A root: an authority that signs its own certificate.
    ///
    /// - Parameters:
    ///   - name: its common name.
    ///   - key: the private key.
    ///   - validity: both ends included, to the second.
    /// - Returns: the authority.
    /// - Throws: `crypto.certificate` if the certificate cannot be made.
    package static func root(name: String, key: P256.PrivateKey, validity: ClosedRange<Instant>) throws(CryptoError)
        -> CertificateAuthority
    {
        let certificate = Self.certificate(
            issuer: name,
            issuerKey: key,
            subject: name,
            publicKey: key.publicKey,
            validity: validity,
            kind: .authority(pathLength: 1)
        )
        return try CertificateAuthority(certificate: certificate, key: key)
    }

    /// The purpose of a certificate.
    package enum Kind: Sendable, Equatable {
        /// Signing certificates; at most `pathLength` authorities below it.
        case authority(pathLength: UInt64)
        /// Signing, and proving an identity to a TLS server. `identifier` is a URI that becomes the alternative name;
        /// `description` is a text about the subject (RFC 4519 §2.5 in RFC 5280 §4.2.1.8). A dedicated object identifier would
        /// need a registered arc: UUID arcs have 128-bit numbers, with which GnuTLS refuses the whole certificate.
        case client(identifier: String, description: String)
        /// Key agreement.
        case agreement
        /// A TLS server of these DNS names and addresses (4 or 16 bytes each).
        case server(names: [String], addresses: [[UInt8]])
    }

    /// Issues a certificate in DER, with a random serial number of 127 bits.
    ///
    /// - Parameters:
    ///   - subject: its common name.
    ///   - publicKey: the subject's key.
    ///   - validity: both ends included, to the second.
    ///   - kind: its purpose.
    /// - Returns: the certificate in DER.
    package func issue(subject: String, publicKey: P256.PublicKey, validity: ClosedRange<Instant>, kind: Kind) -> [UInt8] {
        Self.certificate(
            issuer: name,
            issuerKey: key,
            subject: subject,
            publicKey: publicKey,
            validity: validity,
            kind: kind
        )
    }

    /// A certificate that is no longer valid.
    package struct Revoked: Sendable, Hashable {
        /// Its serial number, big-endian.
        package let serial: [UInt8]
        package let instant: Instant

        package init(serial: [UInt8], instant: Instant) {
            self.serial = serial
            self.instant = instant
        }
    }

    /// Issues the list of its revoked certificates in DER (RFC 5280 §5).
    ///
    /// - Parameters:
    ///   - number: larger than the number of every earlier list.
    ///   - revoked: all revoked certificates that have not expired.
    ///   - thisUpdate: the time of the list.
    ///   - nextUpdate: the time of the next list.
    /// - Returns: the list in DER.
    package func revocationList(number: UInt64, revoked: [Revoked], thisUpdate: Instant, nextUpdate: Instant) -> [UInt8] {
        let entries = revoked.map { DER.sequence(DER.integer($0.serial), DER.time($0.instant)) }
        let extensions = DER.sequence(
            Self.authorityKey(key.publicKey),
            Self.extending("2.5.29.20", DER.integer(number))
        )
        let list = DER.sequence(
            DER.integer(1),
            DER.ecdsaWithSHA256,
            DER.name(name),
            DER.time(thisUpdate),
            DER.time(nextUpdate),
            entries.isEmpty ? [] : DER.value(0x30, Array(entries.joined())),
            DER.explicit(0, extensions)
        )
        return DER.signed(list, by: key.sign(list.rawSpan))
    }

    private static func certificate(
        issuer: String,
        issuerKey: P256.PrivateKey,
        subject: String,
        publicKey: P256.PublicKey,
        validity: ClosedRange<Instant>,
        kind: Kind
    ) -> [UInt8] {
        var serial = Random.bytes(16)
        serial[0] = serial[0] & 0x7f | 0x40
        var extensions = extending("2.5.29.14", DER.octets(keyIdentifier(publicKey)))
        if issuerKey.publicKey != publicKey { extensions += authorityKey(issuerKey.publicKey) }
        switch kind {
        case .authority(let pathLength):
            extensions += extending("2.5.29.19", DER.sequence(DER.isTrue, DER.integer(pathLength)), isCritical: true)
            extensions += keyUsage(0x06, unused: 1)  // keyCertSign, cRLSign
        case .client(let identifier, let description):
            extensions += extending("2.5.29.19", DER.sequence(), isCritical: true)
            extensions += keyUsage(0x80, unused: 7)  // digitalSignature
            extensions += extending("2.5.29.37", DER.sequence(DER.objectIdentifier("1.3.6.1.5.5.7.3.2")))
            extensions += extending("2.5.29.17", DER.sequence(DER.value(0x86, Array(identifier.utf8))))
            extensions += extending(
                "2.5.29.9",
                DER.sequence(DER.sequence(DER.objectIdentifier(Certificate.descriptionType), DER.set(DER.text(description))))
            )
        case .agreement:
            extensions += extending("2.5.29.19", DER.sequence(), isCritical: true)
            extensions += keyUsage(0x08, unused: 3)  // keyAgreement
        case .server(let names, let addresses):
            extensions += extending("2.5.29.19", DER.sequence(), isCritical: true)
            extensions += keyUsage(0x80, unused: 7)
            extensions += extending("2.5.29.37", DER.sequence(DER.objectIdentifier("1.3.6.1.5.5.7.3.1")))
            let alternatives = names.map { DER.value(0x82, Array($0.utf8)) } + addresses.map { DER.value(0x87, $0) }
            extensions += extending("2.5.29.17", DER.value(0x30, Array(alternatives.joined())))
        }
        let document = DER.sequence(
            DER.explicit(0, DER.integer(2)),
            DER.integer(serial),
            DER.ecdsaWithSHA256,
            DER.name(issuer),
            DER.sequence(DER.time(validity.lowerBound), DER.time(validity.upperBound)),
            DER.name(subject),
            publicKey.subjectPublicKeyInfo,
            DER.explicit(3, DER.sequence(extensions))
        )
        return DER.signed(document, by: issuerKey.sign(document.rawSpan))
    }

    private static func extending(_ identifier: String, _ value: [UInt8], isCritical: Bool = false) -> [UInt8] {
        DER.sequence(DER.objectIdentifier(identifier), isCritical ? DER.isTrue : [], DER.octets(value))
    }

    private static func keyUsage(_ bits: UInt8, unused: UInt8) -> [UInt8] {
        extending("2.5.29.15", DER.value(0x03, [unused, bits]), isCritical: true)
    }

    private static func authorityKey(_ key: P256.PublicKey) -> [UInt8] {
        extending("2.5.29.35", DER.sequence(DER.value(0x80, keyIdentifier(key))))
    }

    /// The leftmost 160 bits of the key's digest (RFC 7093 §2, method 1).
    private static func keyIdentifier(_ key: P256.PublicKey) -> [UInt8] {
        Array(SHA256.hash(([0x04] + key.coordinates).rawSpan).prefix(20))
    }
}
