// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelRights
import CarrelStore
import CarrelThreads
import CarrelThrottling
import CarrelVault
import CarrelWebAPI

/// Links players by codes (RFC 8628): a player shows eight letters, and a signed-in reader types them on a page that names the
/// device.
///
/// A code only links the player that requested it: the player proves itself with the key of its certificate.
package struct LinkCodes: Sendable {
    let authority: Authority
    let personalizations: Personalizations
    let database: any Database
    let clock: any WallClock
    private let polls = Locked(LRUCache<[UInt8], Poll>(limit: 16_384))
    private let accountLimiter = TokenBucketLimiter(perMinute: 20)
    private let networkLimiter = TokenBucketLimiter(perMinute: 60)

    /// Lifetime of a code. It is short because a reader may be tricked into typing another person's code.
    package static let life = Duration.seconds(600)
    /// The time for which an ended code is kept, so that a device learns of a decision in the last seconds.
    static let memory = Duration.seconds(60)
    /// The limits of pending codes of a network, and of the larger network around it, which has a twentieth of all.
    static let networkLimit: Int64 = 50
    static let siteLimit: Int64 = 500
    /// Letters of a reader's code: no vowels, which would make words, and none that looks like a digit (RFC 8628 §6.1).
    static let letters = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
    static let letterCount = 8
    static let deviceCodePrefix = "cdc_"
    /// The growth of the interval of a player that polls too often (RFC 8628 §3.5).
    private static let slowDown = Duration.seconds(5)

    private struct Poll: Sendable {
        var last: Instant
        var interval: Duration
    }

    /// The seconds between two questions of a player.
    package var interval: Duration { personalizations.settings.linkInterval }

    /// Codes that were made.
    package struct Issued: Sendable {
        /// The player's secret.
        package let deviceCode: String
        /// The letters for the reader, `XXXX-XXXX`.
        package let userCode: String
    }

    /// A player that waits for a reader's answer.
    package struct Waiting: Sendable {
        package let player: Player
        /// The network and the time of the request.
        package let network: String
        package let askedAt: Instant

        /// Whether an address is in the network of the player's request.
        package func isSameNetwork(as address: String) -> Bool { SignInThrottle.network(of: address) == network }
    }

    /// Makes the codes for a player. Earlier ones of the same player end.
    ///
    /// - Parameters:
    ///   - text: the signed request.
    ///   - address: the player's address, for the page that names it.
    /// - Returns: the codes.
    /// - Throws: ``RuleError`` with a code `link.…` or `personalization.…`.
    package func issue(_ text: String, from address: String) async throws -> Issued {
        let now = clock.now
        let environment = try await authority.keys().environment
        let (request, found) = try await verified(text, environment, at: now)
        guard let nonce = personalizations.challenges.read(request.nonce, at: now) else { throw Personalizations.nonce }
        let token = OpaqueToken.make(prefix: Self.deviceCodePrefix)
        let network = SignInThrottle.network(of: address)
        return try await database.write { transaction in
            guard try PlayerStore.use(nonce: nonce.bytes, until: nonce.end, in: transaction) else { throw Personalizations.nonce }
            guard let player = try PlayerStore.player(id: found, in: transaction) else { throw Self.notPersonalized }
            try Personalizations.requireActive(player)
            try LinkCodeStore.removeAll(of: player.id, in: transaction)
            let site = LinkCodeStore.site(ofNetwork: network)
            guard try LinkCodeStore.count(ofNetwork: network, at: now, in: transaction) < Self.networkLimit,
                try LinkCodeStore.count(ofSite: site, at: now, in: transaction) < Self.siteLimit
            else {
                throw RuleError(
                    .throttled,
                    "link.too-many",
                    "too many devices wait for their code to be typed: try again in a few minutes",
                    fault: .host,
                    retryAfter: 60
                )
            }
            try LinkCodeStore.makeRoom(for: personalizations.settings.linkLimit, at: now, in: transaction)
            for _ in 0..<8 {
                let code = LinkCodeStore.Code(
                    deviceCode: token.hash,
                    userCode: Self.randomCode(),
                    player: player.id,
                    network: network,
                    createdAt: now,
                    expiresAt: now + Self.life
                )
                guard try LinkCodeStore.insert(code, in: transaction) else { continue }
                return Issued(deviceCode: token.text, userCode: Self.shown(code.userCode))
            }
            throw ServerError(.conflict, "no free code was found: try again")
        }
    }

    private func verified(
        _ text: String,
        _ environment: String,
        at now: Instant
    ) async throws -> (request: LinkRequest, player: String) {
        let unverified: LinkRequest.Unverified
        do throws(RightsError) {
            unverified = try LinkRequest.Unverified(text)
        } catch {
            throw RuleError(.invalid, "link.request", error.message, fault: .rejected)
        }
        let found = try await database.read {
            try PlayerStore.player(thumbprint: unverified.certificate, at: now, in: $0)
        }
        guard let found else { throw Self.notPersonalized }
        do {
            let key = try PlayerCertificate(Certificate(der: found.certificate)).key
            return (try unverified.verified(by: key, environment: environment), found.player.id)
        } catch let error as RightsError {
            throw RuleError(.forbidden, "link.request", error.message, fault: .rejected)
        }
    }

    /// The outcome for the player with a code.
    ///
    /// - Parameter deviceCode: the player's secret.
    /// - Returns: the linked player, and the name of its account.
    /// - Throws: ``RuleError`` with a code `link.…`, and the member `error` of RFC 8628 §3.5.
    package func outcome(of deviceCode: String) async throws -> (player: Player, account: String) {
        let now = clock.now
        let hash = SHA256.hash(Array(deviceCode.utf8).rawSpan)
        let found = try await database.read { transaction -> (LinkCodeStore.Code, Player?, Account?)? in
            guard let code = try LinkCodeStore.code(device: hash, in: transaction) else { return nil }
            guard code.state == .approved else { return (code, nil, nil) }
            let player = try PlayerStore.player(id: code.player, in: transaction)
            return (code, player, try player?.account.flatMap { try Accounts.find(id: $0, in: transaction) })
        }
        guard let (code, player, account) = found else {
            throw Self.refusal("link.unknown", "invalid_grant", "the code is not one of this service, or ended long ago")
        }
        switch code.state {
        case .approved:
            guard let player, let account, player.revokedAt == nil else { throw Self.denied }
            return (player, account.name)
        case .denied: throw Self.denied
        case .pending:
            guard now < code.expiresAt else {
                throw Self.refusal("link.expired", "expired_token", "the code was not typed in time: ask for another")
            }
            try poll(hash, at: now)
            throw Self.refusal("link.pending", "authorization_pending", "the reader has not answered yet")
        }
    }

    /// Notes a question, and refuses one that comes too early.
    private func poll(_ hash: [UInt8], at now: Instant) throws(RuleError) {
        let usual = interval
        let isEarly = polls.withLock { polls -> Bool in
            guard var poll = polls[hash] else {
                polls.insert(Poll(last: now, interval: usual), for: hash, cost: 1)
                return false
            }
            // half a second for the way of the request
            let isEarly = now - poll.last + .milliseconds(500) < poll.interval
            if isEarly { poll.interval = min(poll.interval + Self.slowDown, .seconds(60)) }
            poll.last = now
            polls.insert(poll, for: hash, cost: 1)
            return isEarly
        }
        if isEarly {
            throw Self.refusal("link.slow-down", "slow_down", "the device asks too often: wait five seconds longer each time")
        }
    }

    /// The player that waits under the letters that a reader typed.
    ///
    /// - Parameters:
    ///   - typed: the letters, in any case, with or without the hyphen.
    ///   - account: the reader's.
    ///   - address: the reader's.
    /// - Returns: the player; nil for letters of no code that waits.
    /// - Throws: 429 `link.throttled` after too many.
    package func waiting(_ typed: String, for account: Account, from address: String) async throws -> Waiting? {
        let now = clock.now
        try throttle(account, address, at: now)
        guard let letters = Self.letters(of: typed) else { return nil }
        return try await database.read { transaction in
            guard let code = try Self.pending(letters, at: now, in: transaction),
                let player = try PlayerStore.player(id: code.player, in: transaction), player.revokedAt == nil
            else { return nil }
            return Waiting(player: player, network: code.network, askedAt: code.createdAt)
        }
    }

    /// Links the player that waits under the letters, or refuses it. A code can be decided only once.
    ///
    /// - Parameters:
    ///   - typed: the letters.
    ///   - isApproved: the reader's decision.
    ///   - account: the reader's account.
    ///   - family: the reader's session.
    ///   - address: the reader's.
    ///   - requestID: for the audit log.
    /// - Returns: the player; nil for letters of no code that waits.
    /// - Throws: 429 `link.throttled`; ``RuleError`` with a code `personalization.…` when the player cannot be linked. Its code waits on.
    package func decide(
        _ typed: String,
        isApproved: Bool,
        for account: Account,
        session family: String? = nil,
        from address: String,
        requestID: String
    ) async throws -> Player? {
        let now = clock.now
        try throttle(account, address, at: now)
        guard let letters = Self.letters(of: typed) else { return nil }
        let actor = AuditActor(account.id, requestID: requestID)
        return try await database.write { transaction -> Player? in
            guard let code = try Self.pending(letters, at: now, in: transaction),
                var player = try PlayerStore.player(id: code.player, in: transaction),
                try LinkCodeStore.decide(code, isApproved ? .approved : .denied, in: transaction)
            else { return nil }
            if isApproved {
                try Personalizations.requireActive(player)
                guard now < player.expiresAt else { throw Self.notPersonalized }
                let reader = Personalizations.Reader(account: account.id, device: nil, family: family)
                try personalizations.link(&player, to: reader, at: now.wholeSecond, in: transaction)
                try PlayerStore.link(player, in: transaction)
            }
            let action = isApproved ? "player.link" : "player.link-deny"
            try AuditStore.append(actor.entry(action, on: player.id, at: now, reason: player.level.rawValue), in: transaction)
            return player
        }
    }

    private static func pending(_ letters: String, at now: Instant, in transaction: any Transaction) throws -> LinkCodeStore.Code?
    {
        try LinkCodeStore.code(user: letters, in: transaction).flatMap { $0.state == .pending && now < $0.expiresAt ? $0 : nil }
    }

    private func throttle(_ account: Account, _ address: String, at now: Instant) throws(RuleError) {
        let wait =
            accountLimiter.take(account.id, at: now)
            ?? networkLimiter.take(SignInThrottle.network(of: address), at: now)
        guard let wait else { return }
        throw RuleError(
            .throttled,
            "link.throttled",
            "too many codes were typed: try again in a minute",
            retryAfter: max(1, wait.components.seconds)
        )
    }

    /// The letters of a code as stored; nil if the text cannot be a code.
    static func letters(of typed: String) -> String? {
        guard typed.utf8.count <= 64 else { return nil }
        let code = typed.uppercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
        guard code.count == letterCount, code.allSatisfy(letters.contains) else { return nil }
        return String(decoding: code, as: UTF8.self)
    }

    private static func randomCode() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<letterCount).map { _ in letters.randomElement(using: &generator) ?? letters[0] },
            as: UTF8.self
        )
    }

    private static func shown(_ code: String) -> String { "\(code.prefix(4))-\(code.suffix(4))" }

    private static func refusal(_ code: String, _ error: String, _ message: String) -> RuleError {
        RuleError(.invalid, code, message, facts: [("error", .text(error))])
    }

    private static let denied = refusal("link.denied", "access_denied", "the reader refused, or removed the device again")
    private static let notPersonalized = RuleError(
        .forbidden,
        "link.not-personalized",
        "the certificate is not one of this service, or has expired: personalise the device",
        fault: .rejected,
        number: -4001
    )
}
