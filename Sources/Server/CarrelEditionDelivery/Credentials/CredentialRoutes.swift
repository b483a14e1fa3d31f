// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/credentials`: revokes issued credentials; `/admin/v1/credential-key`: rotates their secret.
struct CredentialRoutes {
    let credentials: CredentialKeyring
    let accounts: Accounts
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/credentials/revoke") { request, _ in
            let actor = try await callers.require(request, .changeHoldings)
            let revocation = try await revocation(request)
            // One account is support's matter; a product, or everything, touches many.
            if case .account = revocation {} else { try await callers.require(request, .rotateKeys) }
            try await credentials.revoke(revocation, by: actor)
            return .empty(.noContent)
        }
        router.on(.post, "admin/v1/credential-key/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let rotation = try await credentials.rotate(atOnce: request.query.flag("atOnce"), by: actor)
            return .json([
                "key": .integer(Int64(rotation.id)), "signsFrom": .string(rotation.signsFrom.description),
                "forgotten": .integer(rotation.forgotten),
            ])
        }
    }

    private func revocation(_ request: HTTPRequest) async throws -> Revocation {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["account", "product", "all"])
        switch (try object.string("account"), try object.string("product"), try object.flag("all")) {
        case (let name?, nil, nil):
            guard let account = try await accounts.find(named: name) else { throw Account.unknown }
            return .account(account.id)
        case (nil, let product?, nil): return .product(product)
        case (nil, nil, true): return .all
        default: throw ServerError(.invalid, "the body must name an account or a product, or contain \"all\": true")
        }
    }
}
