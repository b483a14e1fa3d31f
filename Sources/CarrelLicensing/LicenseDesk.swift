import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelRights
import CarrelStore

/// Decides on one request for keys, in one transaction.
struct LicenseDesk {
    private let licenses: Licenses
    private let player: Player
    private let request: KeyRequest
    private let place: Leases.Reservation
    private let now: Instant
    private let transaction: any Transaction

    init(
        _ licenses: Licenses,
        _ player: Player,
        _ request: KeyRequest,
        _ place: Leases.Reservation,
        at now: Instant,
        _ transaction: any Transaction
    ) {
        self.licenses = licenses
        self.player = player
        self.request = request
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
        }
    }

    /// The license to answer with.
    ///
    /// - Parameter rules: of the token; nil without one.
    /// - Returns: the license.
    /// - Throws: ``HTTPError`` with the reason for a refusal.
    func issued(for rules: BusinessRules?) throws -> LicenseStore.Issued {
        switch request.session {
        case .stream, .persist:
            guard let rules else { throw HTTPError(.forbidden, "license.token", "a license needs a token") }
            return try redeemed(rules)
        case .renew: return try renewed()
        case .release: return try released()
        }
    }

    private func redeemed(_ rules: BusinessRules) throws -> LicenseStore.Issued {
        if let bound = rules.deviceThumbprint, bound != player.signingKey {
            throw HTTPError(.forbidden, "license.token-device", "the token is for another device")
        }
        guard request.session == .stream || rules.isStorable else {
            throw HTTPError(.forbidden, "license.not-storable", "the token is for a stream: its license is not kept")
        }
        let content = request.contentID
        guard content.isEmpty || rules.contents.isEmpty || rules.contents.contains(where: { $0.contentID == content }) else {
            throw HTTPError(.forbidden, "license.content", "the token is for other content")
        }
        if let known = try LicenseStore.redemption(of: rules.idText, by: player.id, in: transaction),
            let license = try LicenseStore.license(known, in: transaction)
        {
            guard license.endedAt == nil else { throw Self.ended }
            guard license.session == request.session else {
                throw HTTPError(.conflict, "license.token-used", "the token was redeemed for another kind of license")
            }
            return license.leaseUntil == nil ? license : try extended(license)
        }
        guard try LicenseStore.redemptionCount(of: rules.idText, in: transaction) < rules.redemptions else {
            throw HTTPError(.conflict, "license.token-used", "the token was redeemed as often as it may be")
        }
        let license = try made(rules)
        try LicenseStore.insert(license, in: transaction)
        try LicenseStore.insert(
            LicenseStore.Redemption(
                token: rules.idText,
                player: player.id,
                license: license.id,
                at: now,
                contentID: license.contentID,
                cookie: rules.cookie
            ),
            until: rules.expiresAt,
            in: transaction
        )
        return license
    }

    private func made(_ rules: BusinessRules) throws -> LicenseStore.Issued {
        guard !rules.contents.isEmpty else {
            throw HTTPError(.notFound, "license.content", "the token names a title, and licenses for titles are not issued yet")
        }
        let subject = player.account ?? rules.account ?? "player:\(player.id)"
        let isStream = request.session == .stream
        let id = Random.uuid(at: now)
        if isStream { try takeSlot(id, of: subject) }
        let keys = try rules.contents.map(key(of:))
        return LicenseStore.Issued(
            id: id,
            player: player.id,
            subject: subject,
            contentID: request.contentID.isEmpty ? rules.contents[0].contentID : request.contentID,
            session: request.session,
            sequence: 1,
            terms: terms(rules, isStream: isStream),
            obligations: Self.obligations(rules),
            keyIDs: rules.contents.map(\.keyID),
            issuedAt: now,
            leaseUntil: isStream ? now + leaseLife : nil,
            endedAt: nil,
            endedBy: nil,
            plays: 0,
            wrapped: try licenses.master.current.wrap(Secret.joined(keys))
        )
    }

    private func key(of content: BusinessRules.Content) throws -> Secret {
        if let key = content.key { return key }
        guard let stored = try LicenseStore.key(content.keyID, in: transaction) else {
            throw HTTPError(
                .notFound,
                "license.key",
                "the key store does not have the content's key",
                extra: [("number", .number(-4019))]
            )
        }
        return try licenses.master.unwrap(stored)
    }

    private var leaseLife: Duration { licenses.settings.interval + licenses.settings.grace }

    private func terms(_ rules: BusinessRules, isStream: Bool) -> LicenseTerms {
        var terms = LicenseTerms()
        terms.isStorable = rules.isStorable && !isStream
        if case .rental(let end, let duration)? = rules.rights {
            terms.notAfter = end
            terms.playbackSeconds = duration
        }
        if isStream { terms.leaseSeconds = Int(leaseLife.components.seconds) }
        return terms
    }

    /// Takes a place among the streams and listeners of a subject. Streams are counted in the transaction: a counter of its own could
    /// differ from the rows.
    private func takeSlot(_ license: String, of subject: String) throws {
        let leases = licenses.leases
        guard leases.limit > 0 else { return }
        let streams = try LicenseStore.streams(of: subject, at: now, limit: leases.limit + 1000, in: transaction)
        switch leases.reserve(place, license, of: subject, beside: streams, at: now) {
        case .refused(let seconds):
            throw HTTPError(
                .conflict,
                "license.concurrency",
                "there are \(leases.limit) streams already: stop one of them",
                headers: ["Retry-After": String(seconds)]
            )
        case .held(let ending):
            for stream in ending { try LicenseStreams.evict(stream, of: subject, at: now, in: transaction) }
        }
    }

    private func own() throws -> LicenseStore.Issued {
        guard let id = request.license, let license = try LicenseStore.license(id, in: transaction), license.player == player.id
        else {
            throw HTTPError(.notFound, "license.unknown", "the player has no such license")
        }
        return license
    }

    private func renewed() throws -> LicenseStore.Issued {
        let license = try own()
        guard license.endedAt == nil else { throw Self.ended }
        if let end = license.terms.notAfter, end <= now { throw Self.ended }
        // A stream is for now: a lease that ended is not taken up again without a token.
        if let lease = license.leaseUntil, lease <= now { throw Self.ended }
        // A device whose number is larger than the service's comes from another history; a smaller one missed an answer.
        guard request.sequence <= license.sequence else {
            throw HTTPError(.conflict, "license.sequence", "the player's license is newer than the one of the service")
        }
        return try extended(license)
    }

    private func extended(_ license: LicenseStore.Issued) throws -> LicenseStore.Issued {
        if let lease = license.leaseUntil, lease <= now { try takeSlot(license.id, of: license.subject) }
        let lease = license.leaseUntil.map { _ in now + leaseLife }
        guard try LicenseStore.renew(license.id, leaseUntil: lease, in: transaction),
            let renewed = try LicenseStore.license(license.id, in: transaction)
        else { throw Self.ended }
        return renewed
    }

    private func released() throws -> LicenseStore.Issued {
        let license = try own()
        _ = try LicenseStore.end(license.id, by: "release", plays: min(request.plays, 1_000_000), at: now, in: transaction)
        return try LicenseStore.license(license.id, in: transaction) ?? license
    }

    private static let ended = HTTPError(.forbidden, "license.ended", "the license was given back, revoked, or has ended")

    /// The obligations of a token's extensions and output rules.
    private static func obligations(_ rules: BusinessRules) -> [Obligation] {
        var list = rules.extensions.map { element in
            Obligation(
                type: element.type,
                parameters: ["payload": .string(Base64.encode(element.payload))],
                isCritical: element.isCritical
            )
        }
        if let override = rules.outputControlOverride, !list.contains(where: { $0.type == Evaluation.openOutput }) {
            list.append(
                Obligation(
                    type: Evaluation.openOutput,
                    parameters: ["imageConstraintLevel": .integer(override.imageConstraintLevel)],
                    isCritical: false
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
                    isCritical: rules.unknownOutputBehavior == .disallow
                )
            )
        }
        return list
    }
}
