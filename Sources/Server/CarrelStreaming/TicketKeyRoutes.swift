// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/ticket-key/rotate`: replaces the secret that signs the addresses of segments and keys.
struct TicketKeyRoutes {
    let tickets: TicketKeyring
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/ticket-key/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let rotation = try await tickets.rotate(atOnce: request.query.flag("atOnce"), by: actor)
            return .json([
                "key": .integer(Int64(rotation.id)), "signsFrom": .string(rotation.signsFrom.description),
                "forgotten": .integer(rotation.forgotten),
            ])
        }
    }
}
