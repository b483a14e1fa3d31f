import CarrelHTTP

/// Who a request comes from, as far as it can prove it.
struct Callers: Sendable {
    let accounts: Accounts
    let appPasswords: AppPasswords
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

    /// The session that the request's cookie or bearer token stands for.
    ///
    /// A request that changes something is believed for its cookie only where one of our own pages sent it.
    func session(_ request: HTTPRequest) async throws -> Session? {
        if let token = request.bearerToken { return try await accounts.session(of: token) }
        guard let token = request.cookie(Self.sessionCookie), let session = try await accounts.session(of: token) else {
            return nil
        }
        try SameOrigin.require(request)
        return session
    }

    /// The account that the request's session cookie or bearer token signs in.
    func signedIn(_ request: HTTPRequest) async throws -> Account? {
        try await session(request)?.account
    }

    /// The account that the request's Basic credentials name: its name, and one of its app passwords that has the scope.
    func account(ofBasic request: HTTPRequest, scope: AppPassword.Scope) async throws -> Account? {
        guard let (name, password) = request.basicCredentials else { return nil }
        return try await appPasswords.account(named: name, text: password, scope: scope)
    }

    /// The account whose shelf this request sees: the one signed in, or the guest account where there is one.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - scope: lets an app password of that scope sign in too.
    /// - Returns: the account; nil for nobody.
    /// - Throws: when the database does not answer, or another site sent a cookie along.
    func readerIfAny(_ request: HTTPRequest, scope: AppPassword.Scope? = nil) async throws -> Account? {
        if let scope, request.basicCredentials != nil { return try await account(ofBasic: request, scope: scope) }
        if let account = try await signedIn(request) { return account }
        guard let guestAccount else { return nil }
        return try await accounts.find(named: guestAccount)
    }

    /// The same, refusing a request that comes from nobody.
    func reader(_ request: HTTPRequest, scope: AppPassword.Scope? = nil) async throws -> Account {
        if let account = try await readerIfAny(request, scope: scope) { return account }
        throw Self.unknown(request)
    }

    /// The session of an account's owner: not a guest, and not an app that knows only an app password.
    func owner(_ request: HTTPRequest) async throws -> Session {
        guard let session = try await session(request) else { throw Self.unknown(request) }
        return session
    }

    /// Basic is asked for only where it was tried: a browser would ask its user for a password that is not meant.
    private static func unknown(_ request: HTTPRequest) -> HTTPError {
        let isBasic = request.headers["Authorization"]?.prefix(6).lowercased() == "basic "
        return HTTPError(
            .unauthorized,
            "request.unauthenticated",
            isBasic ? "this name and app password do not open this" : "you are not signed in",
            headers: ["WWW-Authenticate": isBasic ? "Basic realm=\"Carrel\", charset=\"UTF-8\"" : "Bearer"]
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
