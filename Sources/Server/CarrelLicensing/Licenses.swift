// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
import CarrelAuthority
package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelOrders
import CarrelRights
import CarrelStore
import CarrelThrottling
import CarrelTokens
import CarrelWebAPI

/// Issues licenses to players: once per token; renews, returns and revokes them.
package struct Licenses: Sendable {
    let authority: Authority
    let database: any Database
    let clock: any WallClock
    let tokens: Tokens
    let means: LicenseDesk.Means
    let audit: AuditFold
    let limiter: TokenBucketLimiter

    /// Issues the license for a key request.
    ///
    /// - Parameters:
    ///   - text: the request as received.
    ///   - message: the token of a license message sent with it.
    ///   - requestID: the request's id for the audit log.
    /// - Returns: the signed license.
    /// - Throws: ``RuleError`` with a code `license.…`.
    package func answer(_ text: String, message: String? = nil, requestID: String) async throws -> String {
        let (asked, keys) = try await verified(text)
        let (request, player, now) = (asked.request, asked.player, asked.now)
        let actor = AuditActor(player.account ?? player.id, requestID: requestID)
        return try await recordingDenial("license.deny", of: player.id, by: actor, at: now) {
            let (version, nonce) = try admitted(request)
            guard message == nil || request.token == nil || request.token == message else {
                throw RuleError(.invalid, "license.token", "the request has a token, and another license message beside it")
            }
            var grant: Grant?
            if request.session == .stream || request.session == .persist, let token = request.token ?? message {
                grant = try await opened(token, at: now)
            }
            let once = Once(bytes: nonce.bytes, end: nonce.end, refusal: RuleError.licenseNonce)
            let outcome = try await decided(request, player, grant, once, by: actor, at: now)
            return try signed(outcome, request, digest: asked.digest, version: version, keys, at: now)
        }
    }

    /// A request whose player was verified.
    struct Asked: Sendable {
        let request: KeyRequest
        let player: Player
        let digest: [UInt8]
        let now: Instant
    }

    /// Verifies a request: its player is certified, signed it, and did not ask too often.
    func verified(_ text: String) async throws -> (Asked, keys: Authority.Keys) {
        let now = clock.now.wholeSecond
        let keys = try await authority.keys()
        let sealed: KeyRequest.Unverified
        do throws(RightsError) {
            sealed = try KeyRequest.Unverified(text, environment: keys.environment, keys: keys.agreement)
        } catch {
            throw RuleError(.invalid, "license.request", error.message)
        }
        let found = try await database.readBriefly { try Players.find(certificate: sealed.certificate, at: now, in: $0) }
        guard let found else { throw RuleError.licenseNotPersonalized() }
        let request: KeyRequest
        do throws(RightsError) {
            request = try sealed.verified(by: PlayerCertificate.key(ofKnown: found.certificate))
        } catch {
            throw RuleError(.forbidden, "license.request", error.message)
        }
        try throttle(found.player, at: now)
        return (Asked(request: request, player: found.player, digest: sealed.digest, now: now), keys)
    }

    func throttle(_ player: Player, at now: Instant) throws(RuleError) {
        guard let wait = limiter.take(player.id, at: now) else { return }
        throw RuleError(
            .throttled,
            "license.throttled",
            "there were too many requests of this player",
            retryAfter: max(1, wait.components.seconds)
        )
    }

    /// Performs an action for a verified player, and records denials.
    func recordingDenial<Result>(
        _ action: String,
        of player: String,
        by actor: AuditActor,
        at now: Instant,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as RuleError {
            try await audit.recordRefused(action, of: player, by: actor, at: now, reason: error.code.identifier)
            throw error
        }
    }

    /// A number that a request may use once, until when it is remembered, and the refusal of a second use.
    struct Once: Sendable {
        let bytes: [UInt8]
        let end: Instant
        let refusal: RuleError
    }

    /// Decides on a verified request.
    ///
    /// - Parameters:
    ///   - request: the verified key request.
    ///   - known: the player of the request.
    ///   - grant: the grant of the token; nil without a token.
    ///   - once: the request's number; nil if the client proved its key in the connection's handshake.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    /// - Returns: the license and its player.
    /// - Throws: ``RuleError`` with the reason for a refusal.
    func decided(
        _ request: KeyRequest,
        _ known: Player,
        _ grant: Grant?,
        _ once: Once?,
        by actor: AuditActor,
        at now: Instant
    ) async throws -> Outcome {
        let place = means.leases.reservation()
        var isCommitted = false
        defer { means.leases.settle(place, isCommitted: isCommitted) }
        let outcome = try await database.write { transaction in
            guard let player = try Players.find(known.id, in: transaction) else {
                throw RuleError.licenseNotPersonalized()
            }
            try Personalizations.requireActive(player)
            if let once, try !Challenges.use((once.bytes, once.end), in: transaction) { throw once.refusal }
            var desk = LicenseDesk(means, player, request, by: actor, place, at: now, transaction)
            let issued = try desk.issued(for: grant)
            var repeated: AuditEntry?
            if desk.effect != .none {
                let content = try desk.ownContent ?? LicenseStore.content(of: issued, in: transaction)
                let entry = actor.entry("license.\(desk.action)", on: issued.id, at: now, reason: content)
                if desk.effect == .changed { try AuditStore.append(entry, in: transaction) } else { repeated = entry }
            }
            return Outcome(
                issued: issued,
                repeated: repeated,
                player: desk.player,
                revocations: Int(try Players.revocationNumber(in: transaction)),
                isOfOrder: try LicenseStore.order(of: issued.id, in: transaction) != nil,
                counted: try counted(issued, in: transaction)
            )
        }
        isCommitted = true
        // an app may renew as often as it likes: repeats are folded
        if let entry = outcome.repeated {
            try await audit.record(entry.action, on: entry.subject, by: actor, at: now, reason: entry.reason)
        }
        if request.session == .release { means.leases.noteEnd(of: outcome.counted) }
        return outcome
    }

    /// The subject whose slots a license takes: with order URLs, its order.
    private func counted(_ license: LicenseStore.Issued, in transaction: any Transaction) throws -> String {
        let order = means.settings.countsOrders ? try LicenseStore.order(of: license.id, in: transaction) : nil
        return order ?? license.subject
    }

    /// A decision for the player.
    struct Outcome: Sendable {
        let issued: LicenseStore.Issued
        /// The audit entry of a renewal, which may fold; nil for others.
        let repeated: AuditEntry?
        let player: Player
        let revocations: Int
        /// Whether an order's own key is among its keys.
        let isOfOrder: Bool
        /// The subject whose places it takes.
        let counted: String
    }

    /// The version to answer in, and the nonce, which is not used yet.
    func admitted(_ request: KeyRequest) throws -> (version: Int, nonce: Challenges.Nonce) {
        guard let version = request.versions.filter({ KeyRequest.versions.contains($0) }).max() else {
            throw RuleError(
                .invalid,
                "license.version",
                "the player speaks no version of the protocol that this service speaks"
            )
        }
        guard let nonce = means.personalizations.challenges.read(request.nonce, at: clock.now) else {
            throw RuleError.licenseNonce
        }
        return (version, nonce)
    }

    /// Reads the player, which must be active; each nonce is accepted once.
    func active(_ id: String, using nonce: Challenges.Nonce, in transaction: any Transaction) throws -> Player {
        guard let player = try Players.find(id, in: transaction) else { throw RuleError.licenseNonce }
        try Personalizations.requireActive(player)
        guard try Challenges.use((nonce.bytes, nonce.end), in: transaction) else { throw RuleError.licenseNonce }
        return player
    }

    func opened(_ token: String, at now: Instant) async throws -> Grant {
        try await Self.refusing { try await tokens.grant(of: token, from: Self.address, at: now) }
    }

    /// The address of the current request's client.
    private static var address: IPAddress? {
        guard case .network(let text, _) = Peer.current else { return nil }
        return IPAddress(text)
    }

    /// Opens a token, whose errors become refusals.
    static func refusing<Result>(_ open: () async throws -> Result) async throws -> Result {
        do {
            return try await open()
        } catch let error as RightsError {
            throw RuleError(.forbidden, error.code == .expired ? "license.token-expired" : "license.token", error.message)
        }
    }

    func signed(
        _ outcome: Outcome,
        _ request: KeyRequest,
        digest: [UInt8],
        version: Int,
        _ keys: Authority.Keys,
        at now: Instant
    ) throws -> String {
        let (issued, player) = (outcome.issued, outcome.player)
        let point = try P256.PublicKey(x: Array(player.agreementPoint.prefix(32)), y: Array(player.agreementPoint.suffix(32)))
        let secret = try means.master.unwrap(issued.wrapped)
        var list: [License.Key] = []
        let isWanted = issued.endedAt == nil
        for (index, id) in issued.keyIDs.enumerated() where isWanted && (request.keyIDs.isEmpty || request.keyIDs.contains(id)) {
            let key = secret.withBytes { Secret(copying: $0.extracting(index * KeyID.byteCount..<(index + 1) * KeyID.byteCount)) }
            let sealed = License.seal(key, id: id, license: issued.id, to: point)
            list.append(License.Key(id: id, sealed: sealed, policy: issued.policies[id] ?? ""))
        }
        let isStream = issued.leaseUntil != nil
        var terms = issued.terms
        if isStream {
            terms.renewAt = now + means.settings.interval
        } else if let end = terms.notAfter {
            // an extended loan reaches the device while it plays
            terms.renewAt = now + max(means.settings.interval, (end - now) / 2)
        }
        return License(
            id: issued.id,
            sequence: issued.sequence,
            player: player.id,
            contentID: issued.contentID,
            request: digest,
            nonce: request.nonce,
            // a lease runs from its renewal, everything else from the first issue
            issuedAt: isStream ? now : issued.issuedAt.wholeSecond,
            signedAt: now,
            terms: terms,
            obligations: issued.obligations,
            keys: list,
            minimumRevocations: outcome.revocations,
            version: version,
            offered: request.versions,
            session: isStream ? issued.id : nil,
            heartbeat: isStream ? Int(means.settings.interval.components.seconds) : nil,
            rotatesKeys: outcome.isOfOrder ? means.settings.rotatesKeys : nil
        ).signed(by: keys.license)
    }

    /// Records that a token was made.
    func noteToken(_ rules: BusinessRules, by actor: AuditActor) async throws {
        let entry = actor.entry("token.issue", on: rules.idText, at: clock.now, reason: rules.contents.first?.contentID ?? "")
        try await database.write { try AuditStore.append(entry, in: $0) }
    }

    package func list(of player: String?, after: (Instant, String)?, limit: Int) async throws -> [LicenseStore.Issued] {
        try await database.read { transaction in
            let found = try LicenseStore.licenses(of: player, after: after, limit: limit, in: transaction)
            if let player, found.isEmpty, after == nil { try Players.require(player, in: transaction) }
            return found
        }
    }

    /// Revokes a license: it can no longer be renewed, and players learn of it from the revocation list.
    ///
    /// - Parameters:
    ///   - id: the license.
    ///   - account: the acting reader, who must own the license; nil for staff.
    ///   - actor: the actor for the audit log.
    /// - Returns: the license after the change.
    /// - Throws: ``ServerError`` `request.not-found`.
    package func revoke(_ id: String, of account: String? = nil, by actor: AuditActor) async throws -> LicenseStore.Issued {
        let now = clock.now
        let (revoked, place) = try await database.write { transaction in
            guard let license = try LicenseStore.license(id, in: transaction), account == nil || license.subject == account else {
                throw ServerError(.notFound, "there is no such license")
            }
            if account == nil {
                try LicenseStore.endForStaff(license, at: now, in: transaction)
            } else {
                try LicenseStore.endAll([id], by: "reader", at: now, in: transaction)
            }
            let content = try LicenseStore.content(of: license, in: transaction)
            try AuditStore.append(actor.entry("license.revoke", on: id, at: now, reason: content), in: transaction)
            return (try LicenseStore.license(id, in: transaction) ?? license, try counted(license, in: transaction))
        }
        means.leases.noteEnd(of: place)
        return revoked
    }

    /// The redemptions of tokens requested by a back-office key, or of all tokens, the newest first.
    package func redemptions(
        issuer: String? = nil,
        cookie: String?,
        start: Int,
        count: Int
    ) async throws -> [LicenseStore.Redemption] {
        try await database.read {
            try LicenseStore.redemptions(issuer: issuer, cookie: cookie, start: start, count: count, in: $0)
        }
    }
}
