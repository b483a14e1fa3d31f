// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelHome
import CarrelJOSE
import CarrelRights
import CarrelThreads

extension Authority {
    /// A certificate of a TLS server of the service with its key, and the authorities of its clients.
    package struct ServerCertificate: Sendable {
        /// In DER, issued by the root, or by the authority of servers.
        package let certificate: [UInt8]
        /// The certificate of the authority of servers, in DER; nil for one that the root issued.
        package let authority: [UInt8]?
        package let key: P256.PrivateKey
        /// The root and the authorities of players, in DER.
        package let clientAuthorities: [[UInt8]]
        /// The number of the service's keys at that time: if it has grown, the certificate must be renewed.
        package let number: Int64
        package let validity: ClosedRange<Instant>
    }

    /// The life of the certificate of a TLS server, and how long before its end it is replaced.
    package static let serverLife = Duration.seconds(90 * 86_400)
    package static let serverRenewal = Duration.seconds(30 * 86_400)

    /// Issues a certificate for a TLS server, with a new key that is not stored.
    ///
    /// The root signs it, not the authority of players: readers trust the root, and that authority only signs certificates of
    /// players.
    ///
    /// - Parameters:
    ///   - names: DNS names of the server.
    ///   - addresses: its addresses, 4 or 16 bytes each.
    /// - Returns: the certificate, valid for 90 days.
    /// - Throws: errors of reading the keys.
    package func serverCertificate(names: [String], addresses: [[UInt8]]) async throws -> ServerCertificate {
        let keys = try await storedKeys()
        let root = try keys.rootKey.map { try CertificateAuthority(certificate: keys.trust.root, key: $0) }
        guard let issuer = root ?? keys.servers else { throw ServerError(.home, "the service has no authority of servers") }
        let now = clock.now.wholeSecond
        // clocks of clients may be late
        let start = max(now - .seconds(3600), keys.root.validity?.lowerBound ?? now)
        let end = try Certificate(der: issuer.certificate).validity?.upperBound ?? now + Self.serverLife
        let validity = min(start, now)...max(now, min(now + Self.serverLife, end))
        let key = P256.PrivateKey()
        let certificate = issuer.issue(
            subject: names.first ?? "localhost",
            publicKey: key.publicKey,
            validity: validity,
            kind: .server(names: names, addresses: addresses)
        )
        return ServerCertificate(
            certificate: certificate,
            authority: root == nil ? issuer.certificate : nil,
            key: key,
            clientAuthorities: [keys.trust.root] + keys.document.authorities,
            number: keys.number,
            validity: validity
        )
    }

    /// The certificate of the key that requests are encrypted to, in DER, issued by the root. Its subject is the key's id.
    ///
    /// - Throws: ``ServerError`` `server.home` if no such key is valid.
    package func agreementCertificate() async throws -> [UInt8] {
        let keys = try await keys()
        let now = clock.now.wholeSecond
        guard let key = keys.document.agreementKey(at: now) else { throw Self.noAgreement }
        let id = JWK.p256(key).thumbprint
        if let known = agreementCertificate.withLock({ $0 }), known.key == id, known.number == keys.number {
            return known.certificate
        }
        guard let validity = keys.document.keys.first(where: { $0.key.thumbprint == id })?.validity else {
            throw Self.noAgreement
        }
        guard let rootKey = keys.rootKey else {
            guard let certificate = keys.agreementCertificate else { throw Self.noAgreement }
            return certificate
        }
        let root = try CertificateAuthority(certificate: keys.trust.root, key: rootKey)
        let certificate = root.issue(subject: id, publicKey: key, validity: validity, kind: .agreement)
        agreementCertificate.withLock { $0 = AgreementCertificate(certificate: certificate, key: id, number: keys.number) }
        return certificate
    }

    private static let noAgreement = ServerError(
        .home,
        "the service has no valid key for requests: carrel pki rotate agreement"
    )

    /// A certificate that was issued, and the number of the service's keys then.
    struct AgreementCertificate: Sendable {
        let certificate: [UInt8]
        let key: String
        let number: Int64
    }
}
