// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
package import CarrelHome
package import CarrelMetrics
package import CarrelStore
import CarrelThreads

/// Issues and checks editions' credentials on a running server, with rotating secrets, and with revocations that apply within a
/// second.
///
/// Both are in the database, under one serial that every change advances. They are read again when the cached state is 1 s old:
/// when a genuine pair is presented, and by ``refresh()`` every second. So no forged pair causes a database read, and
/// every process knows a new secret before it signs.
package final class CredentialKeyring: Sendable {
    /// The time for which cached secrets and revocations are valid.
    package static let life = Duration.seconds(1)
    /// From the making of a secret to its first signature.
    static let notice = Duration.seconds(5)
    /// From the start of a later secret to the end of the last pair.
    private static let held = EditionCredentials.longestLife + notice

    private struct Known: Sendable {
        var credentials: EditionCredentials
        var secrets: [UInt8]
        var revocations: Revocations
        var readAt: Instant
        /// The number at which the secrets were read: another one for other secrets.
        var generation: UInt32 = 0
    }

    private let database: any Database
    private let master: MasterKeyring.Shared
    private let clock: any WallClock
    private let sha1: SHA1Credentials?
    private let known: Locked<Known>
    private let counters: CredentialCounters
    private let verified = VerifiedCredentials()

    /// Reads the secrets and revocations of a database; the first secret is made at first use.
    package init(
        database: any Database,
        master: MasterKeyring.Shared,
        clock: any WallClock,
        sha1: SHA1Credentials?,
        metrics: MetricsRegistry
    ) async throws {
        self.database = database
        self.master = master
        self.clock = clock
        self.sha1 = sha1
        counters = CredentialCounters(metrics)
        let now = clock.now
        try await SigningSecret.makeFirst(.credential, master, in: database, at: now)
        let change = try await database.read { try Change(after: 0, in: $0) }
        let secrets = try change.secrets.map { try master.unwrap($0.id, $0.wrapped) }
        let credentials = EditionCredentials(secrets: secrets)
        var revocations = Revocations()
        revocations.add(change.revocations, upTo: change.serial, credentials)
        known = Locked(Known(credentials: credentials, secrets: secrets.map(\.id), revocations: revocations, readAt: now))
    }

    // MARK: Giving out and checking

    /// The current issuer of pairs. Fetch it before checking an entitlement, so that a revocation in between
    /// counts.
    package func issuer() async throws -> Issuer {
        let now = clock.now
        let known = try await reread(at: now)
        return Issuer(credentials: known.credentials, serial: known.revocations.serial, now: now)
    }

    /// The issuer of pairs according to the cache, without a database read. Valid only if the caller finds, together with the
    /// entitlement, that nothing was revoked since: that the serial of the last revocation is ``Issuer/serial``.
    package func knownIssuer() -> Issuer {
        let known = known.withLock { $0 }
        return Issuer(credentials: known.credentials, serial: known.revocations.serial, now: clock.now)
    }

    /// Issues pairs with one state of secrets and revocations.
    package struct Issuer: Sendable {
        let credentials: EditionCredentials
        let serial: UInt32
        let now: Instant

        /// A pair that opens a product for an account.
        package func issue(product: String, account: String, life: Duration) -> EditionCredentials.Pair {
            credentials.issue(product: product, account: account, serial: serial, at: now, life: life)
        }
    }

    /// Checks the pair in a request for the product of the route.
    ///
    /// - Parameters:
    ///   - pair: the pair sent by the client.
    ///   - product: the product of the route.
    ///   - authorization: the field that carried it, so that ``opens(_:product:)`` recognizes it the next time; nil if there was
    ///     none.
    /// - Returns: the verified pair; nil for a pair of the legacy scheme, which carries no data.
    /// - Throws: ``EditionCredentials/Refusal``; the database's error if revocations cannot be read.
    @discardableResult
    package func verify(
        _ pair: EditionCredentials.Pair,
        product: String,
        from authorization: String? = nil
    ) async throws -> EditionCredentials.Verified? {
        do {
            let verified = try await check(pair, product, authorization)
            counters.count(verified == nil ? .sha1 : .hmac, nil)
            return verified
        } catch let refusal as EditionCredentials.Refusal {
            counters.count(sha1?.couldBe(pair) ?? false ? .sha1 : .hmac, refusal)
            throw refusal
        }
    }

    /// Whether a field is known to contain a pair that opens a product. If false, call ``verify(_:product:from:)``.
    package func opens(_ authorization: String, product: String) -> Bool {
        let now = clock.now
        guard let found = verified[VerifiedCredentials.Key(authorization: authorization, product: product)],
            now < found.verified.expiresAt
        else { return false }
        let opens = known.withLock { known in
            found.generation == known.generation && now >= known.readAt && now - known.readAt < Self.life
                && !known.revocations.revokes(found.verified, for: product)
        }
        if opens { counters.count(.hmac, nil) }
        return opens
    }

    private func check(
        _ pair: EditionCredentials.Pair,
        _ product: String,
        _ authorization: String?
    ) async throws -> EditionCredentials.Verified? {
        let now = clock.now
        let verified: EditionCredentials.Verified
        let (credentials, generation) = known.withLock { ($0.credentials, $0.generation) }
        do {
            verified = try credentials.verify(pair, product: product, at: now)
        } catch {
            guard error == .invalid, let sha1, sha1.accepts(pair, product: product, at: now) else { throw error }
            let revocations = try await current(at: now).revocations
            guard !revocations.revokesUndated(for: product) else { throw EditionCredentials.Refusal.revoked }
            return nil
        }
        var revocations = try await current(at: now).revocations
        // Another process may have given it out a moment ago, after a revocation that is not known here yet.
        if verified.serial > revocations.serial { revocations = try await reread(at: now).revocations }
        guard !revocations.revokes(verified, for: product) else { throw EditionCredentials.Refusal.revoked }
        if let authorization {
            let found = VerifiedCredentials.Found(verified: verified, generation: generation)
            self.verified.insert(found, for: VerifiedCredentials.Key(authorization: authorization, product: product))
        }
        return verified
    }

    // MARK: Revoking

    /// Revokes issued credentials: in this process immediately, in others on the same database within a second.
    package func revoke(_ revocation: Revocation, by actor: AuditActor) async throws {
        if case .product(let id) = revocation, id.isEmpty || id.utf8.count > 256 {
            throw ServerError(.invalid, "a product id has 1 to 256 bytes")
        }
        let now = clock.now
        let entry = actor.entry("credentials.revoke", on: revocation.subject, at: now, reason: revocation.kind)
        try await database.write { transaction in
            if case .account(let id) = revocation, try Accounts.find(id: id, in: transaction) == nil {
                throw Account.unknown
            }
            try RevocationStore.revoke(revocation, at: now, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        try await refresh()
    }

    // MARK: Secrets

    /// Adds a secret that signs from now on. Those before it verify until the last pair under them is dead.
    ///
    /// - Parameters:
    ///   - atOnce: whether to delete every other secret, which revokes all issued pairs: in this process immediately, in others
    ///     on the same database within a second.
    ///   - actor: the actor for the audit log.
    /// - Returns: the new secret's id and time.
    /// - Throws: ``ServerError`` `conflict` if every id is taken by a secret that may still be needed.
    package func rotate(atOnce: Bool, by actor: AuditActor) async throws -> SigningSecret.Rotation {
        let now = clock.now
        let from = atOnce ? now : now + Self.notice
        let wrapped = try master.current.wrap(SigningSecret.makeStored(signsFrom: from))
        let master = master
        let entry = actor.entry("credentials.rotate", on: "", at: now, reason: atOnce ? "at once" : "")
        let made = try await database.write { transaction -> SigningSecret.Rotation in
            let known = try SigningSecret.all(.credential, master, in: transaction)
            let dead = atOnce ? known : SigningSecret.dead(known, after: Self.held, at: now)
            _ = try RevocationStore.advance(in: transaction)
            try AuditStore.append(entry, in: transaction)
            return try SigningSecret.replace(
                with: wrapped,
                signsFrom: from,
                .credential,
                known: known,
                dead: dead,
                full:
                    "255 credential secrets are in use: wait up to a month until one expires, or end all of them with --at-once",
                in: transaction
            )
        }
        try await refresh()
        return made
    }

    // MARK: Keeping up

    /// Reads what other processes changed. A server does so once a second.
    package func refresh() async throws {
        _ = try await reread(at: clock.now)
    }

    private func current(at now: Instant) async throws -> Known {
        let known = known.withLock { $0 }
        if now >= known.readAt, now - known.readAt < Self.life { return known }
        return try await reread(at: now)
    }

    private func reread(at now: Instant) async throws -> Known {
        let before = known.withLock { $0 }
        let change = try await database.readBriefly { try Change(after: before.revocations.serial, in: $0) }
        var fresh = before
        fresh.readAt = now
        if change.serial != before.revocations.serial {
            let secrets = try change.secrets.map { try master.unwrap($0.id, $0.wrapped) }
            if secrets.map(\.id) != before.secrets {
                fresh.credentials = EditionCredentials(secrets: secrets)
                fresh.secrets = secrets.map(\.id)
                fresh.generation = change.serial
                fresh.revocations.useKeys(of: fresh.credentials)
            }
            fresh.revocations.add(change.revocations, upTo: change.serial, fresh.credentials)
        }
        return known.withLock { known in
            // A state read before another process's change does not replace a state read after it.
            if fresh.revocations.serial >= known.revocations.serial { known = fresh }
            return known
        }
    }

    /// A change in the database after a serial.
    private struct Change: Sendable {
        let serial: UInt32
        let revocations: [Revocation.Numbered]
        let secrets: [(id: UInt8, wrapped: MasterKeyring.Wrapped)]

        init(after known: UInt32, in transaction: any Transaction) throws {
            serial = try RevocationStore.serial(in: transaction)
            let isNew = serial != known
            revocations = isNew ? try RevocationStore.since(known, in: transaction) : []
            secrets = isNew ? try SecretStore.signing(.credential, in: transaction) : []
        }
    }
}
