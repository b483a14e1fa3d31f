// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI

/// `GET /v1/wishes` and `PUT /v1/wishes/{title}`, for a signed-in reader.
struct WishRoutes: Sendable {
    let wishes: Wishes
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "v1/wishes") { request, _ in
            let account = try await callers.owner(request).account
            return .json(["wishes": .array(try await wishes.list(of: account.id).map(Self.json))])
        }
        router.on(.put, "v1/wishes/{title}") { request, parameters in
            let account = try await callers.owner(request).account
            try await wishes.add(parameters["title"], to: account.id, by: AuditActor(account.id, requestID: request.id))
            return HTTPResponse(.noContent)
        }
    }

    static func json(_ wish: WishStore.Wish) -> JSON {
        ["title": .string(wish.title), "at": .string(wish.at.description)]
    }
}
