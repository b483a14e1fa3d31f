// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/accounts/{account}/export` and `/erase`: export and erasure of personal data.
struct PrivacyRoutes {
    let desk: AccountAdministration
    let export: PersonalExport
    let erasure: Erasure
    let register: PersonalRegister
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/accounts/{account}/export") { request, parameters in
            let actor = try await callers.require(request, .personalData)
            return try await export.response(of: try await desk.find(parameters["account"]), by: actor)
        }
        router.on(.post, "admin/v1/accounts/{account}/erase") { request, parameters in
            let actor = try await callers.require(request, .personalData)
            let account = try await desk.find(parameters["account"])
            try await callers.requireAuthority(request, over: account)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["name"])
            try await erasure.erase(account.id, named: try object.requiredString("name"), by: actor)
            return .json(["account": .string(account.id), "kept": register.kept])
        }
    }
}
