// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
import CarrelBytes
package import CarrelCrypto
import CarrelHome
import CarrelJOSE
import CarrelRights
import CarrelStore
import CarrelThreads

extension Authority {
    /// The root's private key, encrypted under a passphrase, and its certificate: to be stored outside the server.
    ///
    /// - Returns: a text that ``RootExport`` reads.
    /// - Throws: ``ServerError`` `request.conflict` while the key is stored elsewhere.
    package func exportRoot(passphrase: Secret, by actor: AuditActor) async throws -> String {
        let keys = try await storedKeys()
        let root = try keys.requireRoot()
        let text = try RootExport.seal(root, certificate: keys.trust.root, passphrase: passphrase)
        let entry = actor.entry("pki.export-root", on: JWK.p256(root.publicKey).thumbprint, at: clock.now)
        try await database.write { try AuditStore.append(entry, in: $0) }
        return text
    }

    /// Deletes the private keys of all roots from the database. Operations that need the root fail until the key is imported
    /// again.
    ///
    /// Before that, the root certifies an authority of TLS servers and the key for requests, which the service continues to use.
    ///
    /// - Parameters:
    ///   - export: the result of ``exportRoot(passphrase:by:)``, read back from its storage.
    ///   - passphrase: the passphrase.
    ///   - actor: the actor for the audit log.
    /// - Throws: `rights.key`, `rights.malformed`; ``ServerError`` `request.conflict` if the export is not the current root.
    package func removeRoot(export: String, passphrase: Secret, by actor: AuditActor) async throws {
        let (exported, _) = try RootExport.open(export, passphrase: passphrase)
        let moment = clock.now
        let now = moment.wholeSecond
        let master = master
        try await database.write { transaction in
            let rows = try AuthorityStore.keys(in: transaction)
            guard let document = try AuthorityStore.document(in: transaction) else { throw Self.noKeys }
            let known = try Keys(rows, document, master, at: now)
            let key = try known.requireRoot()
            guard exported.publicKey == key.publicKey else {
                throw ServerError(.conflict, "the file has another root than the current one: export it again")
            }
            let root = try CertificateAuthority(certificate: known.root.der, key: key)
            let order = max(now, (rows.map(\.createdAt).max() ?? now) + .seconds(1))
            let serverKey = P256.PrivateKey()
            let validity = now...min(now + Life.devices, known.root.validity?.upperBound ?? now + Life.devices)
            let servers = try CertificateAuthority(
                certificate: root.issue(
                    subject: "Carrel servers (\(known.environment))",
                    publicKey: serverKey.publicKey,
                    validity: validity,
                    kind: .authority(pathLength: 0)
                ),
                key: serverKey
            )
            var row = try Self.row(Use.servers, servers, master.current, at: now, for: validity.upperBound - now)
            row.createdAt = order
            try AuthorityStore.insert(row, in: transaction)
            if let agreement = rows.last(where: { $0.use == ServiceKeys.Use.agreement.rawValue }) {
                let publicKey = try P256.PrivateKey(scalar: try master.unwrap(agreement.wrapped)).publicKey
                let certificate = root.issue(
                    subject: agreement.id,
                    publicKey: publicKey,
                    validity: agreement.validFrom...max(agreement.validFrom, agreement.validUntil),
                    kind: .agreement
                )
                try AuthorityStore.certify(agreement.id, certificate, in: transaction)
            }
            // with a new number, all nodes read the keys again and forget the root's
            let signed = try Self.document(
                try AuthorityStore.keys(in: transaction),
                environment: known.environment,
                number: known.number + 1,
                root: key,
                master.current,
                at: now
            )
            try AuthorityStore.insert(signed, at: now, in: transaction)
            try AuthorityStore.removePrivateKeys(of: Use.root, in: transaction)
            let id = JWK.p256(key.publicKey).thumbprint
            try AuditStore.append(actor.entry("pki.remove-root", on: id, at: moment), in: transaction)
        }
        keyCache.invalidateAll()
    }

    /// Brings an exported root back: the current root that was stored elsewhere, or a later root that a restore lost.
    ///
    /// A root that the database does not know becomes the current one: the root before it signs it, so that all players follow, and it certifies
    /// the authorities of players again.
    ///
    /// - Parameters:
    ///   - text: the result of ``exportRoot(passphrase:by:)``.
    ///   - passphrase: the passphrase.
    ///   - actor: the actor for the audit log.
    /// - Returns: the id of the root, and whether anything changed.
    /// - Throws: `rights.key`, `rights.malformed`; ``ServerError`` `request.conflict` for a root that was replaced.
    package func importRoot(_ text: String, passphrase: Secret, by actor: AuditActor) async throws -> (
        id: String, isChanged: Bool
    ) {
        let (key, der) = try RootExport.open(text, passphrase: passphrase)
        let root = try CertificateAuthority(certificate: der, key: key)
        let id = JWK.p256(key.publicKey).thumbprint
        let moment = clock.now
        let now = moment.wholeSecond
        let master = master
        let wrapped = try master.current.wrap(key.scalar)
        let isChanged = try await database.write { transaction -> Bool in
            let rows = try AuthorityStore.keys(in: transaction)
            guard let document = try AuthorityStore.document(in: transaction) else { throw Self.noKeys }
            let known = try Keys(rows, document, master, at: now)
            let roots = rows.filter { $0.use == Use.root }
            if let own = roots.last, own.id == id {
                guard !own.hasPrivateKey else { return false }
                try AuthorityStore.rewrap(id, wrapped, in: transaction)
            } else {
                guard !roots.contains(where: { $0.id == id }) else {
                    throw ServerError(.conflict, "this root was replaced by a later one, which players follow", conflictingID: id)
                }
                try Self.add(root, id, rows, known, master.current, at: now, in: transaction)
            }
            try AuditStore.append(actor.entry("pki.import-root", on: id, at: moment), in: transaction)
            return true
        }
        keyCache.invalidateAll()
        // A restore may have raised the document's number while the root was kept elsewhere.
        try await signAfterRestore()
        return (id, isChanged)
    }

    /// Adds a later root, and signs the authorities and the document under it.
    private static func add(
        _ root: CertificateAuthority,
        _ id: String,
        _ rows: [AuthorityStore.Key],
        _ known: Keys,
        _ master: MasterKeyring,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let certificate = try Certificate(der: root.certificate)
        guard certificate.commonName == known.root.commonName, let validity = certificate.validity,
            now <= validity.upperBound
        else {
            throw ServerError(.invalid, "the file has no valid root of the environment '\(known.environment)'")
        }
        let order = max(now, (rows.map(\.createdAt).max() ?? now) + .seconds(1))
        let row = AuthorityStore.Key(
            id: id,
            use: Use.root,
            createdAt: order,
            validFrom: validity.lowerBound,
            validUntil: validity.upperBound,
            certificate: root.certificate,
            rollover: RootRollover.sign(root.certificate, with: try known.requireRoot()),
            wrapped: try master.wrap(root.key.scalar)
        )
        try AuthorityStore.insert(row, in: transaction)
        try certify(rows, under: root, in: transaction)
        // Players of this root have seen its documents, whose numbers may be times in seconds.
        let number = max(known.number + 1, now.milliseconds / 1000)
        let document = try document(
            try AuthorityStore.keys(in: transaction),
            environment: known.environment,
            number: number,
            root: root.key,
            master,
            at: now
        )
        try AuthorityStore.insert(document, at: now, in: transaction)
    }

    private static var noKeys: ServerError { ServerError(.home, "the database has no keys of the certificate authority") }
}
