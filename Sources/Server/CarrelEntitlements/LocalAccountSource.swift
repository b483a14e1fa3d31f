// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelSubscription
import CarrelCrypto
import CarrelStore

/// Carrel's own accounts: passwords, devices and sessions, plans and purchases.
struct LocalAccountSource: EntitlementSource {
    let name = "accounts"
    let countsAttempts = true
    let knowsTokensByForm = true
    let database: any Database
    let clock: any WallClock
    let sessions: Sessions
    let check: PasswordCheck
    let products: ProductCatalogCache
    let subscriptions: Subscriptions
    let known: EntitlementCache
    let audit: AuditFold
    /// The device limit of accounts for which neither staff nor a plan set a limit.
    let devicePolicy: DevicePolicy
    /// Whether a token comes with a second credential for feeds.
    let givesFeedPasswords: Bool

    // MARK: Signing in

    func signIn(_ request: SignInRequest) async throws -> SignInOutcome {
        let device = Devices.Claim(key: request.deviceKey, name: request.deviceName)
        var attempt = PasswordCheck.Attempt(
            name: request.name,
            password: request.password,
            address: request.address,
            requestID: request.requestID,
            deviceKeyHash: request.deviceKey == nil ? nil : device.keyHash
        )
        attempt.isCounted = request.isCounted
        if request.isThrottled { return .notRecognised }
        switch try await check.run(attempt) {
        case .throttled(let wait): return .throttled(wait)
        case .wrong: return .notRecognised
        case .right(let record, let rehash): return try await start(record, device, rehash: rehash, request)
        }
    }

    /// Registers the device and opens the session, in one transaction.
    private func start(
        _ record: SignInRecord,
        _ device: Devices.Claim,
        rehash: String?,
        _ request: SignInRequest
    ) async throws -> SignInOutcome {
        let (token, family, now) = (OpaqueToken.make(prefix: Sessions.prefix), Random.uuid(), clock.now)
        let account = record.account
        let actor = AuditActor(account.id, requestID: request.requestID)
        let allowed = actor.entry("session.start", on: account.id, at: now)
        enum Start { case started, noSlot(isOneFree: Bool), passwordChanged }
        let start = try await database.write { transaction -> Start in
            // The password was looked at for a while: it counts only if it is the account's still.
            guard try AccountStore.signInRecord(named: account.name, in: transaction)?.password == record.password else {
                return .passwordChanged
            }
            let policy = try devicePolicy.applied(to: account.id, at: now, in: transaction)
            let id = try Devices.register(device, of: account.id, policy: policy, at: now, in: transaction)
            guard let id else {
                let held = try DeviceStore.devices(of: account.id, in: transaction).count { $0.freedAt == nil }
                return .noSlot(isOneFree: held < policy.limit ?? 0)
            }
            // The app has one token at a time: whatever it had before is forgotten.
            try SessionStore.deleteAll(ofDevice: id, in: transaction)
            if let rehash { try AccountStore.setPassword(rehash, of: account.id, in: transaction) }
            try sessions.insert(token, family: family, account: account.id, device: id, at: now, in: transaction)
            try AuditStore.append(allowed, in: transaction)
            return .started
        }
        switch start {
        case .started: return outcome(token)
        case .passwordChanged: return .notRecognised
        case .noSlot(let isOneFree):
            try await audit.recordRefused("session.start", of: account.id, by: actor, at: now, reason: "devices")
            return .refused(
                status: "devicelimit",
                message: isOneFree
                    ? "This account has changed devices too often today. Try again tomorrow."
                    : "This account is signed in on its maximum number of devices. Sign out on one of them first."
            )
        }
    }

    /// The outcome with a token for an app; an empty second credential is replaced by ours.
    private func outcome(_ token: OpaqueToken) -> SignInOutcome {
        .token(token.text, globalAuthPassword: givesFeedPasswords ? "" : nil)
    }

    // MARK: Tokens

    var countsRevocations: Bool { true }

    func owns(_ token: String) -> Bool { Sessions.couldBe(token) }

    func renew(_ token: String, for caller: AuditActor) async throws -> SignInOutcome? {
        guard let token = Sessions.token(token) else { return nil }
        return try await sessions.renew(token, for: caller).map(outcome) ?? .notRecognised
    }

    func signOut(_ token: String, for caller: AuditActor) async throws -> Bool {
        guard let token = Sessions.token(token) else { return false }
        try await sessions.end(token, for: caller)
        return true
    }

    // MARK: Entitlement

    /// The state of a token.
    private enum Found {
        /// The token cannot be one of Carrel's.
        case foreign
        /// There is no such session, or it has ended.
        case over
        /// A session, which is live or stale, and what its account holds.
        case holdings(EntitlementSnapshot, Session.State)
    }

    /// The state of a token, from one snapshot. A session whose token was reused ends, with its credentials.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - hash: its hash.
    ///   - now: the time.
    /// - Returns: the state.
    /// - Throws: the database's error.
    private func find(_ text: String, _ hash: [UInt8], at now: Instant) async throws -> Found {
        let (known, mark) = known.find(hash, at: now)
        if let known {
            let state = known.session.state(at: now)
            if state == .live || state == .stale { return .holdings(known, state) }
        }
        guard let token = Sessions.token(text) else { return .foreign }
        guard let found = try await database.readBriefly({ try EntitlementSnapshot(of: token, in: $0) }) else { return .over }
        let state = found.session.state(at: now)
        if state == .reused { try await sessions.endReused(token, by: AuditActor(AuditActor.anonymous)) }
        guard state == .live || state == .stale else { return .over }
        self.known.remember(found, of: hash, since: mark, at: now)
        return .holdings(found, state)
    }

    func forget(_ text: String) { known.forget(OpaqueToken.hash(of: text)) }

    func status(of text: String) async throws -> SubscriptionStatus? {
        let (now, hash) = (clock.now, OpaqueToken.hash(of: text))
        switch try await find(text, hash, at: now) {
        case .foreign: return nil
        case .over: return SubscriptionStatus(.stale, message: "Please sign in again")
        case .holdings(let holdings, let state):
            try await sessions.touch(seenAt: holdings.session.seenAt, hash)
            var status = try await SubscriptionStatus(of: holdings.entitlement, products, at: now)
            guard status.state != .suspended else { return status }
            if state == .stale { status.state = .stale }
            status.categories.insert(("username", holdings.session.account.name), at: 0)
            return status
        }
    }

    func decision(on productID: String, token text: String) async throws -> SourceDecision? {
        let now = clock.now
        switch try await find(text, OpaqueToken.hash(of: text), at: now) {
        case .foreign: return nil
        case .over: return .notRecognised
        case .holdings(let holdings, _):
            return SourceDecision(
                of: holdings.entitlement,
                on: productID,
                try await products.current(),
                tag: holdings.session.account.id,
                at: now,
                serial: holdings.serial
            )
        }
    }

    func explain(_ productID: String, to name: String) async throws -> SourceExplanation? {
        guard let account = try await database.read({ try Accounts.find(named: name, in: $0) }) else { return nil }
        let explanation = try await subscriptions.explain(productID, to: account)
        let (verdict, rule): (SourceExplanation.Verdict, String?) =
            switch explanation.verdict {
            case .granted(let rule): (.granted, rule)
            case .notEntitled: (.notEntitled, nil)
            case .expired: (.expired, nil)
            case .suspended: (.suspended, nil)
            }
        return SourceExplanation(
            verdict: verdict,
            rule: rule,
            findings: explanation.findings,
            lastGrant: try await database.read {
                let created = try AccountStore.details(id: account.id, in: $0)?.createdAt
                return try AuditStore.lastGrant(of: productID, to: account.id, created: created, in: $0)
            }
        )
    }
}
