// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHome
import CarrelStore
import CarrelSubscription
import CarrelUpstream

/// Single sign-on at an OpenID provider. A user is identified by issuer and subject together: neither a name nor an
/// email address ever identifies an account.
///
/// Nothing else depends on the provider: while it is down, sessions continue, and accounts with a password can sign in.
struct SignOn: Sendable {
    let client: OpenIDClient
    let settings: SignOnSettings
    let database: any Database
    let lifecycle: AccountLifecycle
    let clock: any WallClock
    let sessions: Sessions
    let audit: AuditFold
    /// Seals what a browser keeps meanwhile.
    let key: HMACSHA256

    /// The outcome of a browser's return from the provider.
    enum Outcome: Sendable, Equatable {
        /// Signed in, with the session's token; for staff on the way to the administrator's page, the token of that session too.
        case session(String, staff: String?, returnPath: String)
        /// The reason to report, as a stable word that is also in the audit log.
        case refused(String)
    }

    /// The provider's address to go to, and the cookie that has to come back.
    func start(returnPath: String?, redirect: String) async throws -> (address: String, cookie: String) {
        let attempt = SignOnAttempt(returnPath: returnPath, at: clock.now)
        let address = try await client.address(for: attempt.request(key: key, redirect: redirect))
        return (address, attempt.cookie(key: key))
    }

    /// The parameters with which the provider sent the browser back.
    struct Answer: Sendable {
        var state: String?
        var code: String?
        var issuer: String?
    }

    /// Completes a sign-in: requests the identity from the provider, and opens a session.
    ///
    /// - Throws: `UpstreamError` if the provider is unreachable, or its response cannot be verified.
    func finish(_ answer: Answer, cookie: String?, redirect: String, requestID: String) async throws -> Outcome {
        let now = clock.now
        guard let attempt = cookie.flatMap({ SignOnAttempt(cookie: $0, key: key) }), now < attempt.expiresAt else {
            return .refused("state")
        }
        let request = attempt.request(key: key, redirect: redirect)
        let (state, expected) = (Array((answer.state ?? "").utf8), Array(request.state.utf8))
        guard constantTimeEqual(state.rawSpan, expected.rawSpan) else { return .refused("state") }
        // A declined sign-in is not a failure of this server.
        guard let code = answer.code, 1...4096 ~= code.utf8.count else { return .refused("declined") }
        let identity = try await client.identity(code: code, issuer: answer.issuer, attempt: request)
        return try await open(identity, attempt, requestID)
    }

    /// Opens a session for an identity, in one transaction with all that follows from signing in.
    private func open(_ identity: OpenIDIdentity, _ attempt: SignOnAttempt, _ requestID: String) async throws -> Outcome {
        let now = clock.now
        let (token, family) = (OpaqueToken.make(prefix: Sessions.prefix), Random.uuid())
        let fresh = settings.createsAccounts ? names(for: identity).map { Account(id: Random.uuid(), name: $0) } : []
        let hash = SHA256.hash(attempt.id.rawSpan)
        let (staffToken, staffFamily) = (
            attempt.returnPath.hasPrefix("/admin/") ? OpaqueToken.make(prefix: Staff.sessionPrefix) : nil, Random.uuid()
        )
        let plans = Set(settings.plans.values)
        let subscriptions = [String: String](
            uniqueKeysWithValues: plans.map { ($0, SignOnStore.subscriptionPrefix + Random.uuid()) }
        )
        let (outcome, account) = try await lifecycle.write(in: database) { transaction, changes -> (Outcome, account: String?) in
            guard try SignOnStore.useUp(hash, until: attempt.expiresAt, in: transaction) else {
                return (.refused("state"), nil)
            }
            guard let account = try Self.account(of: identity, fresh, at: now, in: transaction) else {
                return (.refused("not-linked"), nil)
            }
            let actor = AuditActor(account.id, requestID: requestID)
            guard !account.isSuspended else { return (.refused("suspended"), account.id) }
            try SignOnStore.markSeen(issuer: identity.issuer, subject: identity.subject, at: now, in: transaction)
            try apply(identity, to: account, subscriptions, at: now, changes, in: transaction)
            try sessions.insert(token, family: family, account: account.id, device: nil, at: now, in: transaction)
            try AuditStore.append(actor.entry("session.start", on: account.id, at: now, reason: "oidc"), in: transaction)
            let isStaff = try staffToken.map { token in
                let session = try staffSession(of: account, at: now, in: transaction)
                guard let session else { return false }
                try StaffStore.insert(session, hash: token.hash, family: staffFamily, in: transaction)
                try AuditStore.append(actor.entry("staff.sign-in", on: account.id, at: now, reason: "oidc"), in: transaction)
                return true
            }
            let staff = isStaff == true ? staffToken?.text : nil
            return (.session(token.text, staff: staff, returnPath: attempt.returnPath), account.id)
        }
        if case .refused(let reason) = outcome, reason != "state" {
            let actor = AuditActor(account ?? AuditActor.anonymous, requestID: requestID)
            try await audit.recordRefused("session.start", of: account ?? "", by: actor, at: now, reason: reason)
        }
        return outcome
    }

    /// A session at the administrators' page; nil without a staff role.
    private func staffSession(of account: Account, at now: Instant, in transaction: any Transaction) throws -> StaffSession? {
        guard let role = try StaffStore.role(of: account.id, in: transaction), role.isStaff else { return nil }
        return StaffSession(account: account, role: role, createdAt: now, expiresAt: now + StaffSession.life, seenAt: now)
    }

    /// The identity's account; if it has none, the first of `fresh` with a free name is assigned to it.
    private static func account(
        of identity: OpenIDIdentity,
        _ fresh: [Account],
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Account? {
        let (issuer, subject) = (identity.issuer, identity.subject)
        if let known = try SignOnStore.account(issuer: issuer, subject: subject, in: transaction) { return known }
        for candidate in fresh {
            // An existing account belongs to another user, whatever its name.
            let account = try Accounts.findOrCreate(candidate, at: now, in: transaction)
            guard account.id == candidate.id else { continue }
            let isNew = try SignOnStore.link(
                issuer: issuer,
                subject: subject,
                to: account.id,
                isProven: true,
                at: now,
                in: transaction
            )
            guard isNew else { throw ServerError(.conflict, "the identity was linked during the sign-in: try again") }
            let actor = AuditActor(account.id)
            try AuditStore.append(actor.entry("account.create", on: account.id, at: now, reason: "oidc"), in: transaction)
            return account
        }
        return nil
    }

    /// Candidate names for a new account. The prefix separates these names from those given by a shop: no user can choose a
    /// subject that equals the name under which orders for another user arrive.
    private func names(for identity: OpenIDIdentity) -> [String] {
        let host = identity.issuer.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first.map(String.init) ?? ""
        let digest = Base64URL.encode(SHA256.hash(Array("\(identity.issuer) \(identity.subject)".utf8).rawSpan))
        return ["oidc:\(identity.subject)@\(host)", "oidc:\(digest)"].filter { $0.utf8.count <= 256 }
    }

    /// Grants the plans of the identity's groups, ends plans of groups it has left, and sets the role in the same way.
    private func apply(
        _ identity: OpenIDIdentity,
        to account: Account,
        _ freshIDs: [String: String],
        at now: Instant,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws {
        let (actor, groups) = (AuditActor(account.id), identity.groups)
        let running = try SubscriptionStore.subscriptions(of: account.id, in: transaction).filter {
            $0.id.hasPrefix(SignOnStore.subscriptionPrefix) && $0.isCurrent(at: now)
        }
        for (plan, id) in freshIDs.sorted(by: { $0.key < $1.key }) {
            let isIn = groups.contains { settings.plans[$0] == plan }
            let end = isIn ? now + settings.planLife : now
            let known = running.filter { $0.plan.name.utf8.elementsEqual(plan.utf8) }
            for subscription in known {
                let action = isIn ? "subscription.extend" : "subscription.end"
                let entry = actor.entry(action, on: subscription.id, at: now, reason: "oidc")
                try Subscriptions.setEnd(
                    of: subscription.id,
                    account: account.id,
                    to: end,
                    entry,
                    by: actor,
                    changes,
                    in: transaction
                )
            }
            guard isIn, known.isEmpty, let plan = try SubscriptionStore.plan(named: plan, in: transaction) else { continue }
            let subscription = Subscription(id: id, plan: plan, startsAt: now, endsAt: end)
            try SubscriptionStore.insert(subscription, of: account.id, at: now, in: transaction)
            try AuditStore.append(actor.entry("subscription.create", on: account.id, at: now, reason: "oidc"), in: transaction)
        }
        guard !settings.roles.isEmpty, let role = try StaffStore.role(of: account.id, in: transaction), role != .owner else {
            return
        }
        let roles = groups.compactMap { settings.roles[$0] }
        let wanted: Role = roles.contains(.admin) ? .admin : roles.contains(.support) ? .support : .reader
        guard wanted != role else { return }
        try StaffStore.setRole(wanted, of: account.id, in: transaction)
        if !wanted.isStaff { try StaffStore.deleteSessions(of: account.id, in: transaction) }
        if wanted.isStaff, !role.isStaff {
            let own = (identity.issuer, identity.subject)
            try AccountAdministration.clearWaysIn(to: account.id, keeping: own, by: actor, at: now, changes, in: transaction)
        }
        let entry = actor.entry("staff.role", on: account.id, at: now, reason: "oidc \(wanted.rawValue)")
        try AuditStore.append(entry, in: transaction)
    }
}
