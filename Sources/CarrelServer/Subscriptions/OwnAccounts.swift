import CarrelBytes
import CarrelSubscription
import CarrelCrypto
import CarrelStore

/// Carrel's own accounts: passwords, devices and sessions, plans and purchases.
struct OwnAccounts: EntitlementSource {
    let name = "accounts"
    let countsAttempts = true
    let database: any Database
    let clock: any WallClock
    let sessions: Sessions
    let check: PasswordCheck
    let products: ProductCatalog
    /// How many devices an account may use where neither it nor its plans say.
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
        _ record: AccountStore.SignInRecord,
        _ device: Devices.Claim,
        rehash: String?,
        _ request: SignInRequest
    ) async throws -> SignInOutcome {
        let (token, family, now) = (OpaqueToken.make(prefix: Sessions.prefix), Random.uuid(), clock.now)
        let account = record.account
        let actor = Actor(account.id, requestID: request.requestID)
        let (allowed, refused) = (
            actor.entry("session.start", on: account.id, at: now),
            actor.entry("session.start", on: account.id, at: now, outcome: .refused, reason: "devices")
        )
        enum Start { case started, tooManyDevices, passwordChanged }
        let start = try await database.write { transaction -> Start in
            // The password was looked at for a while: it counts only if it is the account's still.
            guard try AccountStore.signInRecord(named: account.name, in: transaction)?.password == record.password else {
                return .passwordChanged
            }
            let plans = try SubscriptionStore.subscriptions(of: account.id, in: transaction).filter { $0.isCurrent(at: now) }
            var policy = devicePolicy
            policy.limit = record.deviceLimit ?? plans.compactMap(\.plan.deviceLimit).max() ?? policy.limit
            let id = try Devices.register(device, of: account.id, policy: policy, at: now, in: transaction)
            guard let id else {
                try AuditStore.append(refused, in: transaction)
                return .tooManyDevices
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
        case .tooManyDevices:
            return .refused(
                status: "devicelimit",
                message: "This account is in use on as many devices as it may be. Sign out on one of them first."
            )
        }
    }

    /// A token for an app; an empty second credential is one that is yet to be made.
    private func outcome(_ token: OpaqueToken) -> SignInOutcome {
        .token(token.text, globalAuthPassword: givesFeedPasswords ? "" : nil)
    }

    // MARK: Tokens

    var countsRevocations: Bool { true }

    func owns(_ token: String) -> Bool { Sessions.token(token) != nil }

    func renew(_ token: String, for caller: Actor) async throws -> SignInOutcome? {
        guard let token = Sessions.token(token) else { return nil }
        return try await sessions.renew(token, for: caller).map(outcome) ?? .notRecognised
    }

    func signOut(_ token: String, for caller: Actor) async throws -> Bool {
        guard let token = Sessions.token(token) else { return false }
        try await sessions.end(token, for: caller)
        return true
    }

    // MARK: Entitlement

    private struct Holdings: Sendable {
        let session: Session
        let state: Session.State
        let entitlement: Entitlement
        /// The number of the last revocation.
        let serial: UInt32
    }

    /// A session and what its account holds, on one snapshot; nil when there is no such session, or it has ended. One that was
    /// reused ends, with all that came of it.
    private func holdings(_ token: OpaqueToken) async throws -> Holdings? {
        let now = clock.now
        let found = try await database.readBriefly { transaction -> Holdings? in
            guard let session = try SessionStore.session(token.hash, in: transaction) else { return nil }
            return Holdings(
                session: session,
                state: session.state(at: now),
                entitlement: try SubscriptionStore.entitlement(of: session.account, in: transaction),
                serial: try RevocationStore.serial(in: transaction)
            )
        }
        guard let found else { return nil }
        if found.state == .reused { try await sessions.endReused(token, by: Actor(Actor.nobody)) }
        return found.state == .live || found.state == .stale ? found : nil
    }

    func standing(of text: String) async throws -> Standing? {
        guard let token = Sessions.token(text) else { return nil }
        guard let holdings = try await holdings(token) else {
            return Standing(.stale, message: "Please sign in again")
        }
        let (session, state, entitlement) = (holdings.session, holdings.state, holdings.entitlement)
        try await sessions.touch(session, token)
        var standing = try await Standing(of: entitlement, products, at: clock.now)
        guard standing.state != .suspended else { return standing }
        if state == .stale { standing.state = .stale }
        standing.categories.insert(("username", session.account.name), at: 0)
        return standing
    }

    func decision(on productID: String, token text: String) async throws -> SourceDecision? {
        guard let token = Sessions.token(text) else { return nil }
        guard let holdings = try await holdings(token) else { return .notRecognised }
        let products = try await products.current()
        return SourceDecision(
            of: holdings.entitlement,
            on: productID,
            products,
            tag: holdings.session.account.id,
            at: clock.now,
            serial: holdings.serial
        )
    }

    func explain(_ productID: String, to name: String) async throws -> SourceExplanation? {
        guard let account = try await database.read({ try AccountStore.account(named: name, in: $0) }) else { return nil }
        let subscriptions = Subscriptions(database: database, clock: clock, products: products)
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
            lastGrant: try await database.read { try AuditStore.lastGrant(of: productID, to: account.id, in: $0) }
        )
    }
}
