// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelHome
import CarrelJOSE
package import CarrelRights
import CarrelStore

extension Authority {
    /// All keys of the authority and the service, unwrapped, with the document that the root signed.
    package struct Keys: Sendable {
        package let environment: String
        /// The document's number; each rotation increases it.
        package let number: Int64
        /// The root's certificate in DER, the roots before it, and the document.
        package let trust: TrustDocument
        /// The document, read.
        package let document: ServiceKeys
        package let root: Certificate
        /// Issues players' certificates.
        package let devices: CertificateAuthority
        /// Earlier authorities whose certificates can still be valid, the newest first.
        package let formerDevices: [CertificateAuthority]
        package let license: Ed25519.PrivateKey
        package let revocation: Ed25519.PrivateKey
        package let time: Ed25519.PrivateKey
        /// The private halves of the keys that requests are encrypted to, by id: the newest and those before it.
        package let agreement: [String: P256.PrivateKey]
        /// The root's private key; nil while it is kept elsewhere.
        let rootKey: P256.PrivateKey?
        /// Issues certificates of TLS servers while the root's key is kept elsewhere.
        let servers: CertificateAuthority?
        /// The certificate of the key for requests, if the root issued it before its key was taken elsewhere.
        let agreementCertificate: [UInt8]?
        /// The current keys that sign, with their ends.
        let signers: [(use: String, end: Instant)]
        /// When they were read: an ended key for requests goes within the hour.
        let readAt: Instant

        /// - Throws: ``ServerError`` `server.home` if a key is missing, what unwrapping throws.
        init(_ rows: [AuthorityStore.Key], _ document: AuthorityStore.Document, _ master: MasterKeyring.Shared, at now: Instant)
            throws
        {
            func newest(_ use: String) throws -> AuthorityStore.Key {
                guard let key = rows.last(where: { $0.use == use }) else {
                    throw ServerError(.home, "the database has no key of the certificate authority for '\(use)'")
                }
                return key
            }
            func scalar(_ row: AuthorityStore.Key) throws -> Secret { try master.unwrap(row.wrapped) }
            func signing(_ use: ServiceKeys.Use) throws -> Ed25519.PrivateKey {
                try Ed25519.PrivateKey(seed: try scalar(try newest(use.rawValue)))
            }
            let rootRow = try newest(Use.root)
            let devicesRow = try newest(Use.devices)
            guard let rootCertificate = rootRow.certificate, let devicesCertificate = devicesRow.certificate else {
                throw ServerError(.home, "the database has no certificate of the certificate authority")
            }
            root = try Certificate(der: rootCertificate)
            rootKey = rootRow.hasPrivateKey ? try P256.PrivateKey(scalar: try scalar(rootRow)) : nil
            servers = try rows.last { $0.use == Use.servers }.flatMap { row in
                try row.certificate.map {
                    try CertificateAuthority(certificate: $0, key: P256.PrivateKey(scalar: try scalar(row)))
                }
            }
            agreementCertificate = rows.last { $0.use == ServiceKeys.Use.agreement.rawValue }?.certificate
            signers = try [
                Use.devices, ServiceKeys.Use.license.rawValue, ServiceKeys.Use.revocation.rawValue, ServiceKeys.Use.time.rawValue,
            ]
            .map { ($0, try newest($0).validUntil) }
            devices = try CertificateAuthority(
                certificate: devicesCertificate,
                key: P256.PrivateKey(scalar: try scalar(devicesRow))
            )
            let allDevices = rows.filter { $0.use == Use.devices }
            let replaced = zip(allDevices, allDevices.dropFirst().map(\.createdAt))
            formerDevices = try replaced.reversed().filter { _, end in now <= end + Life.formerList }.prefix(Life.formerLists)
                .compactMap { row, _ in
                    try row.certificate.map {
                        try CertificateAuthority(certificate: $0, key: P256.PrivateKey(scalar: try scalar(row)))
                    }
                }
            license = try signing(.license)
            revocation = try signing(.revocation)
            time = try signing(.time)
            var agreement: [String: P256.PrivateKey] = [:]
            for row in rows where row.use == ServiceKeys.Use.agreement.rawValue && now < row.validUntil {
                agreement[row.id] = try P256.PrivateKey(scalar: try scalar(row))
            }
            self.agreement = agreement
            trust = TrustDocument(root: rootCertificate, rollovers: rows.compactMap(\.rollover), keys: document.text)
            self.document = try ServiceKeys(
                document.text,
                signedBy: P256.PublicKey(subjectPublicKeyInfo: root.subjectPublicKeyInfo)
            )
            readAt = now
            environment = document.environment
            number = document.number
        }

        /// Refuses to sign with a key that has ended.
        func requireValid(at now: Instant) throws(ServerError) {
            guard let ended = signers.first(where: { $0.end < now }) else { return }
            throw ServerError(.home, "the key for '\(ended.use)' ended at \(ended.end): carrel pki rotate \(ended.use)")
        }

        /// The root's private key.
        ///
        /// - Throws: ``ServerError`` `request.conflict` while it is kept elsewhere.
        func requireRoot() throws(ServerError) -> P256.PrivateKey {
            guard let rootKey else {
                throw ServerError(
                    .conflict,
                    "the root's private key is kept away from this server: bring it back with 'carrel pki import-root FILE', and take it "
                        + "away again with 'carrel pki export-root FILE --remove'"
                )
            }
            return rootKey
        }
    }

    /// The uses of keys that have certificates.
    enum Use {
        static let root = "root"
        static let devices = "devices"
        static let servers = "servers"
    }

    /// The lifetimes of keys.
    enum Life {
        static let root = Duration.seconds(20 * 365 * 86_400)
        static let devices = Duration.seconds(10 * 365 * 86_400)
        static let service = Duration.seconds(5 * 365 * 86_400)
        /// The time for which a replaced key for requests is still accepted: nodes and players learn the new one meanwhile.
        static let overlap = Duration.seconds(7 * 86_400)
        /// The time for which a replaced authority of players signs lists of revocations: its last certificates end within it.
        static let formerList = Personalizations.certificateLife + .seconds(86_400)
        /// Replaced authorities at most that sign lists.
        static let formerLists = 7
    }

    /// A new key and its row.
    struct NewKey {
        let row: AuthorityStore.Key
        let scalar: Secret
    }

    static func make(
        _ use: ServiceKeys.Use,
        _ master: MasterKeyring,
        at now: Instant
    ) throws -> NewKey {
        let (jwk, scalar): (JWK, Secret)
        switch use {
        case .agreement:
            let key = P256.PrivateKey()
            (jwk, scalar) = (.p256(key.publicKey), key.scalar)
        case .license, .revocation, .time:
            let key = Ed25519.PrivateKey.generate()
            (jwk, scalar) = (.ed25519(key.publicKey), key.seed)
        }
        let row = AuthorityStore.Key(
            id: jwk.thumbprint,
            use: use.rawValue,
            createdAt: now,
            validFrom: now,
            validUntil: now + Life.service,
            certificate: nil,
            rollover: nil,
            wrapped: try master.wrap(scalar)
        )
        return NewKey(row: row, scalar: scalar)
    }

    static func row(
        _ use: String,
        _ authority: CertificateAuthority,
        rollover: String? = nil,
        _ master: MasterKeyring,
        at now: Instant,
        for life: Duration
    ) throws -> AuthorityStore.Key {
        AuthorityStore.Key(
            id: JWK.p256(authority.key.publicKey).thumbprint,
            use: use,
            createdAt: now,
            validFrom: now,
            validUntil: now + life,
            certificate: authority.certificate,
            rollover: rollover,
            wrapped: try master.wrap(authority.key.scalar)
        )
    }
}
