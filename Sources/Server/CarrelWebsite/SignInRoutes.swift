// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelHTTP
import CarrelHome
import CarrelMetrics
import CarrelWebAPI

/// The doors for people: signing in with a password or by a link, choosing a new password, signing out. All of it works without
/// scripts.
///
/// Refusals do not reveal whether an account exists.
struct SignInRoutes {
    let accounts: Accounts
    let desk: AccountAdministration
    let check: PasswordCheck
    let callers: RequestAuthenticator
    let activity: Activity
    /// The label of the button for the OpenID provider; nil without a provider.
    let signOnLabel: String?

    /// A name, a password of 256 characters, escaped.
    private static let formLimit = 16_384
    private static let notRecognised = "Wrong name or password."

    func add(to router: inout Router) {
        router.on(.get, "sign-in") { request, _ in
            if try await callers.session(request) != nil { return .redirect(to: "/") }
            let isChanged = request.query["changed"] != nil
            let notice = WebPage.Markup.notice("Your new password is set. Sign in with it.")
            return try form(isChanged ? ["problem": notice] : [:], then: "/")
        }
        router.on(.post, "sign-in", acceptsForms: true) { request, _ in try await signIn(request) }
        router.on(.get, "sign-in/{token}", secret: ["token"]) { request, parameters in
            try await askFirst(request, parameters["token"])
        }
        router.on(.post, "sign-in/{token}", secret: ["token"], acceptsForms: true) { request, parameters in
            try await redeem(request, parameters["token"])
        }
        router.on(.get, "reset/{token}", secret: ["token"]) { request, parameters in
            guard let account = try await desk.account(ofResetLink: parameters["token"]) else { return try Self.ended(request) }
            return try WebPage.door("reset", ["name": .plain(account.name)])
        }
        router.on(.post, "reset/{token}", secret: ["token"], acceptsForms: true) { request, parameters in
            try await reset(request, parameters["token"])
        }
        router.on(.post, "sign-out") { request, _ in
            try SameOrigin.require(request)
            try await endSession(request)
            var response = HTTPResponse.redirect(to: "/")
            response.headers["Set-Cookie"] = Self.endedCookie(request)
            return response
        }
    }

    /// The sign-in page, in place of a page that requires signing in.
    ///
    /// - Parameter request: the request; signing in leads back to its address.
    /// - Returns: the page, with status 401.
    /// - Throws: when the page is missing from the program.
    func page(then request: HTTPRequest) throws -> HTTPResponse {
        try form([:], then: request.path.raw, status: .unauthorized)
    }

    private func form(
        _ parts: [String: WebPage.Markup],
        then path: String,
        status: HTTPStatus = .ok
    ) throws -> HTTPResponse {
        var parts = parts
        parts["next"] = .hidden("next", path)
        if let signOnLabel {
            parts["sign-on"] = .link(signOnLabel, to: "/sign-in/oidc?to=\(PercentEncoding.encode(path))")
        }
        return try WebPage.door("sign-in", parts, status: status)
    }

    private func signIn(_ request: HTTPRequest) async throws -> HTTPResponse {
        let form = try await request.form(upTo: Self.formLimit)
        let next = Self.place(form["next"])
        let attempt = PasswordCheck.Attempt(
            name: form["name"] ?? "",
            password: form["password"] ?? "",
            address: request.peer.description,
            requestID: request.id
        )
        func again(_ sentence: String, _ status: HTTPStatus) throws -> HTTPResponse {
            try self.form(["problem": .problem(sentence), "name": .plain(attempt.name)], then: next, status: status)
        }
        do {
            switch try await check.run(attempt) {
            case .throttled(let wait):
                activity.refuse("throttled")
                var response = try again("Too many attempts. Try again in \(PasswordCheck.words(for: wait)).", .tooManyRequests)
                response.headers["Retry-After"] = String(max(1, wait.components.seconds))
                return response
            case .wrong:
                activity.refuse("notrecognised")
                return try again(Self.notRecognised, .unauthorized)
            case .right(let record, _) where record.account.isSuspended:
                activity.refuse("suspended")
                return try again("This account is suspended. Contact your library or shop.", .forbidden)
            case .right(let record, let rehash):
                try await endSession(request)
                let actor = AuditActor(record.account.id, requestID: request.id)
                let session = try await accounts.startSession(of: record, rehash: rehash, by: actor)
                activity.count(.browserSignIns)
                return Self.open(session, next, request)
            }
        } catch let error as ServerError where error.code == .unauthenticated {
            activity.refuse("notrecognised")
            return try again(Self.notRecognised, .unauthorized)
        } catch let error as RuleError where error.kind == .unavailable {
            activity.refuse("busy")
            var response = try again(
                "Too many people are signing in at the moment. Try again in a few seconds.",
                .serviceUnavailable
            )
            response.headers["Retry-After"] = "5"
            return response
        }
    }

    /// Shows whose account a link signs in to. Looking, as mail programs do that follow links, does not use the link up, and a
    /// user always sees the account before signing in.
    private func askFirst(_ request: HTTPRequest, _ token: String) async throws -> HTTPResponse {
        guard let account = try await accounts.account(ofSignInLink: token) else { return try Self.ended(request) }
        var parts: [String: WebPage.Markup] = ["name": .plain(account.name)]
        if let other = try await callers.session(request)?.account, other.id != account.id {
            parts["problem"] = .notice("This browser is signed in as \(other.name), who will be signed out.")
        }
        return try WebPage.door("sign-in-link", parts)
    }

    /// Signs in by a link: only the form of our own page calls it.
    private func redeem(_ request: HTTPRequest, _ token: String) async throws -> HTTPResponse {
        try SameOrigin.require(request)
        guard let session = try await accounts.redeemSignInLink(token, requestID: request.id) else {
            activity.refuse("sign-in-link")
            return try Self.ended(request)
        }
        try await endSession(request)
        activity.count(.browserSignIns)
        return Self.open(session, "/", request)
    }

    /// Ends the browser's sessions: another site on the same host may have planted one before ours.
    private func endSession(_ request: HTTPRequest) async throws {
        for token in request.cookies(RequestAuthenticator.sessionCookie).prefix(RequestAuthenticator.cookieLimit) {
            try await accounts.endSession(token, requestID: request.id)
        }
    }

    private func reset(_ request: HTTPRequest, _ token: String) async throws -> HTTPResponse {
        guard let account = try await desk.account(ofResetLink: token) else { return try Self.ended(request) }
        let form = try await request.form(upTo: Self.formLimit)
        func again(_ sentence: String) throws -> HTTPResponse {
            try WebPage.door("reset", ["name": .plain(account.name), "problem": .problem(sentence)], status: .badRequest)
        }
        guard let password = form["password"], form["again"] == password else {
            return try again("The two passwords differ. Type the new one twice.")
        }
        do {
            let isDone = try await desk.reset(token, to: password, requestID: request.id)
            return isDone ? .redirect(to: "/sign-in?changed") : try Self.ended(request)
        } catch let error as ServerError where error.code == .invalid {
            return try again(error.message.prefix(1).uppercased() + error.message.dropFirst() + ".")
        }
    }

    private static func ended(_ request: HTTPRequest) throws -> HTTPResponse {
        try WebPage.door("link-ended", status: .forbidden)
    }

    /// The path to continue at: only a path of this server, because a link could contain any address.
    private static func place(_ next: String?) -> String {
        next.flatMap { SameOrigin.isPath($0) ? $0 : nil } ?? "/"
    }

    /// Redirects to a page with the session's cookie set.
    private static func open(_ session: String, _ place: String, _ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse.redirect(to: place)
        response.headers["Set-Cookie"] = cookie(session, seconds: Session.life.components.seconds, request)
        response.headers["Cache-Control"] = "no-store"
        return response
    }

    /// The cookie that makes a browser delete the session.
    static func endedCookie(_ request: HTTPRequest) -> String { cookie("", seconds: 0, request) }

    private static func cookie(_ value: String, seconds: Int64, _ request: HTTPRequest) -> String {
        SetCookie(RequestAuthenticator.sessionCookie, value, maxAge: Int(seconds), isSecure: request.scheme == "https")
            .description
    }
}
