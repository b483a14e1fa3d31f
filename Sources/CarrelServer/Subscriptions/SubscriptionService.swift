import CarrelBytes
import CarrelStore
import CarrelSubscription

/// The five calls of the authorisation service: sources asked in order, credentials handed out, decisions recorded.
struct SubscriptionService: Sendable {
    let sources: [any EntitlementSource]
    let credentials: CredentialKeyring
    let feedPasswords: FeedPasswords
    let database: any Database
    /// How long an edition's credentials live.
    let credentialLife: Duration

    func signIn(_ request: SignInRequest) async throws -> SignInAnswer {
        var refusal = SignInOutcome.notRecognised
        for source in sources {
            let outcome = try await source.signIn(request)
            if case .token(let token, let password) = outcome { return answer(token, password) }
            if outcome == .notRecognised && refusal != .notRecognised { continue }
            refusal = outcome
        }
        return answer(refusal)
    }

    func renew(_ token: String, for caller: Actor) async throws -> SignInAnswer {
        for source in sources {
            if let outcome = try await source.renew(token, for: caller) { return answer(outcome) }
        }
        return answer(.notRecognised)
    }

    private func answer(_ outcome: SignInOutcome) -> SignInAnswer {
        switch outcome {
        case .token(let token, let password): answer(token, password)
        case .refused(let status, let message): .refused(status: status, message: message)
        }
    }

    /// A token's answer; an empty second credential is one that we make.
    private func answer(_ token: String, _ password: String?) -> SignInAnswer {
        .token(token, globalAuthPassword: password.map { $0.isEmpty ? feedPasswords.password(of: token) : $0 })
    }

    func standing(of token: String) async throws -> Standing {
        for source in sources {
            if let standing = try await source.standing(of: token) { return standing }
        }
        return Standing(.stale, message: token.isEmpty ? "No token!" : "Please sign in again")
    }

    func credentials(for productID: String, token: String, caller: Actor) async throws -> CredentialsAnswer {
        try await credentials(for: productID, caller: caller) {
            for source in sources {
                if let decision = try await source.decision(on: productID, token: token) { return decision }
            }
            return nil
        }
    }

    /// Fresh credentials where `decide` grants the product. What is revoked after it was asked voids them, too.
    func credentials(
        for productID: String,
        caller: Actor,
        _ decide: () async throws -> SourceDecision?
    ) async throws -> CredentialsAnswer {
        let issuer = try await credentials.issuer()
        let known = try await decide()
        // Strangers' tokens leave no record: they could fill the disk with it.
        guard var decision = known, decision != .notRecognised else { return answer(.notRecognised) }
        if productID.isEmpty, case .granted = decision { decision = .notEntitled }
        let now = issuer.now
        switch decision {
        case .granted(let rule, let tag, let life):
            let actor = Actor(tag, requestID: caller.requestID)
            try await record(actor.entry("edition.credentials", on: productID, at: now, reason: rule))
            let pair = issuer.issue(product: productID, account: tag, life: life ?? credentialLife)
            return .granted(userID: pair.userID, password: pair.password)
        case .refused(let status, _):
            let entry = caller.entry("edition.credentials", on: productID, at: now, outcome: .refused, reason: status ?? "error")
            try await record(entry)
            return answer(decision)
        }
    }

    private func answer(_ decision: SourceDecision) -> CredentialsAnswer {
        guard case .refused(let status, let message) = decision else { preconditionFailure("a grant comes with credentials") }
        return .refused(status: status, message: message)
    }

    func signOut(_ token: String, for caller: Actor) async throws {
        for source in sources where try await source.signOut(token, for: caller) { return }
    }

    private func record(_ entry: Audit.Entry) async throws {
        try await database.write { try AuditStore.append(entry, in: $0) }
    }
}
