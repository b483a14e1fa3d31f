// SPDX-License-Identifier: Apache-2.0

import CarrelEditionDelivery
import CarrelHTTP
import CarrelWebAPI

/// Authorization of feeds: public, or only for signed-in readers if the operator requires it.
struct FeedAuthorizer: Sendable {
    let readers: ReaderEntitlement
    let document: AuthenticationDocument
    let needsSignIn: Bool

    /// Responds with a feed that is the same for all authorized readers.
    func answer(_ request: HTTPRequest, _ make: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        guard needsSignIn else { return try await make() }
        guard let reader = try await readers.reader(ofFeed: request), try await readers.mayBrowse(reader) else {
            return refusal(request)
        }
        return personal(try await make())
    }

    /// Marks a response as personal, so that no cache stores it.
    func personal(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Cache-Control"] = "private, no-cache"
        response.headers["Vary"] = "Authorization"
        return response
    }

    /// 401 with the authentication document.
    func refusal(_ request: HTTPRequest) -> HTTPResponse {
        var response = document.challenge(request)
        response.headers["Cache-Control"] = "no-store"
        response.headers["Vary"] = "Authorization"
        return response
    }
}
