// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/canned-users`: lists the canned users, and checks that the five calls behave as intended for them.
struct CannedUserRoutes {
    /// Nil if the configuration leaves the canned users out.
    let check: CannedUserCheck?
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/canned-users") { request, _ in
            try await callers.require(request, .runCannedUsers)
            return .json([
                "on": .bool(check != nil),
                "users": .array(check == nil ? [] : CannedUsers.names.map { .string($0) }),
            ])
        }
        router.on(.post, "admin/v1/canned-users/{user}/check") { request, parameters in
            try await callers.require(request, .runCannedUsers)
            let user = parameters["user"]
            guard let check, CannedUsers.names.contains(user) else {
                throw ServerError(.notFound, "there is no such canned user here (subscription.canned-users)")
            }
            let results = await check.run(user)
            return .json([
                "user": .string(user), "green": .bool(results.allSatisfy(\.isGreen)),
                "calls": .array(
                    results.map {
                        [
                            "call": .string($0.call), "expected": .array($0.expected.map { .string($0) }),
                            "got": .string($0.got), "green": .bool($0.isGreen), "milliseconds": .integer($0.milliseconds),
                        ]
                    }
                ),
            ])
        }
    }
}
