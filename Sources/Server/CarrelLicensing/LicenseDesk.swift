// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelRights
import CarrelStore
import CarrelTokens
import CarrelWebAPI

/// Decides on one request for keys, in one transaction.
struct LicenseDesk {
    let means: Means
    private(set) var player: Player
    let request: KeyRequest
    let actor: AuditActor
    let place: Leases.Reservation
    let now: Instant
    let transaction: any Transaction
    /// The effect of the request, once it is decided.
    private(set) var effect = Effect.none
    /// The content of a new license as the audit log names it.
    private(set) var ownContent: String?

    /// The values that every decision uses.
    struct Means: Sendable {
        let personalizations: Personalizations
        let orders: Orders
        let editions: Editions
        let keys: ContentKeys
        /// The places of streams: of licenses and of listeners together.
        let leases: Leases
        let master: MasterKeyring.Shared
        let settings: LicenseSettings
    }

    /// The effect of a request on its license.
    enum Effect {
        /// The license is repeated unchanged, or had ended before.
        case none
        /// It runs on.
        case renewed
        /// It is issued or given back.
        case changed
    }

    init(
        _ means: Means,
        _ player: Player,
        _ request: KeyRequest,
        by actor: AuditActor,
        _ place: Leases.Reservation,
        at now: Instant,
        _ transaction: any Transaction
    ) {
        self.means = means
        self.player = player
        self.request = request
        self.actor = actor
        self.place = place
        self.now = now
        self.transaction = transaction
    }

    /// The verb of the audit entry.
    var action: String {
        switch request.session {
        case .stream, .persist: "issue"
        case .renew: "renew"
        case .release: "release"
        case .register: "register"
        case .deregister: "deregister"
        }
    }

    /// Issues the license for the request.
    ///
    /// - Parameter grant: the grant of the token; nil without a token.
    /// - Returns: the license.
    /// - Throws: ``RuleError`` with the reason for a refusal.
    mutating func issued(for grant: Grant?) throws -> LicenseStore.Issued {
        switch request.session {
        case .stream, .persist:
            guard let grant else { throw RuleError(.forbidden, "license.token", "a license needs a token") }
            return try requireKeys(of: try redeemed(grant))
        case .renew: return try requireKeys(of: try renewed())
        case .release: return try released()
        case .register, .deregister:
            throw RuleError(.invalid, "license.request", "registrations are asked for at /v1/registration")
        }
    }

    private mutating func redeemed(_ grant: Grant) throws -> LicenseStore.Issued {
        let rules = grant.rules
        if let bound = rules.deviceThumbprint, bound != player.signingKey {
            throw RuleError(.forbidden, "license.token-device", "the token is for another device")
        }
        guard request.session == .stream || rules.isStorable else {
            throw RuleError(.forbidden, "license.not-storable", "the token is for a stream: its license is not kept")
        }
        guard request.session == .persist || !rules.conditions.needsStore else {
            throw RuleError(
                .forbidden,
                "license.restricted",
                "the license of the token is counted on the device: it must be stored"
            )
        }
        try requireContent(grant)
        // a message that may be used again has a license for the store and one for now
        let token = grant.isReusable && request.session == .stream ? grant.redemption + Grant.streamSuffix : grant.redemption
        // most are redeemed for the first time
        let forms = grant.forms
        let isNew = try forms.contains(token) && rules.redemptions > 0 && !LicenseStore.isRedeemed(forms, in: transaction)
        if !isNew, let license = try redeemedBefore(grant, as: token) { return license }
        player = try owned(grant)
        let content = try content(of: grant)
        let license = try made(grant, content, countedBy: token)
        try LicenseStore.insert(license, redeemedWith: token, in: transaction)
        try noteKept(license)
        (effect, ownContent) = (.changed, content.ownID)
        try Players.recordLicense(of: player, at: now, in: transaction)
        if let order = content.order { try LicenseStore.set(order: order, of: license.id, in: transaction) }
        try LicenseStore.insert(
            LicenseStore.Redemption(
                token: token,
                player: player.id,
                license: license.id,
                at: now,
                contentID: content.ownID,
                cookie: rules.cookie,
                issuer: rules.issuer
            ),
            until: rules.expiresAt,
            in: transaction
        )
        return license
    }

    /// Checks earlier redemptions of a grant.
    ///
    /// - Parameters:
    ///   - grant: the grant.
    ///   - token: the name of the redemption.
    /// - Returns: the license that the player has for it; nil where it may have a new one.
    /// - Throws: ``RuleError`` where it may not.
    private mutating func redeemedBefore(_ grant: Grant, as token: String) throws -> LicenseStore.Issued? {
        // a revocation by staff is of the grant, for the store and for now
        for form in grant.forms where try LicenseStore.redemption(of: form, by: player.id, in: transaction)?.endedBy == "staff" {
            throw RuleError.licenseEnded
        }
        if let known = try LicenseStore.redemption(of: token, by: player.id, in: transaction) {
            if let license = try LicenseStore.license(known.license, in: transaction) {
                // a stream that lapsed also lost its place among the streams of its message
                let isLapsed = license.leaseUntil.map { $0 <= now } ?? false
                if !grant.isReusable || (isLive(license) && !isLapsed) {
                    player = try owned(grant)
                    return try repeated(license)
                }
                // given back, evicted or over: its place is taken
                try LicenseStore.remove(license, redeemedWith: token, in: transaction)
            } else if !grant.isReusable, known.endedBy != nil {
                throw RuleError.licenseEnded
            }
        }
        if !grant.isReusable {
            let forms = grant.forms
            let (limit, id) = (grant.rules.redemptions, player.id)
            guard try !LicenseStore.isUsedUp(forms[0], or: forms[1], limit: limit, byOthersThan: id, in: transaction) else {
                throw RuleError.licenseTokenUsed
            }
        }
        return nil
    }

    /// Refuses content and keys that the token is not for.
    private func requireContent(_ grant: Grant) throws {
        let (content, contents) = (request.contentID, grant.rules.contents)
        let isListed =
            if let title = grant.rules.title, contents.isEmpty {
                content.isEmpty || content == TitleContent.id(ofTitle: title)
            } else if grant.message != nil {
                // a message has keys without a content name; the player provides the name, which must not belong to another grant
                content.isEmpty || contents.contains { $0.contentID == content }
                    || (BusinessRules.isContentID(content) && !content.lowercased().hasPrefix("urn:carrel:"))
            } else {
                content.isEmpty || contents.contains { $0.contentID == content }
            }
        guard isListed else { throw RuleError(.forbidden, "license.content", "the token is for other content") }
        guard grant.message != nil else { return }
        let others = request.keyIDs.filter { id in !contents.contains { $0.keyID == id } }
        guard others.isEmpty else {
            throw RuleError(
                .forbidden,
                "license.content",
                "the license message does not list \(others.count) of the \(request.keyIDs.count) requested keys"
            )
        }
    }

    /// Refuses a request for keys of which the license has none: a license has the requested keys among its own.
    private func requireKeys(of license: LicenseStore.Issued) throws -> LicenseStore.Issued {
        let isServed = request.keyIDs.isEmpty || license.endedAt != nil || license.keyIDs.contains(where: request.keyIDs.contains)
        guard isServed else {
            let count = request.keyIDs.count
            throw RuleError(
                .notFound,
                "license.key",
                "the license has none of the \(count) requested keys",
                facts: [("number", .number(-4019))]
            )
        }
        return license
    }

    /// Records a license that the device keeps, and which list of revocations the device reads.
    private func noteKept(_ license: LicenseStore.Issued) throws {
        guard license.terms.isStorable else { return }
        try Players.noteLicense(
            until: license.terms.notAfter,
            listVersion: request.listVersion,
            of: player,
            in: transaction
        )
    }

    /// Whether a license can still be used: it did not end, and neither did its time.
    private func isLive(_ license: LicenseStore.Issued) -> Bool {
        license.endedAt == nil && license.terms.notAfter.map { now < $0 } ?? true
    }

    /// The license of a token that the player redeemed before.
    private mutating func repeated(_ license: LicenseStore.Issued) throws -> LicenseStore.Issued {
        guard license.endedAt == nil else { throw RuleError.licenseEnded }
        guard license.session == request.session else {
            throw RuleError(.conflict, "license.token-used", "the token was redeemed for another kind of license")
        }
        try requireOrder(of: license)
        try requireAccount(of: license)
        try noteKept(license)
        guard license.leaseUntil != nil else { return license }
        guard isLive(license) else { throw RuleError.licenseEnded }
        return try extended(license)
    }

    private func made(_ grant: Grant, _ content: Content, countedBy token: String) throws -> LicenseStore.Issued {
        let isStream = request.session == .stream
        let id = Random.uuid(at: now)
        if isStream {
            try takeSlot(id, of: content.subject, content.order)
            try takeSlot(of: grant.message?.access, countedBy: token)
        }
        var terms = try terms(grant, isStream: isStream)
        if let end = content.end { terms.notAfter = min(end, terms.notAfter ?? end) }
        if let end = terms.notAfter, end <= now { throw RuleError.licenseEnded }
        return LicenseStore.Issued(
            id: id,
            player: player.id,
            subject: content.subject,
            contentID: content.id,
            session: request.session,
            sequence: 1,
            terms: terms,
            obligations: obligations(grant, content),
            keyIDs: content.keys.map(\.id),
            policies: content.policies,
            issuedAt: now,
            leaseUntil: isStream ? now + leaseLife : nil,
            endedAt: nil,
            endedBy: nil,
            plays: 0,
            wrapped: try means.master.current.wrap(Secret.joined(content.keys.map(\.key)))
        )
    }

    func key(of content: BusinessRules.Content, in reach: ContentKeyStore.Reach) throws -> Secret {
        let isRevoked = try RevokedRight.key.isRevoked(content.keyID.hex, in: transaction)
        if let key = content.key, !isRevoked { return key }
        guard !isRevoked, let stored = try ContentKeyStore.key(content.keyID, of: reach, in: transaction) else {
            throw try missingKey(content)
        }
        return try means.master.unwrap(stored)
    }

    /// The refusal of a content without a key.
    func missingKey(_ content: BusinessRules.Content) throws -> RuleError {
        let isRevoked = try RevokedRight.key.isRevoked(content.keyID.hex, in: transaction)
        return RuleError(
            .notFound,
            "license.key",
            isRevoked ? "the id of the content's key was revoked" : "the key store does not have the content's key",
            facts: [("number", .number(-4019))]
        )
    }

    private var leaseLife: Duration { means.settings.interval + means.settings.grace }

    private func terms(_ grant: Grant, isStream: Bool) throws -> LicenseTerms {
        var terms = LicenseTerms()
        terms.isStorable = grant.rules.isStorable && !isStream
        if let message = grant.message {
            let ends = [message.expiresAt, message.narrowestDuration.map { now + .seconds($0) }]
            (terms.notBefore, terms.notAfter) = (message.startsAt, ends.compactMap(\.self).min())
            terms.playbackSeconds = message.narrowestPlayDuration
        } else if case .rental(let end, let duration)? = grant.rules.rights {
            (terms.notAfter, terms.playbackSeconds) = (end, duration)
        }
        let conditions = grant.rules.conditions
        terms.playCount = conditions.playCount
        if let start = conditions.startsAt { terms.notBefore = max(start, terms.notBefore ?? start) }
        if let storage = conditions.storageSeconds {
            terms.storageSeconds = storage
            // after that at the latest, no clock of the license runs
            let end = now + .seconds(storage) + .seconds(terms.playbackSeconds ?? 0)
            terms.notAfter = min(end, terms.notAfter ?? end)
        }
        if isStream, grant.rules.title != nil, let duration = terms.playbackSeconds {
            // a stream is played from its issue on
            let end = now + .seconds(duration)
            (terms.notAfter, terms.playbackSeconds) = (min(end, terms.notAfter ?? end), nil)
        }
        if isStream { terms.leaseSeconds = Int(leaseLife.components.seconds) }
        return terms
    }

    /// Takes a slot among the streams and listeners of a subject. Streams are counted in the transaction: a separate counter
    /// could differ from the rows.
    private func takeSlot(_ license: String, of owner: String, _ order: String?) throws {
        let (leases, countsOrders) = (means.leases, means.settings.countsOrders)
        guard leases.limit > 0 else { return }
        let subject = countsOrders ? order ?? owner : owner
        let streams = try LicenseStore.streams(
            of: subject,
            countsOrders: countsOrders,
            at: now,
            limit: leases.limit + 1000,
            in: transaction
        )
        switch leases.reserve(place, license, of: subject, beside: streams, at: now) {
        case .refused(let seconds):
            throw RuleError(
                .conflict,
                "license.concurrency",
                "there are \(leases.limit) streams already: stop one of them",
                retryAfter: seconds
            )
        case .held(let ending):
            for stream in ending { try LicenseStreams.evict(stream, at: now, in: transaction) }
        }
    }

    /// Counts the streams of a license message with its own limit.
    private func takeSlot(of access: LicenseMessage.AccessControl?, countedBy token: String) throws {
        guard let access, let limit = access.concurrencyLimit, access.concurrencyMode != .none else { return }
        let bound = min(limit, 1_000_000)
        let live = try LicenseStore.leases(redeemedWith: token, at: now, limit: bound + 1000, in: transaction)
        try makeRoom(for: bound, beside: live, evicts: access.concurrencyMode == .evictOldest)
    }

    private func makeRoom(for limit: Int, beside live: [String], evicts: Bool) throws {
        guard live.count >= limit else { return }
        guard evicts, limit > 0 else {
            throw RuleError(
                .conflict,
                "license.concurrency",
                "there are \(live.count) streams already: stop one of them",
                retryAfter: leaseLife.components.seconds
            )
        }
        for oldest in live.prefix(live.count - limit + 1) {
            try LicenseStreams.evict(oldest, at: now, in: transaction)
        }
    }

    private func own() throws -> LicenseStore.Issued {
        guard let id = request.license, let license = try LicenseStore.license(id, in: transaction), license.player == player.id
        else {
            throw RuleError(.notFound, "license.unknown", "the player has no such license")
        }
        return license
    }

    private mutating func renewed() throws -> LicenseStore.Issued {
        let license = try own()
        guard isLive(license) else { throw RuleError.licenseEnded }
        try requireOrder(of: license)
        try requireAccount(of: license)
        try noteKept(license)
        // A stream is for now: a lease that ended is not taken up again without a token.
        if let lease = license.leaseUntil, lease <= now { throw RuleError.licenseEnded }
        // A device whose number is larger than the service's comes from another history; a smaller one missed an answer.
        guard request.sequence <= license.sequence else {
            throw RuleError(.conflict, "license.sequence", "the player's license is newer than the one of the service")
        }
        if reportedPlays > 0, let order = try LicenseStore.order(of: license.id, in: transaction) {
            // a rental's time of play runs on the shelf too
            try means.orders.activate(order, at: now, in: transaction)
        }
        return try extended(license)
    }

    private mutating func extended(_ license: LicenseStore.Issued) throws -> LicenseStore.Issued {
        if let lease = license.leaseUntil, lease <= now {
            try takeSlot(license.id, of: license.subject, try LicenseStore.order(of: license.id, in: transaction))
        }
        let lease = license.leaseUntil.map { _ in now + leaseLife }
        guard try LicenseStore.renew(license.id, leaseUntil: lease, plays: reportedPlays, in: transaction),
            let renewed = try LicenseStore.license(license.id, in: transaction)
        else { throw RuleError.licenseEnded }
        effect = .renewed
        return renewed
    }

    /// The player's count of plays; it cannot be more than what a person plays.
    private var reportedPlays: Int { min(request.plays, 1_000_000) }

    private mutating func released() throws -> LicenseStore.Issued {
        let license = try own()
        if try LicenseStore.end(license.id, by: "release", plays: reportedPlays, at: now, in: transaction) { effect = .changed }
        return try LicenseStore.license(license.id, in: transaction) ?? license
    }

    /// The obligations of a license. A license for a title lifts the default output rule, which no desktop meets.
    private func obligations(_ grant: Grant, _ content: Content) -> [Obligation] {
        var list = Self.obligations(grant.rules) + grant.rules.conditions.obligations + content.obligations
        if grant.rules.title != nil, !list.contains(where: { $0.type == Evaluation.openOutput }) {
            list.append(Obligation(type: Evaluation.openOutput, isCritical: false))
        }
        return list
    }

    /// The obligations of a token's extensions and output rules.
    private static func obligations(_ rules: BusinessRules) -> [Obligation] {
        var list = rules.extensions.map { element in
            Obligation(
                type: element.type,
                parameters: ["payload": .string(Base64.encode(element.payload))],
                // no player understands a constraint on the lifted rule
                isCritical: element.isCritical || (element.type == Evaluation.openOutput && !element.payload.isEmpty)
            )
        }
        if let override = rules.outputControlOverride, !list.contains(where: { $0.type == Evaluation.openOutput }) {
            list.append(
                Obligation(
                    type: Evaluation.openOutput,
                    parameters: ["imageConstraintLevel": .integer(override.imageConstraintLevel)],
                    isCritical: override.imageConstraintLevel != 0
                )
            )
        }
        if rules.outputControlFlags != 0 || rules.unknownOutputBehavior != nil {
            list.append(
                Obligation(
                    type: "output-control",
                    parameters: [
                        "flags": .integer(rules.outputControlFlags),
                        "unknown": .string(rules.unknownOutputBehavior?.rawValue ?? ""),
                    ],
                    // the bits have no public meaning, so no player meets them
                    isCritical: rules.outputControlFlags != 0 || rules.unknownOutputBehavior != .allow
                )
            )
        }
        return list
    }
}
