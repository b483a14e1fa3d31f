// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
package import CarrelHome
import CarrelJOSE
import CarrelRights
package import CarrelStore
import CarrelThreads

/// The certificate authority of players, and the keys that the service signs with. They are made at the first start, once per
/// database.
package final class Authority: Sendable {
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared
    let keyCache = SnapshotCache<Int, Keys>(limit: 1, life: .seconds(1))
    let agreementCertificate = Locked<AgreementCertificate?>(nil)
    let listCache = SnapshotCache<Int, RevocationLists>(limit: 1, life: .seconds(3600))
    let countCache = SnapshotCache<Int, Int>(limit: 1, life: .seconds(60))
    /// The lists that are being made.
    let listBuild = Locked<Task<RevocationLists, any Error>?>(nil)

    /// Reads the keys, or creates them in a new database.
    ///
    /// - Parameters:
    ///   - database: the database of one environment.
    ///   - master: unwraps the keys.
    ///   - clock: the time.
    ///   - environment: the home's environment; each player belongs to one.
    /// - Throws: ``ServerError`` `server.home` if the database belongs to another environment.
    package init(database: any Database, master: MasterKeyring.Shared, clock: any WallClock, environment: ServiceEnvironment)
        async throws
    {
        self.database = database
        self.master = master
        self.clock = clock
        let found = clock.now.wholeSecond
        let name = environment.rawValue
        if try await database.read({ try AuthorityStore.number(in: $0) }) == 0 {
            let (rows, document) = try Self.makeAll(environment: name, master.current, at: found)
            try await database.write { transaction in
                // Another process may make them first: the database decides.
                guard try AuthorityStore.number(in: transaction) == 0 else { return }
                for row in rows { try AuthorityStore.insert(row, in: transaction) }
                try AuthorityStore.insert(document, at: found, in: transaction)
                try AuditStore.append(
                    AuditActor(AuditActor.server).entry("pki.init", on: name, at: found),
                    in: transaction
                )
            }
        }
        try await signAfterRestore()
        let known = try await storedKeys()
        guard known.environment == name else {
            throw ServerError(
                .home,
                "the database's certificate authority belongs to the environment '\(known.environment)', not '\(name)'"
            )
        }
    }

    /// The keys, at most a second old; a rotation by another process is noticed by its number.
    ///
    /// - Throws: ``ServerError`` `server.home` if a signing key has expired: its signatures would be refused.
    package func keys() async throws -> Keys {
        let keys = try await storedKeys()
        try keys.requireValid(at: clock.now)
        return keys
    }

    /// The keys, whether or not they have ended.
    package func storedKeys() async throws -> Keys {
        let now = clock.now
        let found = keyCache.find(0, at: now)
        if let keys = found.value, found.isFresh { return keys }
        if let keys = found.value, now < keys.readAt + .seconds(3600),
            try await database.read({ try AuthorityStore.number(in: $0) }) == keys.number
        {
            keyCache.insert(keys, for: 0, readAt: now, since: found)
            return keys
        }
        let (rows, document) = try await database.read { transaction in
            (try AuthorityStore.keys(in: transaction), try AuthorityStore.document(in: transaction))
        }
        guard let document else { throw ServerError(.home, "the database has no keys of the certificate authority") }
        let keys = try Keys(rows, document, master, at: now)
        keyCache.insert(keys, for: 0, readAt: now, since: found)
        return keys
    }

    private static func makeAll(
        environment: String,
        _ master: MasterKeyring,
        at now: Instant
    ) throws -> ([AuthorityStore.Key], AuthorityStore.Document) {
        let root = try CertificateAuthority.root(
            name: "Carrel root (\(environment))",
            key: P256.PrivateKey(),
            validity: now...(now + Life.root)
        )
        let devicesKey = P256.PrivateKey()
        let devices = try CertificateAuthority(
            certificate: root.issue(
                subject: "Carrel devices (\(environment))",
                publicKey: devicesKey.publicKey,
                validity: now...(now + Life.devices),
                kind: .authority(pathLength: 0)
            ),
            key: devicesKey
        )
        let service = try ServiceKeys.Use.allCases.map { try make($0, master, at: now) }
        let rows =
            [
                try row(Use.root, root, master, at: now, for: Life.root),
                try row(Use.devices, devices, master, at: now, for: Life.devices),
            ]
            + service.map(\.row)
        return (rows, try document(rows, environment: environment, number: 1, root: root.key, master, at: now))
    }

    /// A key as `carrel pki show` lists it.
    package struct Listed: Sendable {
        package let id: String
        package let use: String
        package let validity: ClosedRange<Instant>
        /// Whether it is the one in use: the newest of its use.
        package let isCurrent: Bool
        /// In DER.
        package let certificate: [UInt8]?
    }

    package func list() async throws -> [Listed] {
        let rows = try await database.read { try AuthorityStore.keys(in: $0) }
        let newest = Dictionary(rows.map { ($0.use, $0.id) }) { _, last in last }
        return rows.map {
            Listed(
                id: $0.id,
                use: $0.use,
                validity: min($0.validFrom, $0.validUntil)...$0.validUntil,
                isCurrent: newest[$0.use] == $0.id,
                certificate: $0.certificate
            )
        }
    }

    /// The uses that ``rotate(_:by:)`` takes.
    package static var rotatedUses: [String] { [Use.root, Use.devices] + ServiceKeys.Use.allCases.map(\.rawValue) }

    /// Replaces a key. Signatures of the old key stay valid; a new root is signed by the old root, so that players follow.
    ///
    /// - Parameters:
    ///   - use: one of ``rotatedUses``.
    ///   - actor: the actor for the audit log.
    /// - Returns: the id of the new key.
    /// - Throws: ``ServerError`` `request.invalid` for another use.
    package func rotate(_ use: String, by actor: AuditActor) async throws -> String {
        guard Self.rotatedUses.contains(use) else {
            throw ServerError(.invalid, "use must be one of \(Self.rotatedUses.joined(separator: ", "))")
        }
        let moment = clock.now
        let now = moment.wholeSecond
        let master = master
        let id = try await database.write { transaction -> String in
            let rows = try AuthorityStore.keys(in: transaction)
            // The last created key is the newest, even if the clock went back or stands still.
            let order = max(now, (rows.map(\.createdAt).max() ?? now) + .seconds(1))
            guard let document = try AuthorityStore.document(in: transaction) else {
                throw ServerError(.home, "the database has no keys of the certificate authority")
            }
            let known = try Keys(rows, document, master, at: now)
            _ = try known.requireRoot()
            let id = try Self.replace(use, known, rows, master.current, at: now, order: order, in: transaction)
            try AuditStore.append(actor.entry("pki.rotate", on: use, at: moment, reason: id), in: transaction)
            return id
        }
        keyCache.invalidateAll()
        return id
    }

    private static func replace(
        _ use: String,
        _ known: Keys,
        _ rows: [AuthorityStore.Key],
        _ master: MasterKeyring,
        at now: Instant,
        order: Instant,
        in transaction: any Transaction
    ) throws -> String {
        func insert(_ key: AuthorityStore.Key) throws {
            var key = key
            key.createdAt = order
            try AuthorityStore.insert(key, in: transaction)
        }
        var rootKey = try known.requireRoot()
        let id: String
        if let service = ServiceKeys.Use(rawValue: use) {
            let made = try make(service, master, at: now)
            // A signature is judged by the time it was made at; requests may be encrypted to the old key for a while.
            let end = service == .agreement ? now + Life.overlap : now
            for row in rows where row.use == use { try AuthorityStore.end(row.id, at: end, in: transaction) }
            try insert(made.row)
            id = made.row.id
        } else {
            let oldRoot = try CertificateAuthority(certificate: known.root.der, key: rootKey)
            let validity = now...(now + (use == Use.root ? Life.root : Life.devices))
            let key = P256.PrivateKey()
            if use == Use.root {
                let root = try CertificateAuthority.root(
                    name: "Carrel root (\(known.environment))",
                    key: key,
                    validity: validity
                )
                let rollover = RootRollover.sign(root.certificate, with: oldRoot.key)
                try insert(try row(use, root, rollover: rollover, master, at: now, for: Life.root))
                try certify(rows, under: root, in: transaction)
                rootKey = key
            } else {
                let certificate = oldRoot.issue(
                    subject: "Carrel devices (\(known.environment))",
                    publicKey: key.publicKey,
                    validity: validity,
                    kind: .authority(pathLength: 0)
                )
                let devices = try CertificateAuthority(certificate: certificate, key: key)
                try insert(try row(use, devices, master, at: now, for: Life.devices))
            }
            id = JWK.p256(key.publicKey).thumbprint
        }
        let document = try document(
            try AuthorityStore.keys(in: transaction),
            environment: known.environment,
            number: known.number + 1,
            root: rootKey,
            master,
            at: now,
            dropsNone: true
        )
        try AuthorityStore.insert(document, at: now, in: transaction)
        return id
    }
}
