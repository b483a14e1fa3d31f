// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEntitlements
import CarrelMetrics
import CarrelStore
import CarrelSubscription

/// The five calls of the authorization service: query the sources in order, issue credentials, record decisions.
struct SubscriptionService: Sendable {
    let sources: EntitlementSources
    let credentials: CredentialKeyring
    let feedPasswords: FeedPasswords
    let audit: AuditFold
    let activity: Activity
    /// Lifetime of edition credentials.
    let credentialLife: Duration

    func signIn(_ request: SignInRequest) async throws -> SignInAnswer {
        var (refusal, failure) = (SignInOutcome.notRecognised, SourceFailure?.none)
        var request = request
        for source in sources.inOrder {
            do {
                let outcome = try await source.signIn(request)
                if case .token(let token, let password) = outcome {
                    activity.count(.signIns)
                    return answer(token, password)
                }
                if case .throttled = outcome { request.isThrottled = true }
                if !outcome.saysNotRecognised || refusal == .notRecognised { refusal = outcome }
            } catch let error as SourceFailure {
                failure = failure ?? error
            }
            if source.countsAttempts { request.isCounted = true }
        }
        // An unreachable source must not make a user unknown.
        if let failure, refusal.saysNotRecognised { throw failure }
        let answer = answer(refusal)
        if case .refused(let status?, _) = answer { activity.refuse(status) }
        return answer
    }

    func renew(_ token: String, for caller: AuditActor) async throws -> SignInAnswer {
        let (outcome, failure) = try await sources.ask(about: token) {
            try await $0.renew(token, for: caller)
        } leavesNoDoubt: {
            if case .token = $0 { true } else { false }
        }
        if let failure { throw failure }
        return answer(outcome ?? .notRecognised)
    }

    private func answer(_ outcome: SignInOutcome) -> SignInAnswer {
        switch outcome {
        case .token(let token, let password): answer(token, password)
        case .refused(let status, let message): .refused(status: status, message: message)
        case .throttled(let wait):
            .refused(status: "throttled", message: "Too many attempts. Try again in \(PasswordCheck.words(for: wait)).")
        }
    }

    /// The response with a token; an empty second credential is replaced by ours.
    private func answer(_ token: String, _ password: String?) -> SignInAnswer {
        .token(token, globalAuthPassword: password.map { $0.isEmpty ? feedPasswords.password(of: token) : $0 })
    }

    func status(of token: String) async throws -> SubscriptionStatus {
        if let status = try await sources.status(of: token) { return status }
        return SubscriptionStatus(.stale, message: token.isEmpty ? "No token!" : "Please sign in again")
    }

    func credentials(for productID: String, token: String, caller: AuditActor) async throws -> CredentialsAnswer {
        try await credentials(for: productID, isCounted: sources.countRevocations, caller: caller) { isAgain in
            if isAgain { sources.forget(token) }
            return try await sources.decision(on: productID, token: token)
        }
    }

    /// Issues credentials if `decide` grants the product. Later revocations apply to them, too.
    ///
    /// - Parameters:
    ///   - productID: the product.
    ///   - isCounted: whether grants carry the revocation serial; `decide` may then be called twice.
    ///   - caller: the actor for the audit log.
    ///   - decide: decides on the product; on a second call, from the database.
    /// - Returns: the outcome.
    /// - Throws: errors of `decide` and the database.
    func credentials(
        for productID: String,
        isCounted: Bool = false,
        caller: AuditActor,
        _ decide: (_ isAgain: Bool) async throws -> SourceDecision?
    ) async throws -> CredentialsAnswer {
        var issuer = isCounted ? credentials.knownIssuer() : try await credentials.issuer()
        var known = try await decide(false)
        if isCounted, case .granted(_, _, _, let serial, _) = known, serial != issuer.serial {
            // Something was revoked that is not known here yet.
            issuer = try await credentials.issuer()
            known = try await decide(true)
        }
        // Unknown tokens leave no record: an attacker could fill the disk with them.
        guard var decision = known, decision != .notRecognised else { return answer(.notRecognised) }
        if productID.isEmpty, case .granted(_, let tag, _, _, _) = decision { decision = .notEntitled(to: tag) }
        let now = issuer.now
        switch decision {
        case .granted(let rule, let tag, let life, _, let headers):
            let actor = AuditActor(tag, requestID: caller.requestID)
            try await audit.record("edition.credentials", on: productID, by: actor, at: now, reason: rule)
            activity.count(.credentials)
            let life = min(life ?? credentialLife, credentialLife)
            let pair = issuer.issue(product: productID, account: tag, life: life)
            return .granted(userID: pair.userID, password: pair.password, headers: headers)
        case .refused(let status, _, let tag):
            // Filed under the account, so that a search for it finds its refusals too.
            let actor = tag.map { AuditActor($0, requestID: caller.requestID) } ?? caller
            let reason = status ?? "error"
            try await audit.record("edition.credentials", on: productID, by: actor, at: now, outcome: .refused, reason: reason)
            activity.refuse(status ?? "error")
            return answer(decision)
        }
    }

    private func answer(_ decision: SourceDecision) -> CredentialsAnswer {
        guard case .refused(let status, let message, _) = decision else { preconditionFailure("a grant comes with credentials") }
        return .refused(status: status, message: message)
    }

    func signOut(_ token: String, for caller: AuditActor) async throws {
        _ = try await sources.ask(about: token) {
            try await $0.signOut(token, for: caller) ? true : nil
        } leavesNoDoubt: {
            $0
        }
    }

}
