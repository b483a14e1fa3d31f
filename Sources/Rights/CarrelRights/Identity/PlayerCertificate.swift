// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelVault

/// The certificate of a player: a personalised copy of an app on a device.
package struct PlayerCertificate: Sendable {
    /// The player's id, a UUID in lower case.
    package let player: String
    /// The strength of its vault, as it reported.
    package let level: VaultLevel
    /// Its signing key.
    package let key: P256.PublicKey
    package let certificate: Certificate
    /// From when until when it is valid.
    package let validity: ClosedRange<Instant>

    /// The alternative name is this and the player's id (RFC 9562 §4).
    static let identifierPrefix = "urn:uuid:"

    /// Reads a certificate; whether it leads to the root is up to the caller.
    ///
    /// - Throws: `rights.malformed` unless it is one of a player.
    package init(_ certificate: Certificate) throws(RightsError) {
        guard let identifier = certificate.identifier, identifier.hasPrefix(Self.identifierPrefix), certificate.maySign,
            let level = certificate.subjectDescription.flatMap({ VaultLevel(rawValue: $0) }),
            let validity = certificate.validity,
            let key = try? P256.PublicKey(subjectPublicKeyInfo: certificate.subjectPublicKeyInfo)
        else { throw RightsError(.malformed, "the certificate is not one of a player") }
        player = String(identifier.dropFirst(Self.identifierPrefix.count))
        self.level = level
        self.key = key
        self.certificate = certificate
        self.validity = validity
    }

    /// The signing key of a certificate that this service issued and keeps.
    ///
    /// - Throws: `rights.malformed`.
    package static func key(ofKnown der: [UInt8]) throws(RightsError) -> P256.PublicKey {
        do throws(CryptoError) {
            return try P256.PublicKey(subjectPublicKeyInfo: Certificate.subjectPublicKeyInfo(ofKnown: der))
        } catch {
            throw RightsError(.malformed, "the player's certificate cannot be read")
        }
    }

    /// Issues a certificate for a player, in DER.
    package static func issue(
        by authority: CertificateAuthority,
        player: String,
        key: P256.PublicKey,
        level: VaultLevel,
        validity: ClosedRange<Instant>
    ) -> [UInt8] {
        authority.issue(
            subject: player,
            publicKey: key,
            validity: validity,
            kind: .client(
                identifier: identifierPrefix + player,
                description: level.rawValue
            )
        )
    }
}
