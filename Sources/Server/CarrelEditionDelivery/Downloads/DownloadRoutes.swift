// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelWebAPI
import CarrelWorks

/// `/editions/{product}/…` and `/opds/v2/editions/{product}/…`: downloads of editions. The two differ in their
/// refusals.
struct DownloadRoutes {
    let downloads: EditionDownloads
    let gate: EditionAuthorizer
    let settings: EditionSettings
    let document: AuthenticationDocument

    func add(to router: inout Router) {
        router.openToOtherOrigins { router in
            add("editions", settings.refusal, to: &router)
            add("opds/v2/editions", settings.opdsRefusal, to: &router)
        }
    }

    private func add(_ family: String, _ style: RefusalStyle, to router: inout Router) {
        router.on(.get, "\(family)/{product}{/}") { request, parameters in
            try await respond(request, parameters["product"], request.path.raw.hasSuffix("/") ? "" : nil, style)
        }
        router.on(.get, "\(family)/{product}/{path...}") { request, parameters in
            try await respond(request, parameters["product"], parameters["path"], style)
        }
    }

    private func respond(
        _ request: HTTPRequest,
        _ productID: String,
        _ path: String?,
        _ style: RefusalStyle
    ) async throws -> HTTPResponse {
        guard let found = try await downloads.find(productID, path) else { throw EditionDownloads.missing }
        switch found.access {
        case .missing: throw EditionDownloads.missing
        case .gone: throw EditionDownloads.gone
        case .protected: throw EditionDownloads.protected
        case .open: return try await downloads.response(found, base: document.base(of: request), to: request)
        case .credentials:
            guard try await gate.refusal(of: request, to: found.edition.productID, style) == nil else {
                return refusal(request, found.edition.productID, style)
            }
            var response = try await downloads.response(found, base: document.base(of: request), to: request)
            say(found.edition.productID, in: &response)
            return response
        }
    }

    /// Adds the headers by which a cache in front authorizes its responses.
    func say(_ productID: String, in response: inout HTTPResponse) {
        response.headers["X-Carrel-Entitlement"] = productID
        guard settings.saysPugpigEntitlement else { return }
        response.headers["X-Pugpig-Entitlement"] = productID
        response.headers["X-Pugpig-Status"] = "published"
    }

    /// The refusal, equal for every reason.
    func refusal(_ request: HTTPRequest, _ productID: String, _ style: RefusalStyle) -> HTTPResponse {
        var response: HTTPResponse
        switch style {
        case .forbidden: response = .text("You are not authorized to view this page.", status: .forbidden)
        case .challenge: response = document.challenge(request)
        }
        response.headers["Cache-Control"] = "no-cache"
        say(productID, in: &response)
        return response
    }
}
