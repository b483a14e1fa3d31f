// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/accounts/{account}/identities`: the links between identities at providers and an account.
struct IdentityRoutes {
    let identities: Identities
    let desk: AccountAdministration
    let callers: RequestAuthenticator

    private static let pattern = "admin/v1/accounts/{account}/identities"

    func add(to router: inout Router) {
        router.on(.get, Self.pattern) { request, parameters in
            try await callers.require(request, .readAccounts)
            let list = try await identities.list(of: try await desk.find(parameters["account"]))
            return .json(["identities": .array(list.map(Self.json))])
        }
        router.on(.post, Self.pattern) { request, parameters in
            let actor = try await callers.require(request, .changeAccounts)
            let account = try await desk.find(parameters["account"])
            try await callers.requireAuthority(request, over: account)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["issuer", "subject"])
            let (issuer, subject) = (try object.requiredString("issuer"), try object.requiredString("subject"))
            try await identities.link(issuer: issuer, subject: subject, to: account, by: actor)
            return .json(["issuer": .string(issuer), "subject": .string(subject)], status: .created)
        }
        router.on(.delete, Self.pattern) { request, parameters in
            let actor = try await callers.require(request, .changeAccounts)
            let account = try await desk.find(parameters["account"])
            try await callers.requireAuthority(request, over: account)
            guard let issuer = request.query["issuer"], let subject = request.query["subject"] else {
                throw ServerError(.invalid, "the query must contain issuer and subject")
            }
            try await identities.unlink(issuer: issuer, subject: subject, of: account, by: actor)
            return .empty(.noContent)
        }
    }

    static func json(_ identity: SignOnStore.Identity) -> JSON {
        [
            "issuer": .string(identity.issuer), "subject": .string(identity.subject),
            "createdAt": .string(identity.createdAt.description), "seenAt": .string(identity.seenAt.description),
        ]
    }
}
