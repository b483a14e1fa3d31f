// SPDX-License-Identifier: Apache-2.0

import CarrelVault
import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelJOSE
package import CarrelRights
import CarrelStore
import CarrelThrottling
package import CarrelWebAPI

/// Personalises copies of apps: issues their certificates, renews them, and links them to accounts.
package struct Personalizations: Sendable {
    /// The operator's settings of players.
    package struct Settings: Sendable {
        /// Whether a copy needs a signed-in reader to be personalized.
        package var needsAccount = false
        /// Players without an account that never got a license, at most; 0 refuses them.
        package var unlinkedLimit = 100_000
        /// The interval at which a player polls its code.
        package var linkInterval = Duration.seconds(5)
        /// Codes for linking that wait at the same time: the oldest of the largest network gives way to another.
        package var linkLimit: Int64 = 10_000
        /// The public URL of the server, without a slash at the end; nil: the request's URL.
        package var publicURL: String?

        package init() {}
    }

    let authority: Authority
    let database: any Database
    let clock: any WallClock
    let settings: Settings
    package let challenges: Challenges
    /// The device limit of an account, with what its plans allow.
    let devicePolicy: @Sendable (_ account: String, Instant, any Transaction) throws -> DevicePolicy
    let guests: Guests

    init(
        authority: Authority,
        database: any Database,
        clock: any WallClock,
        settings: Settings,
        challenges: Challenges,
        devicePolicy: @escaping @Sendable (_ account: String, Instant, any Transaction) throws -> DevicePolicy
    ) {
        (self.authority, self.database, self.clock, self.settings) = (authority, database, clock, settings)
        (self.challenges, self.devicePolicy) = (challenges, devicePolicy)
        guests = Guests(limit: settings.unlinkedLimit, database: database)
    }

    /// The lifetime of a certificate, and the time of its renewal.
    static let certificateLife = Duration.seconds(90 * 86_400)
    static let renewalAge = Duration.seconds(60 * 86_400)

    /// The session sent with a player's request, which links the player.
    package struct Reader: Sendable {
        package let account: String
        /// The device slot of the session; nil in a browser.
        package let device: String?
        /// The session itself; nil for a link that another proof makes.
        package let family: String?

        package init(account: String, device: String?, family: String? = nil) {
            self.account = account
            self.device = device
            self.family = family
        }
    }

    static func read(_ text: String) throws -> PersonalizationRequest {
        do throws(RightsError) {
            return try PersonalizationRequest(text)
        } catch {
            throw RuleError(
                .invalid,
                error.code == .key ? "personalization.key" : "personalization.rejected",
                error.message,
                fault: .rejected
            )
        }
    }

    /// Personalizes a copy, or renews its certificate. A repeated request returns the issued certificate.
    ///
    /// - Parameters:
    ///   - text: the signed request.
    ///   - reader: the session that came along; it links the player.
    ///   - requestID: for the audit log.
    ///   - address: of the player: guests of one network give way to other guests of it.
    /// - Returns: the certificate with what proves it.
    /// - Throws: ``RuleError`` with a code `personalization.…`.
    package func personalize(
        _ text: String,
        reader: Reader?,
        requestID: String,
        from address: String = ""
    ) async throws -> PersonalizationResponse {
        let now = clock.now.wholeSecond
        let request = try Self.read(text)
        guard let nonce = challenges.read(request.nonce, at: clock.now) else { throw Self.nonce }
        let requester = Requester(staff: nil, requestID: requestID, address: address)
        return try await answer(request, nonce, reader, requester, at: now)
    }

    /// Asks for a certificate: a player itself, or staff with a request in a file.
    struct Requester: Sendable {
        let staff: AuditActor?
        let requestID: String
        var address = ""
        /// The time of the audit entry; nil: the certificate's time, a whole second.
        var notedAt: Instant?

        func entry(_ action: String, _ player: Player, at now: Instant) -> AuditEntry {
            let actor = staff ?? AuditActor(player.account ?? AuditActor.anonymous, requestID: requestID)
            return actor.entry(
                staff == nil ? action : "player.certify",
                on: player.id,
                at: notedAt ?? now,
                reason: player.level.rawValue
            )
        }
    }

    func answer(
        _ request: PersonalizationRequest,
        _ nonce: (bytes: [UInt8], end: Instant),
        _ reader: Reader?,
        _ requester: Requester,
        at now: Instant
    ) async throws -> PersonalizationResponse {
        let keys = try await authority.keys()
        let isGuest = reader == nil && requester.staff == nil
        if isGuest { try await guests.count(at: now) }
        let (player, certificate, change) = try await database.write { transaction -> (Player, [UInt8], Guests.Change?) in
            guard try PlayerStore.use(nonce: nonce.bytes, until: nonce.end, in: transaction) else { throw Self.nonce }
            let signingKey = JWK.p256(request.signingKey).thumbprint
            let agreementKey = JWK.p256(request.agreementKey).thumbprint
            guard try !PlayerStore.isTombstone(signingKey, agreementKey, in: transaction) else { throw Self.revoked }
            if let known = try PlayerStore.player(signingKey: signingKey, in: transaction) {
                let (player, certificate) = try renew(known, request, reader, keys, at: now, requester, in: transaction)
                try GuestStore.extend(player.id, until: player.expiresAt, in: transaction)
                return (player, certificate, nil)
            }
            let (player, certificate) = try add(request, signingKey, reader, keys, at: now, requester, in: transaction)
            guard isGuest else { return (player, certificate, nil) }
            let site = LinkCodeStore.site(ofNetwork: SignInThrottle.network(of: requester.address))
            return (player, certificate, try guests.add(player, from: site, at: now, in: transaction))
        }
        if let change { guests.note(change) }
        return PersonalizationResponse(
            player: player.id,
            certificate: certificate,
            renewAt: player.expiresAt - (Self.certificateLife - Self.renewalAge),
            trust: keys.trust,
            revocations: try await authority.revocations(),
            time: TrustedTime(instant: now, nonce: request.nonce).signed(by: keys.time)
        )
    }

    private func add(
        _ request: PersonalizationRequest,
        _ signingKey: String,
        _ reader: Reader?,
        _ keys: Authority.Keys,
        at now: Instant,
        _ requester: Requester,
        in transaction: any Transaction
    ) throws -> (Player, [UInt8]) {
        let agreementKey = JWK.p256(request.agreementKey).thumbprint
        guard try !PlayerStore.isTaken(signingKey, agreementKey, in: transaction) else {
            throw RuleError(
                .conflict,
                "personalization.key",
                "a key belongs to another player",
                fault: .rejected
            )
        }
        guard try !PlayerStore.hasFingerprint(request.fingerprint, in: transaction) else { throw Self.fingerprint }
        guard reader != nil || requester.staff != nil || !settings.needsAccount else {
            throw RuleError(
                .unauthenticated,
                "personalization.account",
                "a signed-in reader is needed here",
                fault: .rejected
            )
        }
        if reader == nil, requester.staff == nil, guests.areRefused {
            throw RuleError(
                .unavailable,
                "personalization.full",
                "the operator allows no players without an account",
                fault: .host,
                retryAfter: 3600
            )
        }
        var player = Player(
            id: Random.uuid(at: now),
            signingKey: signingKey,
            agreementKey: agreementKey,
            agreementPoint: request.agreementKey.coordinates,
            fingerprint: request.fingerprint,
            level: request.level,
            app: Devices.cleaned(request.app),
            build: Devices.cleaned(request.build),
            name: Devices.cleaned(request.deviceName),
            createdAt: now,
            seenAt: now,
            expiresAt: now + Self.certificateLife
        )
        if let reader { try link(&player, to: reader, at: now, in: transaction) }
        try PlayerStore.insert(player, in: transaction)
        let certificate = try issue(for: player, request.signingKey, keys, at: now, in: transaction)
        try AuditStore.append(requester.entry("player.personalize", player, at: now), in: transaction)
        return (player, certificate)
    }

    private func renew(
        _ known: Player,
        _ request: PersonalizationRequest,
        _ reader: Reader?,
        _ keys: Authority.Keys,
        at now: Instant,
        _ requester: Requester,
        in transaction: any Transaction
    ) throws -> (Player, [UInt8]) {
        guard known.agreementPoint == request.agreementKey.coordinates else {
            throw RuleError(
                .conflict,
                "personalization.key",
                "the player has another key for agreement",
                fault: .rejected
            )
        }
        guard known.fingerprint == request.fingerprint else { throw Self.fingerprint }
        try Self.requireActive(known)
        var player = known
        (player.level, player.seenAt) = (request.level, now)
        (player.app, player.build) = (Devices.cleaned(request.app), Devices.cleaned(request.build))
        let name = Devices.cleaned(request.deviceName)
        if !name.isEmpty { player.name = name }
        let isYoung = now < known.expiresAt - (Self.certificateLife - Self.renewalAge)
        let isOfToday = now < known.expiresAt - (Self.certificateLife - .seconds(86_400))
        guard known.level == request.level || !isOfToday else {
            throw RuleError(
                .throttled,
                "personalization.throttled",
                "the player got a certificate of another level today",
                fault: .host,
                retryAfter: 86400
            )
        }
        let kept = isYoung && known.level == request.level ? try PlayerStore.certificate(of: known.id, in: transaction) : nil
        if kept == nil { player.expiresAt = now + Self.certificateLife }
        if let reader {
            try link(&player, to: reader, at: now, in: transaction)
        } else if player.account != nil {
            let isLost = try player.device.map { try Devices.isFree($0, in: transaction) } ?? true
            if isLost || (player.linkExpiresAt ?? now) <= now {
                (player.account, player.device, player.linkExpiresAt, player.family) = (nil, nil, nil, nil)
            } else if kept == nil {
                player.linkExpiresAt = player.expiresAt
            }
        }
        try PlayerStore.renew(player, in: transaction)
        try PlayerStore.link(player, in: transaction)
        if let device = player.device { try Devices.hold(device, until: player.linkExpiresAt, in: transaction) }
        if let kept {
            if requester.staff != nil { try AuditStore.append(requester.entry("player.renew", player, at: now), in: transaction) }
            return (player, kept)
        }
        let certificate = try issue(for: player, request.signingKey, keys, at: now, in: transaction)
        try AuditStore.append(requester.entry("player.renew", player, at: now), in: transaction)
        return (player, certificate)
    }

    private func issue(
        for player: Player,
        _ key: P256.PublicKey,
        _ keys: Authority.Keys,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [UInt8] {
        let der = PlayerCertificate.issue(
            by: keys.devices,
            player: player.id,
            key: key,
            level: player.level,
            validity: now...player.expiresAt
        )
        let certificate = try Certificate(der: der)
        try PlayerStore.insertCertificate(
            Hex.encode(certificate.serial),
            der,
            thumbprint: certificate.thumbprint,
            of: player.id,
            until: player.expiresAt,
            in: transaction
        )
        return der
    }

    /// Links a player to an account: it uses the device slot of the session, or takes a new one.
    func link(_ player: inout Player, to reader: Reader, at now: Instant, in transaction: any Transaction) throws {
        guard player.account == nil || player.account == reader.account else {
            throw RuleError(
                .conflict,
                "personalization.linked",
                "the player is linked to another account: remove that link first",
                fault: .rejected
            )
        }
        guard let account = try Accounts.find(id: reader.account, in: transaction), !account.isSuspended else {
            throw RuleError(
                .forbidden,
                "personalization.account",
                "the account is suspended, or is no more",
                fault: .rejected
            )
        }
        // A session's slot is for one player; a second copy of the app needs its own.
        var own = reader.device
        if let device = own, try PlayerStore.isHeld(device: device, byOtherThan: player.id, in: transaction) { own = nil }
        let isFreed = try player.device.map { try Devices.isFree($0, in: transaction) } ?? true
        if isFreed || (own != nil && own != player.device) {
            let claim = Devices.Claim(key: "player:\(player.id)", name: player.name.isEmpty ? player.app : player.name)
            let policy = try devicePolicy(reader.account, now, transaction)
            let slot = try own ?? Devices.register(claim, of: reader.account, policy: policy, at: now, in: transaction)
            guard let slot else {
                throw RuleError(
                    .conflict,
                    "personalization.device-limit",
                    "the account has no slot for another device",
                    fault: .deviceLimit
                )
            }
            if let former = player.device, former != slot { try Devices.hold(former, until: nil, in: transaction) }
            player.device = slot
        }
        if player.account == nil || reader.family != nil { player.family = reader.family }
        player.account = reader.account
        player.linkExpiresAt = player.expiresAt
        if let device = player.device { try Devices.hold(device, until: player.linkExpiresAt, in: transaction) }
    }

    /// Refuses a player that was revoked or is suspended.
    package static func requireActive(_ player: Player) throws(RuleError) {
        if player.revokedAt != nil {
            throw revoked
        }
        if player.suspendedAt != nil {
            throw RuleError(
                .forbidden,
                "personalization.suspended",
                "the player is suspended",
                fault: .revoked
            )
        }
    }

    private static let revoked = RuleError(.forbidden, "personalization.revoked", "the player was revoked", fault: .revoked)
    static let nonce = RuleError(
        .invalid,
        "personalization.nonce",
        "the nonce is not one of this service, was used, or is too old: ask for another",
        fault: .rejected
    )
    static let fingerprint = RuleError(
        .conflict,
        "personalization.fingerprint",
        "the fingerprint belongs to another player: a copied home must be personalised again, with keys of its own",
        fault: .fingerprint
    )
}
