// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelThrottling
import CarrelWebAPI

/// `/admin/v1/throttle/clear`: lets those in again who were slowed down, for staff.
struct ThrottleRoutes {
    let throttle: SignInThrottle
    let accounts: Accounts
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/throttle/clear") { request, _ in
            let actor = try await callers.require(request, .changeAccounts)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["account", "network", "all"])
            let (name, address) = (try object.string("account"), try object.string("network"))
            let all = try object.flag("all") ?? false
            guard all != (name != nil || address != nil) else {
                throw ServerError(.invalid, "give \"account\", \"network\" or both, or only \"all\"")
            }
            if all { try await callers.require(request, .manageKeys) }
            let subject = if let name { try await accounts.find(named: name)?.id ?? "" } else { "" }
            let count = try await throttle.clear(name: name, address: address, subject: subject, by: actor)
            return .json(["cleared": .integer(count)])
        }
    }
}
