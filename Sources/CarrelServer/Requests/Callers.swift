import CarrelHTTP

/// Who a request comes from, as far as it can prove it.
struct Callers: Sendable {
    let accounts: Accounts
    /// The account that visitors without a session read as, when the operator named one.
    let guestAccount: String?

    static let sessionCookie = "carrel_session"

    /// Refuses a request that neither comes over the home's own socket nor carries a back-office key of the role.
    func requireBackOffice(_ request: HTTPRequest, _ role: Role = .service) async throws {
        if case .local = request.peer { return }
        guard let token = request.bearerToken, let key = try await accounts.serviceKey(ofToken: token) else {
            throw HTTPError(
                .unauthorized,
                "request.unauthenticated",
                "this call needs a back-office key as a bearer token",
                headers: ["WWW-Authenticate": "Bearer"]
            )
        }
        guard role == .service || key.role == role else {
            throw ServerError(.forbidden, "this call needs a back-office key with the role \(role.rawValue)")
        }
    }

    /// Who the audit log says did it: the operator at the home's own socket, or a back-office key.
    func actor(_ request: HTTPRequest) async throws -> Actor {
        if case .local = request.peer { return Actor("operator", requestID: request.id) }
        guard let token = request.bearerToken, let key = try await accounts.serviceKey(ofToken: token) else {
            return Actor(Actor.nobody, requestID: request.id)
        }
        return Actor(key.id, requestID: request.id)
    }

    /// The account that the request's session cookie or bearer token signs in.
    func signedIn(_ request: HTTPRequest) async throws -> Account? {
        guard let token = request.bearerToken ?? request.cookie(Self.sessionCookie) else { return nil }
        return try await accounts.account(ofSession: token)
    }

    /// The account whose shelf this request sees: the one signed in, or the guest account where there is one.
    func readerIfAny(_ request: HTTPRequest) async throws -> Account? {
        if let account = try await signedIn(request) { return account }
        guard let guestAccount else { return nil }
        return try await accounts.find(named: guestAccount)
    }

    /// The same, refusing a request that comes from nobody.
    func reader(_ request: HTTPRequest) async throws -> Account {
        if let account = try await readerIfAny(request) { return account }
        throw HTTPError(
            .unauthorized,
            "request.unauthenticated",
            "you are not signed in",
            headers: ["WWW-Authenticate": "Bearer"]
        )
    }
}

extension HTTPRequest {
    /// The token of `Authorization: Bearer …` (RFC 6750 §2.1).
    var bearerToken: String? {
        guard let value = headers["Authorization"], value.utf8.count > 7, value.prefix(7).lowercased() == "bearer " else {
            return nil
        }
        return String(value.dropFirst(7))
    }
}
