// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelJOSE
import CarrelRights
import CarrelStore

extension Authority {
    /// Signs the document that names the service's keys.
    ///
    /// - Parameters:
    ///   - rows: all keys, in the order of their creation.
    ///   - environment: the home's environment.
    ///   - number: larger than the number of every earlier document.
    ///   - root: the root's private key.
    ///   - master: unwraps the keys.
    ///   - now: the time.
    ///   - dropsNone: whether it is an error if a key that is still needed does not fit.
    /// - Returns: the document.
    /// - Throws: ``ServerError`` `request.conflict` if a key that is needed does not fit; what unwrapping throws.
    static func document(
        _ rows: [AuthorityStore.Key],
        environment: String,
        number: Int64,
        root: P256.PrivateKey,
        _ master: MasterKeyring,
        at now: Instant,
        dropsNone: Bool = false
    ) throws -> AuthorityStore.Document {
        let keys = try named(rows, dropsNone: dropsNone).map { use, row in
            ServiceKeys.Key(
                use: use,
                key: try publicKey(row, use, master),
                validity: row.validFrom...max(row.validFrom, row.validUntil)
            )
        }
        let document = ServiceKeys(
            environment: environment,
            number: Int(number),
            keys: keys,
            authorities: try authorities(rows, at: now, dropsNone: dropsNone),
            validity: now...(now + Life.service)
        )
        return AuthorityStore.Document(number: number, environment: environment, text: document.signed(by: root))
    }

    private static func publicKey(_ row: AuthorityStore.Key, _ use: ServiceKeys.Use, _ master: MasterKeyring) throws -> JWK {
        let scalar = try master.unwrap(row.wrapped)
        switch use {
        case .agreement: return .p256(try P256.PrivateKey(scalar: scalar).publicKey)
        case .license, .revocation, .time: return .ed25519(try Ed25519.PrivateKey(seed: scalar).publicKey)
        }
    }

    /// The keys that a document names, in the order of their creation: the newest of each use, and all that signed licenses and lists of
    /// revocations, because devices verify these again at each start. Replaced keys of the other uses have the places that are left.
    private static func named(
        _ rows: [AuthorityStore.Key],
        dropsNone: Bool
    ) throws(ServerError) -> [(use: ServiceKeys.Use, row: AuthorityStore.Key)] {
        let all = rows.compactMap { row in ServiceKeys.Use(rawValue: row.use).map { (use: $0, row: row) } }
        let newest = Set(ServiceKeys.Use.allCases.compactMap { use in all.last { $0.use == use }?.row.id })
        func isNeeded(_ use: ServiceKeys.Use) -> Bool { use == .license || use == .revocation }
        let current = all.filter { newest.contains($0.row.id) }
        let former = all.filter { !newest.contains($0.row.id) }
        let needed = former.filter { isNeeded($0.use) }
        let room = ServiceKeys.maxKeys - current.count
        guard needed.count <= room || !dropsNone else {
            throw ServerError(
                .conflict,
                "devices know at most \(ServiceKeys.maxKeys) keys, and verify stored licenses and lists with all replaced keys of 'license' "
                    + "and 'revocation': no other key has room"
            )
        }
        let kept = Set(needed.suffix(room).map(\.row.id))
        let others = Set(former.filter { !isNeeded($0.use) }.suffix(room - kept.count).map(\.row.id))
        return all.filter { newest.contains($0.row.id) || kept.contains($0.row.id) || others.contains($0.row.id) }
    }

    /// The certificates of the authorities of players that a document names.
    private static func authorities(
        _ rows: [AuthorityStore.Key],
        at now: Instant,
        dropsNone: Bool
    ) throws(ServerError) -> [[UInt8]] {
        let all = rows.filter { $0.use == Use.devices }
        let replacedLately = zip(all, all.dropFirst()).filter { now <= $1.createdAt + Life.formerList }.count
        guard replacedLately < ServiceKeys.maxAuthorities || !dropsNone else {
            throw ServerError(
                .conflict,
                "\(replacedLately) authorities of players were replaced within \(Life.formerList.components.seconds / 86_400) days, and "
                    + "certificates of all of them are in use: rotate 'devices' later"
            )
        }
        return all.compactMap(\.certificate).suffix(ServiceKeys.maxAuthorities)
    }

    /// The time before the end of a key at which the operator is warned: half a year.
    private static let warning = Duration.seconds(183 * 86_400)

    /// Sentences about keys that end within half a year, or have ended.
    func endWarnings(at now: Instant) async throws -> [String] {
        let isOffline = try await storedKeys().rootKey == nil
        return try await list().filter { key in
            key.isCurrent && (key.use != Use.servers || isOffline) && key.validity.upperBound < now + Self.warning
        }.map { key in
            let verb = key.validity.upperBound < now ? "ended" : "ends"
            // servers have certificates of the root itself while it is here
            let remedy = key.use == Use.servers ? "pki import-root" : "pki rotate \(key.use)"
            return "the key for '\(key.use)' \(verb) at \(key.validity.upperBound): carrel \(remedy)"
        }
    }

    /// Certifies the authorities again under another root. Their keys stay.
    static func certify(
        _ rows: [AuthorityStore.Key],
        under root: CertificateAuthority,
        in transaction: any Transaction
    ) throws {
        for row in rows where row.use == Use.devices || row.use == Use.servers {
            guard let old = row.certificate else { continue }
            let certificate = try Certificate(der: old)
            let again = root.issue(
                subject: certificate.commonName ?? "",
                publicKey: try P256.PublicKey(subjectPublicKeyInfo: certificate.subjectPublicKeyInfo),
                validity: row.validFrom...row.validUntil,
                kind: .authority(pathLength: 0)
            )
            try AuthorityStore.certify(row.id, again, in: transaction)
        }
    }
}
