import CarrelHTTP
import CarrelWeb

/// The pages for people, and what they load.
struct PageRoutes {
    let accounts: Accounts
    let callers: Callers

    func add(to router: inout Router) {
        router.notFoundPage = { request in
            guard [.get, .head].contains(request.method), request.headers["Accept"]?.contains("text/html") == true,
                let asset = WebAssets.named("not-found.html")
            else { return nil }
            var response = Self.response(asset, request)
            response.status = .notFound
            return response
        }
        router.on(.get, "") { request, _ in try await page("shelf.html", request) }
        router.on(.get, "listen/{order}", secret: ["order"]) { request, _ in try await page("listen.html", request) }
        router.on(.get, "assets/{name}") { request, parameters in
            guard let asset = WebAssets.named(parameters["name"]) else {
                throw Self.missing
            }
            return Self.response(asset, request)
        }
        router.on(.get, "openapi.json") { request, _ in
            guard let asset = WebAssets.named("openapi.json") else { throw Self.missing }
            return Self.response(asset, request)
        }
        router.on(.get, "sign-in/{token}", secret: ["token"]) { request, parameters in
            try await signIn(request, parameters["token"])
        }
        router.on(.post, "sign-out") { request, _ in
            if let token = request.cookie(Callers.sessionCookie) { try await accounts.endSession(token) }
            var response = HTTPResponse.redirect(to: "/")
            response.headers["Set-Cookie"] = Self.cookie("", seconds: 0, request)
            return response
        }
    }

    /// A page for an account's reader, or the page that says how to sign in.
    private func page(_ name: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            _ = try await callers.reader(request)
        } catch let error as HTTPError where error.status == .unauthorized {
            guard let asset = WebAssets.named("sign-in.html") else { throw error }
            var response = Self.response(asset, request)
            response.status = .unauthorized
            return response
        }
        guard let asset = WebAssets.named(name) else { throw Self.missing }
        return Self.response(asset, request)
    }

    private func signIn(_ request: HTTPRequest, _ token: String) async throws -> HTTPResponse {
        // A preview of the link asks for its head: that does not use it up.
        guard request.method != .head else { return .empty(.noContent) }
        guard let session = try await accounts.redeemSignInLink(token) else {
            guard let asset = WebAssets.named("link-ended.html") else { throw Self.missing }
            var response = Self.response(asset, request)
            response.status = .forbidden
            response.headers["Cache-Control"] = "no-store"
            return response
        }
        var response = HTTPResponse.redirect(to: "/")
        response.headers["Set-Cookie"] = Self.cookie(
            session,
            seconds: Session.life.components.seconds,
            request
        )
        response.headers["Cache-Control"] = "no-store"
        return response
    }

    private static func cookie(_ value: String, seconds: Int64, _ request: HTTPRequest) -> String {
        let secure = request.scheme == "https" ? "; Secure" : ""
        return "\(Callers.sessionCookie)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Lax\(secure)"
    }

    private static func response(_ asset: WebAsset, _ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse.serving(
            Representation(length: Int64(asset.bytes.count), contentType: asset.mediaType, etag: asset.etag) {
                .bytes(Array(asset.bytes[Int($0.lowerBound)..<Int($0.upperBound)]))
            },
            for: request,
            headers: ["Cache-Control": "no-cache", "Content-Security-Policy": WebAssets.contentSecurityPolicy]
        )
        response.isCompressible = true
        return response
    }

    private static let missing = ServerError(.notFound, "there is no such page")
}
