// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/service-keys`, `/admin/v1/sign-in-links` and `/admin/v1/sessions`: access of programs and people.
struct KeyRoutes {
    let accounts: Accounts
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/service-keys") { request, _ in
            let actor = try await callers.require(request, .manageKeys)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["name", "role"])
            guard let role = Role(rawValue: try object.requiredString("role")) else {
                throw ServerError(.invalid, "role must be \"service\", \"portal\", \"packager\" or \"admin\"")
            }
            let (key, text) = try await accounts.createServiceKey(
                name: try object.string("name") ?? role.rawValue,
                role: role,
                by: actor
            )
            var answer = Self.json(key)
            answer["key"] = .string(text)
            return .json(.object(answer), status: .created).unstored
        }
        router.on(.get, "admin/v1/service-keys") { request, _ in
            try await callers.require(request, .manageKeys)
            return .json(["keys": .array(try await accounts.serviceKeys().map { .object(Self.json($0)) })])
        }
        router.on(.delete, "admin/v1/service-keys/{key}") { request, parameters in
            let actor = try await callers.require(request, .manageKeys)
            try await accounts.revokeServiceKey(parameters["key"], by: actor)
            return .empty(.noContent)
        }
        router.on(.post, "admin/v1/sign-in-links") { request, _ in
            let actor = try await callers.require(request, .changeAccounts)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["account"])
            let account = try await accounts.findOrCreate(named: try object.requiredString("account"))
            try await callers.requireAuthority(request, over: account)
            let token = try await accounts.makeSignInLink(for: account, by: actor)
            let answer: JSON = [
                "account": .string(account.name), "path": .string("/sign-in/\(token)"),
                "expiresIn": .integer(Accounts.linkLife.components.seconds),
            ]
            return .json(answer, status: .created).unstored
        }
        router.on(.get, "admin/v1/sessions") { request, _ in
            try await callers.require(request, .readAccounts)
            let page = try ListPage(request.query)
            let live = try await accounts.sessions.live(after: page.after, limit: page.limit)
            return .json(.object(page.json("sessions", live, Self.json) { ($0.session.createdAt, $0.session.family) }))
        }
        router.on(.post, "admin/v1/sessions") { request, _ in
            let actor = try await callers.require(request, .changeAccounts)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["account"])
            let account = try await accounts.findOrCreate(named: try object.requiredString("account"))
            try await callers.requireAuthority(request, over: account)
            let token = try await accounts.issueSession(for: account, by: actor)
            return .json(["account": .string(account.name), "token": .string(token)], status: .created).unstored
        }
    }

    private static func json(_ live: SessionStore.Live) -> JSON {
        let session = live.session
        return [
            "id": .string(session.family), "account": .object(AccountRoutes.json(session.account)),
            "kind": .string(session.isStaff ? "staff" : session.deviceID == nil ? "browser" : "app"),
            "deviceName": .init(live.deviceName), "createdAt": .string(session.createdAt.description),
            "seenAt": .string(session.seenAt.description), "expiresAt": .string(session.expiresAt.description),
        ]
    }

    private static func json(_ key: ServiceKey) -> JSONObject {
        [
            "id": .string(key.id), "name": .string(key.name), "role": .string(key.role.rawValue),
            "createdAt": .string(key.createdAt.description), "revokedAt": .init(key.revokedAt),
        ]
    }
}
