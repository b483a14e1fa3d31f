// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelHTTP
import CarrelHome
import CarrelWebAPI

/// Authentication of requests: the home's socket, keys, sessions, cookies and Basic credentials.
package struct RequestAuthenticator: Sendable {
    let accounts: Accounts
    let appPasswords: AppPasswords
    let staff: Staff
    /// The account for visitors without a session, if the operator configured one.
    let guestAccount: String?
    /// Whether a loopback address proves that the client is on this machine; false with a proxy in front.
    let trustsLoopback: Bool

    package static let sessionCookie = "carrel_session"
    /// Sent to `/admin` only, and by our own pages only.
    static let staffCookie = "carrel_admin"
    /// The maximum number of cookies with one name that are checked.
    package static let cookieLimit = 16
    /// The header that the administrators' page sends with each change. A page of another origin cannot send it without a CORS
    /// preflight (WHATWG Fetch §3.2), which the server never allows.
    static let staffField = "X-Carrel-Admin"

    /// A caller of the administrators' API.
    enum Caller: Sendable {
        /// A client of the home's own socket.
        case `operator`
        case key(ServiceKey)
        case member(StaffSession)

        var role: Role {
            switch self {
            case .operator: .owner
            case .key(let key): key.role
            case .member(let session): session.role
            }
        }

        /// The caller's id in the audit log.
        var id: String {
            switch self {
            case .operator: "operator"
            case .key(let key): key.id
            case .member(let session): session.account.id
            }
        }
    }

    /// The caller of the request: the home's own socket, a back-office key, or the cookie of the administrators' page; nil without
    /// valid proof.
    ///
    /// - Throws: 403 for a cookie over an unencrypted connection, or with a change from another origin.
    func caller(_ request: HTTPRequest) async throws -> Caller? {
        if case .local = request.peer { return .operator }
        if let token = request.bearerToken { return try await accounts.serviceKey(ofToken: token).map { .key($0) } }
        // A neighbour on the same host can plant a cookie before ours.
        for token in request.cookies(Self.staffCookie).prefix(Self.cookieLimit) {
            guard let session = try await staff.session(token) else { continue }
            try requirePage(request)
            return .member(session)
        }
        return nil
    }

    /// The back-office key that the request came with; nil for staff and the operator.
    package func backOfficeKey(_ request: HTTPRequest) async throws -> ServiceKey? {
        guard case .key(let key) = try await caller(request) else { return nil }
        return key
    }

    /// Refuses what the administrator's page would not have sent.
    func requirePage(_ request: HTTPRequest) throws(RuleError) {
        guard isConfidential(request) else {
            throw RuleError(.forbidden, "staff.tls", "staff sign in over TLS, or on the server's own machine")
        }
        guard !request.method.isSafe else { return }
        try SameOrigin.require(request)
        guard request.headers[Self.staffField] != nil else {
            throw RuleError(.forbidden, "request.other-origin", "only a page of this server can do this")
        }
    }

    /// Refuses a request without a caller, or with one whose role does not allow the permission.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - permission: the required permission.
    /// - Returns: the actor for the audit log.
    /// - Throws: 401 `request.unauthenticated`, 403 `request.forbidden`.
    @discardableResult
    package func require(_ request: HTTPRequest, _ permission: Permission) async throws -> AuditActor {
        guard let caller = try await caller(request) else {
            throw HTTPError(
                .unauthorized,
                "request.unauthenticated",
                "this call needs a back-office key as a bearer token",
                headers: ["WWW-Authenticate": "Bearer"]
            )
        }
        return try Self.actor(caller.id, caller.role, permission, request)
    }

    private static func actor(
        _ id: String,
        _ role: Role,
        _ permission: Permission,
        _ request: HTTPRequest
    ) throws(ServerError) -> AuditActor {
        guard role.may(permission) else {
            throw ServerError(.forbidden, "the role \(role.rawValue) does not allow this (\(permission.rawValue))")
        }
        return AuditActor(id, requestID: request.id)
    }

    /// Refuses a request without a back-office key that has the permission. Over an unencrypted connection (apart from programs on this
    /// machine that speak for no other client), and for staff and the operator, it is refused too: for calls that return secrets.
    ///
    /// - Parameters:
    ///   - request: the request, with the key as a bearer token, or in Basic credentials: the key's id, and the key.
    ///   - permission: the required permission.
    /// - Returns: the actor for the audit log.
    /// - Throws: 401 `request.unauthenticated`, 403 `request.forbidden`, 403 `request.tls`.
    package func requireKey(_ request: HTTPRequest, _ permission: Permission) async throws -> AuditActor {
        guard request.scheme == "https" || isFromThisMachine(request) else {
            throw RuleError(.forbidden, "request.tls", "this call returns keys: send it over TLS, or on the server's own machine")
        }
        var key: ServiceKey?
        if let (id, text) = request.basicCredentials {
            key = try await accounts.serviceKey(ofToken: text)
            if key?.id != id { key = nil }
        } else if let text = request.bearerToken {
            key = try await accounts.serviceKey(ofToken: text)
        }
        guard let key else {
            throw HTTPError(
                .unauthorized,
                "request.unauthenticated",
                "this call needs a back-office key, as a bearer token or as the password of its id",
                headers: ["WWW-Authenticate": "Basic realm=\"Carrel\", charset=\"UTF-8\""]
            )
        }
        return try Self.actor(key.id, key.role, permission, request)
    }

    /// Refuses to change an account of staff unless the caller may appoint staff: a caller who sets a password can sign in with
    /// it.
    package func requireAuthority(_ request: HTTPRequest, over account: Account) async throws {
        guard try await staff.role(of: account.id).isStaff else { return }
        try await require(request, .manageStaff)
    }

    /// The actor of the request for the audit log.
    package func actor(_ request: HTTPRequest) async throws -> AuditActor {
        AuditActor(try await caller(request)?.id ?? AuditActor.anonymous, requestID: request.id)
    }

    /// The session that the request's cookie or bearer token stands for.
    ///
    /// The session of a request; for a change, its cookie is accepted only from pages of this server.
    package func session(_ request: HTTPRequest) async throws -> Session? {
        if let token = request.bearerToken { return try await accounts.session(of: token, requestID: request.id) }
        // A neighbour on the same host can plant a cookie before ours.
        for token in request.cookies(Self.sessionCookie).prefix(Self.cookieLimit) {
            guard let session = try await accounts.session(of: token, requestID: request.id) else { continue }
            try SameOrigin.require(request)
            return session
        }
        return nil
    }

    /// The account that the request's session cookie or bearer token signs in.
    package func signedIn(_ request: HTTPRequest) async throws -> Account? {
        try await session(request)?.account
    }

    /// The account that the request's Basic credentials name: its name, and one of its app passwords that has the scope.
    package func account(ofBasic request: HTTPRequest, scope: AppPassword.Scope) async throws -> Account? {
        guard let (name, password) = request.basicCredentials else { return nil }
        return try await appPasswords.account(named: name, text: password, scope: scope)
    }

    /// The account whose shelf this request sees: the signed-in account, or the guest account if configured.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - scope: lets an app password of that scope sign in too.
    /// - Returns: the account; nil without credentials.
    /// - Throws: an error if the database is unreachable, or another site sent the cookie.
    package func readerIfAny(_ request: HTTPRequest, scope: AppPassword.Scope? = nil) async throws -> Account? {
        try await readerAndDevice(request, scope: scope)?.account
    }

    /// The same, with the id of the device that the reader's session is on: nil in a browser, and where there is no session.
    package func readerAndDevice(
        _ request: HTTPRequest,
        scope: AppPassword.Scope? = nil
    ) async throws -> (account: Account, device: String?)? {
        if let scope, request.basicCredentials != nil {
            return try await account(ofBasic: request, scope: scope).map { ($0, nil) }
        }
        if let session = try await session(request) { return (session.account, session.deviceID) }
        guard let guestAccount, let guest = try await accounts.find(named: guestAccount), !guest.isSuspended else { return nil }
        return (guest, nil)
    }

    /// The account of the request; refuses a request without one.
    package func reader(_ request: HTTPRequest, scope: AppPassword.Scope? = nil) async throws -> Account {
        if let account = try await readerIfAny(request, scope: scope) { return account }
        throw Self.unauthenticated(request)
    }

    /// The session of an account's owner: not a guest, and not an app that knows only an app password.
    package func owner(_ request: HTTPRequest) async throws -> Session {
        guard let session = try await session(request) else { throw Self.unauthenticated(request) }
        return session
    }

    /// Basic is asked for only where it was tried: a browser would ask its user for a password that is not meant.
    package static func unauthenticated(_ request: HTTPRequest) -> HTTPError {
        let isBasic = request.headers["Authorization"]?.prefix(6).lowercased() == "basic "
        return HTTPError(
            .unauthorized,
            "request.unauthenticated",
            isBasic ? "this name and app password do not give access to this" : "you are not signed in",
            headers: ["WWW-Authenticate": isBasic ? "Basic realm=\"Carrel\", charset=\"UTF-8\"" : "Bearer"]
        )
    }
}

extension HTTPRequest {
    /// The token of `Authorization: Bearer …` (RFC 6750 §2.1).
    package var bearerToken: String? {
        guard let value = headers["Authorization"], value.prefix(7).lowercased() == "bearer " else { return nil }
        return String(value.dropFirst(7))
    }
}
