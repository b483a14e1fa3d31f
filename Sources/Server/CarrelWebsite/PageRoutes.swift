// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelWebAPI

/// The pages for people, and their resources.
struct PageRoutes {
    let callers: RequestAuthenticator
    let signIn: SignInRoutes

    func add(to router: inout Router) {
        router.notFoundPage = { request in
            guard [.get, .head].contains(request.method), request.headers["Accept"]?.contains("text/html") == true else {
                return nil
            }
            return try? WebPage.door("not-found", status: .notFound)
        }
        router.on(.get, "") { request, _ in try await page("shelf.html", request) }
        router.on(.get, "admin{/}") { request, _ in
            // Never cached, so that the page requests matching scripts.
            var response = try WebPage.file("admin.html", request)
            response.headers["Cache-Control"] = "no-store"
            response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
            return response
        }
        router.on(.get, "listen/{order}", secret: ["order"]) { request, _ in try await page("listen.html", request) }
        router.on(.get, "account") { request, _ in
            guard try await callers.session(request) != nil else { return try signIn.page(then: request) }
            return try WebPage.file("account.html", request)
        }
        router.on(.get, "assets/{name}") { request, parameters in try WebPage.file(parameters["name"], request) }
        router.on(.get, "openapi.json") { request, _ in try WebPage.file("openapi.json", request) }
    }

    /// A page for an account's reader, or the page to sign in at.
    private func page(_ name: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        guard try await callers.readerIfAny(request) != nil else { return try signIn.page(then: request) }
        return try WebPage.file(name, request)
    }
}
