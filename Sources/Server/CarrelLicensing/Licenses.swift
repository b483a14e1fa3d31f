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

/// Issues licenses to players: for a token, once; renews them, takes them back, revokes them.
package struct Licenses: Sendable {
    /// The operator's settings of licenses.
    package struct Settings: Sendable {
        /// How often a stream is renewed, and how long it may be late.
        package var interval = Duration.seconds(300)
        package var grace = Duration.seconds(60)
        /// Whether the streams of an order are counted for the order, as its listeners are, and not for its account.
        package var countsOrders = false

        package init() {}
    }

    let authority: Authority
    let personalizations: Personalizations
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared
    let tokens: Tokens
    /// The limit of concurrent streams, shared by licenses and listeners.
    let leases: Leases
    let orders: Orders
    let audit: AuditFold
    let limiter: TokenBucketLimiter
    let settings: Settings

    /// Issues the license for a key request.
    ///
    /// - Parameters:
    ///   - text: the request as received.
    ///   - message: the token of a license message sent with it.
    ///   - requestID: for the audit log.
    /// - Returns: the signed license.
    /// - Throws: ``HTTPError`` with a code `license.…`.
    package func answer(_ text: String, message: String? = nil, requestID: String) async throws -> String {
        let (asked, keys) = try await verified(text)
        let (request, player, now) = (asked.request, asked.player, asked.now)
        let actor = AuditActor(player.account ?? player.id, requestID: requestID)
        return try await recordingDenial("license.deny", of: player.id, by: actor, at: now) {
            let (version, nonce) = try admitted(request)
            guard message == nil || request.token == nil || request.token == message else {
                throw HTTPError(.badRequest, "license.token", "the request has a token, and another license message beside it")
            }
            var grant: Grant?
            if request.session == .stream || request.session == .persist, let token = request.token ?? message {
                grant = try await opened(token, at: now)
            }
            let once = Once(bytes: nonce.bytes, end: nonce.end, refusal: Self.nonce)
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
            throw HTTPError(.badRequest, "license.request", error.message)
        }
        let found = try await database.readBriefly { try PlayerStore.player(thumbprint: sealed.certificate, at: now, in: $0) }
        guard let found else { throw Self.notPersonalized(.forbidden) }
        let request: KeyRequest
        do throws(RightsError) {
            request = try sealed.verified(by: PlayerCertificate.key(ofKnown: found.certificate))
        } catch {
            throw HTTPError(.forbidden, "license.request", error.message)
        }
        try throttle(found.player, at: now)
        return (Asked(request: request, player: found.player, digest: sealed.digest, now: now), keys)
    }

    static func notPersonalized(_ status: HTTPStatus, headers: HTTPFields = [:]) -> HTTPError {
        HTTPError(
            status,
            "license.not-personalized",
            "the certificate is not one of this service, or has expired: personalise the device",
            extra: [("number", .number(-4001))],
            headers: headers
        )
    }

    func throttle(_ player: Player, at now: Instant) throws(HTTPError) {
        guard let wait = limiter.take(player.id, at: now) else { return }
        throw HTTPError(
            .tooManyRequests,
            "license.throttled",
            "there were too many requests of this player",
            headers: ["Retry-After": String(max(1, wait.components.seconds))]
        )
    }

    /// Does something for a verified player, and records it where it is denied.
    func recordingDenial<Result>(
        _ action: String,
        of player: String,
        by actor: AuditActor,
        at now: Instant,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as HTTPError {
            try await audit.recordRefused(action, of: player, by: actor, at: now, reason: error.code)
            throw error
        }
    }

    /// A number that a request may use once, until when it is remembered, and the refusal of a second use.
    struct Once: Sendable {
        let bytes: [UInt8]
        let end: Instant
        let refusal: HTTPError
    }

    /// Decides on a verified request.
    ///
    /// - Parameters:
    ///   - request: the wish.
    ///   - known: the player that sent it.
    ///   - grant: of the token; nil without one.
    ///   - once: the request's number; nil if the client proved its key in the connection's handshake.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    /// - Returns: the license and its player.
    /// - Throws: ``HTTPError`` with the reason for a refusal.
    func decided(
        _ request: KeyRequest,
        _ known: Player,
        _ grant: Grant?,
        _ once: Once?,
        by actor: AuditActor,
        at now: Instant
    ) async throws -> Outcome {
        let place = leases.reservation()
        var isCommitted = false
        defer { leases.settle(place, isCommitted: isCommitted) }
        let outcome = try await database.write { transaction in
            guard let player = try PlayerStore.player(id: known.id, in: transaction) else {
                throw Self.notPersonalized(.forbidden)
            }
            try Personalizations.requireActive(player)
            if let once, try !PlayerStore.use(nonce: once.bytes, until: once.end, in: transaction) { throw once.refusal }
            var desk = LicenseDesk(self, player, request, by: actor, place, at: now, transaction)
            let issued = try desk.issued(for: grant)
            var repeated: Audit.Entry?
            if desk.effect != .none {
                let content = try desk.ownContent ?? LicenseStore.content(of: issued, in: transaction)
                let entry = actor.entry("license.\(desk.action)", on: issued.id, at: now, reason: content)
                if desk.effect == .changed { try AuditStore.append(entry, in: transaction) } else { repeated = entry }
            }
            return Outcome(
                issued: issued,
                repeated: repeated,
                player: desk.player,
                revocations: Int(try PlayerStore.revocationNumber(in: transaction)),
                counted: try counted(issued, in: transaction)
            )
        }
        isCommitted = true
        // an app may renew as often as it likes: repeats are folded
        if let entry = outcome.repeated {
            try await audit.record(entry.action, on: entry.subject, by: actor, at: now, reason: entry.reason)
        }
        if request.session == .release { leases.noteEnd(of: outcome.counted) }
        return outcome
    }

    /// The subject whose places a license takes: with order URLs, its order.
    private func counted(_ license: LicenseStore.Issued, in transaction: any Transaction) throws -> String {
        let order = settings.countsOrders ? try LicenseStore.order(of: license.id, in: transaction) : nil
        return order ?? license.subject
    }

    /// A decision for the player.
    struct Outcome: Sendable {
        let issued: LicenseStore.Issued
        /// The audit entry of a renewal, which may fold; nil for others.
        let repeated: Audit.Entry?
        let player: Player
        let revocations: Int
        /// The subject whose places it takes.
        let counted: String
    }

    /// The version to answer in, and the nonce, which is not used yet.
    func admitted(_ request: KeyRequest) throws -> (version: Int, nonce: Challenges.Nonce) {
        guard let version = request.versions.filter({ KeyRequest.versions.contains($0) }).max() else {
            throw HTTPError(
                .badRequest,
                "license.version",
                "the player speaks no version of the protocol that this service speaks"
            )
        }
        guard let nonce = personalizations.challenges.read(request.nonce, at: clock.now) else { throw Self.nonce }
        return (version, nonce)
    }

    /// Reads the player, which must be active; each nonce is accepted once.
    func active(_ id: String, using nonce: Challenges.Nonce, in transaction: any Transaction) throws -> Player {
        guard let player = try PlayerStore.player(id: id, in: transaction) else { throw Self.nonce }
        try Personalizations.requireActive(player)
        guard try PlayerStore.use(nonce: nonce.bytes, until: nonce.end, in: transaction) else { throw Self.nonce }
        return player
    }

    func opened(_ token: String, at now: Instant) async throws -> Grant {
        try await Self.refusing { try await tokens.grant(of: token, from: Self.address, at: now) }
    }

    /// The address of the client whose request is being answered.
    private static var address: IPAddress? {
        guard case .network(let text, _) = Peer.current else { return nil }
        return IPAddress(text)
    }

    /// Opens a token, whose errors become refusals.
    static func refusing<Result>(_ open: () async throws -> Result) async throws -> Result {
        do {
            return try await open()
        } catch let error as RightsError {
            throw HTTPError(.forbidden, error.code == .expired ? "license.token-expired" : "license.token", error.message)
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
        let secret = try master.unwrap(issued.wrapped)
        var list: [License.Key] = []
        let isWanted = issued.endedAt == nil
        for (index, id) in issued.keyIDs.enumerated() where isWanted && (request.keyIDs.isEmpty || request.keyIDs.contains(id)) {
            let key = secret.withBytes { Secret(copying: $0.extracting(index * KeyID.byteCount..<(index + 1) * KeyID.byteCount)) }
            let sealed = License.seal(key, id: id, license: issued.id, to: point)
            list.append(License.Key(id: id, sealed: sealed, policy: issued.policies[id] ?? ""))
        }
        let isStream = issued.leaseUntil != nil
        var terms = issued.terms
        if isStream { terms.renewAt = now + settings.interval }
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
            heartbeat: isStream ? Int(settings.interval.components.seconds) : nil
        ).signed(by: keys.license)
    }

    static let nonce = HTTPError(
        .badRequest,
        "license.nonce",
        "the nonce is not one of this service, was used, or is too old: ask for another"
    )

    /// Records that a token was made.
    func noteToken(_ rules: BusinessRules, by actor: AuditActor) async throws {
        let entry = actor.entry("token.issue", on: rules.idText, at: clock.now, reason: rules.contents.first?.contentID ?? "")
        try await database.write { try AuditStore.append(entry, in: $0) }
    }

    package func list(of player: String?, after: (Instant, String)?, limit: Int) async throws -> [LicenseStore.Issued] {
        try await database.read { transaction in
            let found = try LicenseStore.licenses(of: player, after: after, limit: limit, in: transaction)
            if let player, found.isEmpty, after == nil { try LicenseListRoutes.requirePlayer(player, in: transaction) }
            return found
        }
    }

    /// Revokes a license: it is renewed no more, and players learn of it with the list of what is revoked.
    ///
    /// - Parameters:
    ///   - id: the license.
    ///   - account: the reader that does it, whose license it must be; nil for staff.
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
        leases.noteEnd(of: place)
        return revoked
    }

    /// The redemptions of tokens that a back-office key asked for, or of all tokens, the newest first.
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
