// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelMetrics
import CarrelUpstream
import CarrelWebAPI

/// `/sign-in/oidc` and `/sign-in/oidc/callback`: redirects to the provider and back.
struct SignOnRoutes {
    let signOn: SignOn
    let callers: RequestAuthenticator
    let activity: Activity
    /// Called with the reason of a failed sign-in, which the user does not see.
    let onFailure: (@Sendable (any Error, HTTPRequest) -> Void)?

    static let cookie = "carrel_sign_on"
    private static let path = "/sign-in/oidc"

    func add(to router: inout Router) {
        on("sign-in/oidc", of: &router) { try await start($0) }
        on("sign-in/oidc/callback", of: &router) { try await finish($0) }
    }

    private func on(
        _ pattern: String,
        of router: inout Router,
        _ call: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        router.on(.get, pattern) { request, _ in
            var response: HTTPResponse
            do {
                guard request.method == .get else {
                    throw HTTPError(.methodNotAllowed, "http.method-not-allowed", "use GET", headers: ["Allow": "GET"])
                }
                response = try await call(request)
            } catch let error as UpstreamError {
                activity.refuse("sign-on.provider")
                onFailure?(error, request)
                response = try Self.failed(error)
            }
            response.headers["Cache-Control"] = "no-store"
            response.headers["Referrer-Policy"] = "no-referrer"
            return response
        }
    }

    private func start(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (address, cookie) = try await signOn.start(returnPath: request.query["to"], redirect: redirect(for: request))
        var response = HTTPResponse.redirect(to: address)
        response.headers["Set-Cookie"] = Self.cookie(cookie, maxAge: Int(SignOnAttempt.life.components.seconds), request)
        return response
    }

    private func finish(_ request: HTTPRequest) async throws -> HTTPResponse {
        /// A parameter that occurs exactly once; a repeated parameter is invalid (RFC 6749 §3.1).
        func parameter(_ name: String) -> String? {
            let all = request.query.all(name)
            return all.count == 1 ? all[0] : nil
        }
        let issuer = request.query.all("iss").isEmpty ? nil : parameter("iss") ?? ""
        let outcome = try await signOn.finish(
            SignOn.Answer(state: parameter("state"), code: parameter("code"), issuer: issuer),
            cookie: request.cookie(Self.cookie),
            redirect: redirect(for: request),
            requestID: request.id
        )
        var response: HTTPResponse
        switch outcome {
        case .session(let token, let staff, let path):
            activity.count(.browserSignIns)
            response = .redirect(to: path)
            let session = SetCookie(
                RequestAuthenticator.sessionCookie,
                token,
                maxAge: Int(Session.life.components.seconds),
                isSecure: request.scheme == "https"
            )
            response.headers.append("Set-Cookie", session.description)
            if let staff, callers.isConfidential(request) {
                let cookie = StaffRoutes.cookie(staff, maxAge: Int(StaffSession.life.components.seconds), request)
                response.headers.append("Set-Cookie", cookie)
            }
        case .refused(let reason):
            activity.refuse("sign-on.\(reason)")
            response = try Self.page(Self.sentence(for: reason), .forbidden)
        }
        response.headers.append("Set-Cookie", Self.cookie("", maxAge: 0, request))
        return response
    }

    /// The redirect URI, as registered at the provider.
    private func redirect(for request: HTTPRequest) -> String {
        let base = signOn.settings.publicURL ?? "\(request.scheme)://\(request.authority)"
        return "\(base)\(Self.path)/callback"
    }

    /// The browser sends it along when the provider sends it back, which is another site.
    private static func cookie(_ value: String, maxAge: Int, _ request: HTTPRequest) -> String {
        SetCookie(cookie, value, path: path, maxAge: maxAge, isSecure: request.scheme == "https", sameSite: .lax).description
    }

    private static func sentence(for reason: String) -> String {
        switch reason {
        case "state": "This sign-in was started in another browser, or too long ago. Start it again."
        case "declined": "The sign-in was cancelled."
        case "suspended": "This account is suspended. Contact your library or shop."
        default: "This identity is not linked to an account. Ask your library or shop to link it."
        }
    }

    private static func failed(_ error: UpstreamError) throws -> HTTPResponse {
        guard error.isOutage else {
            return try page("The sign-in could not be completed. Start it again, or sign in another way.", .forbidden)
        }
        var response = try page(
            "The sign-in provider does not respond. Try again later, or sign in with a password or a link.",
            .serviceUnavailable
        )
        response.headers["Retry-After"] = "30"
        return response
    }

    private static func page(_ sentence: String, _ status: HTTPStatus) throws -> HTTPResponse {
        try WebPage.door("sign-on-failed", ["problem": .plain(sentence)], status: status)
    }
}
