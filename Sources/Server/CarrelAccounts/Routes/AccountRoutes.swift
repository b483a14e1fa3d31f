// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
import CarrelBytes
package import CarrelHTTP
import CarrelHome
package import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/accounts/…`: accounts, their devices and their sessions, for the operator and support.
package struct AccountRoutes {
    let accounts: Accounts
    let desk: AccountAdministration
    let devices: Devices
    let appPasswords: AppPasswords
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/accounts") { request, _ in try await create(request) }
        router.on(.get, "admin/v1/accounts") { request, _ in try await list(request) }
        on(.get, "", of: &router) { _, account, _ in .json(try await described(account.id)) }
        on(.patch, "", of: &router) { request, account, _ in try await change(request, account) }
        on(.get, "/devices", of: &router) { _, account, _ in
            .json(["devices": .array(try await devices.list(of: account).map(Self.json))])
        }
        on(.patch, "/devices/{device}", of: &router) { request, account, parameters in
            let actor = try await callers.actor(request)
            return try await Self.rename(parameters["device"], of: account, request, by: actor, in: devices)
        }
        on(.delete, "/devices/{device}", of: &router) { request, account, parameters in
            try await devices.revoke(parameters["device"], of: account, isOwner: false, by: try await callers.actor(request))
            return .empty(.noContent)
        }
        on(.delete, "/devices", of: &router) { request, account, _ in
            .json(["revoked": .integer(try await devices.revokeAll(of: account, by: try await callers.actor(request)))])
        }
        on(.get, "/sessions", of: &router) { _, account, _ in
            .json(["sessions": .array(try await accounts.sessions.list(of: account).map(Self.json))])
        }
        on(.delete, "/sessions", of: &router) { request, account, _ in
            let ended = try await accounts.sessions.endAll(of: account, by: try await callers.actor(request))
            return .json(["ended": .integer(ended)])
        }
        on(.delete, "/sessions/{session}", of: &router) { request, account, parameters in
            let actor = try await callers.actor(request)
            try await accounts.sessions.end(parameters["session"], of: account, isOwner: false, by: actor)
            return .empty(.noContent)
        }
        on(.get, "/app-passwords", of: &router) { _, account, _ in
            .json(["appPasswords": .array(try await appPasswords.list(of: account).map { .object(Self.json($0)) })])
        }
        on(.post, "/app-passwords", of: &router) { request, account, _ in
            try await Self.create(request, for: account, by: try await callers.actor(request), in: appPasswords)
        }
        on(.delete, "/app-passwords/{password}", of: &router) { request, account, parameters in
            try await appPasswords.revoke(parameters["password"], of: account, by: try await callers.actor(request))
            return .empty(.noContent)
        }
        on(.post, "/reset-links", of: &router) { request, account, _ in
            let token = try await desk.makeResetLink(for: account.id, by: try await callers.actor(request))
            var answer = Self.json(resetLink: token)
            answer["account"] = .string(account.name)
            return .json(.object(answer), status: .created).unstored
        }
    }

    /// The address of a password reset link, with its lifetime in seconds.
    static func json(resetLink token: String) -> JSONObject {
        ["path": .string("/reset/\(token)"), "expiresIn": .integer(AccountAdministration.resetLife.components.seconds)]
    }

    /// An account with what staff see of it.
    private func described(_ id: String) async throws -> JSON {
        let details = try await desk.details(of: id)
        var answer = Self.json(details.account)
        answer["createdAt"] = .string(details.createdAt.description)
        answer["deviceLimit"] = details.deviceLimit.map { .integer($0) } ?? .null
        answer["hasPassword"] = .bool(details.hasPassword)
        return .object(answer)
    }

    /// Calls a device what the body says.
    package static func rename(
        _ device: String,
        of account: Account,
        _ request: HTTPRequest,
        by actor: AuditActor,
        in devices: Devices
    ) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["name"])
        guard object["name"] != nil else { throw ServerError(.invalid, "name is required: a string, or null") }
        let name = object["name"]?.isNull == true ? nil : try object.string("name")
        return .json(json(try await devices.rename(device, of: account, to: name, by: actor)))
    }

    /// Makes an app password that the body describes; its text is in the answer, and nowhere else.
    package static func create(
        _ request: HTTPRequest,
        for account: Account,
        by actor: AuditActor,
        in appPasswords: AppPasswords
    ) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["name", "scopes", "expiresAt"])
        let words = object["scopes"]?.array?.map { $0.string ?? "" } ?? []
        let scopes = words.compactMap { AppPassword.Scope(rawValue: $0) }
        guard scopes.count == words.count, !scopes.isEmpty else {
            let known = AppPassword.Scope.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw ServerError(.invalid, "scopes must be a list of \(known)")
        }
        let (password, text) = try await appPasswords.create(
            for: account,
            name: try object.requiredString("name"),
            scopes: Set(scopes),
            expiresAt: try object.instant("expiresAt"),
            by: actor
        )
        var answer = json(password)
        answer["password"] = .string(text)
        return .json(.object(answer), status: .created).unstored
    }

    private func on(
        _ method: HTTPMethod,
        _ path: String,
        of router: inout Router,
        _ body: @escaping @Sendable (HTTPRequest, Account, PathParameters) async throws -> HTTPResponse
    ) {
        router.on(method, "admin/v1/accounts/{account}\(path)") { request, parameters in
            try await callers.require(request, method.isSafe ? .readAccounts : .changeAccounts)
            let account = try await desk.find(parameters["account"])
            if !method.isSafe { try await callers.requireAuthority(request, over: account) }
            return try await body(request, account, parameters)
        }
    }

    private func create(_ request: HTTPRequest) async throws -> HTTPResponse {
        let actor = try await callers.require(request, .changeAccounts)
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["name", "password", "deviceLimit"])
        let account = try await desk.create(
            try object.requiredString("name"),
            password: try object.string("password"),
            deviceLimit: try object.count("deviceLimit"),
            by: actor
        )
        return .json(.object(Self.json(account)), status: .created)
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await callers.require(request, .readAccounts)
        if let name = request.query["name"] {
            let found = try await accounts.find(named: name).map { [JSON.object(Self.json($0))] }
            return .json(["accounts": .array(found ?? [])])
        }
        let page = try ListPage(request.query)
        let found = try await desk.list(matching: request.query["find"] ?? "", after: page.after, limit: page.limit)
        let object = page.json("accounts", found) { entry in
            var object = Self.json(entry.account)
            object["createdAt"] = .string(entry.createdAt.description)
            return .object(object)
        } cursor: {
            ($0.createdAt, $0.account.id)
        }
        return .json(.object(object))
    }

    private func change(_ request: HTTPRequest, _ account: Account) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["password", "suspended", "deviceLimit"])
        var change = AccountAdministration.Change()
        change.password = try object.string("password")
        change.isSuspended = try object.flag("suspended")
        if object["deviceLimit"] != nil { change.deviceLimit = .some(try object.count("deviceLimit")) }
        try await desk.change(account.id, change, by: try await callers.actor(request))
        return .json(try await described(account.id))
    }

    static func json(_ account: Account) -> JSONObject {
        ["id": .string(account.id), "name": .string(account.name), "suspended": .bool(account.isSuspended)]
    }

    package static func json(_ password: AppPassword) -> JSONObject {
        [
            "id": .string(password.id), "name": .string(password.name),
            "scopes": .array(password.scopes.map(\.rawValue).sorted().map { .string($0) }),
            "createdAt": .string(password.createdAt.description), "seenAt": .init(password.seenAt),
            "expiresAt": .init(password.expiresAt),
        ]
    }

    package static func json(_ device: Device) -> JSON {
        [
            "id": .string(device.id), "name": .string(device.name), "appName": .string(device.appName),
            "createdAt": .string(device.createdAt.description), "seenAt": .string(device.seenAt.description),
            "freedAt": .init(device.freedAt),
        ]
    }

    package static func json(_ session: Session) -> JSON {
        [
            "id": .string(session.family), "device": .init(session.deviceID),
            "createdAt": .string(session.createdAt.description), "seenAt": .string(session.seenAt.description),
            "expiresAt": .string(session.expiresAt.description), "staff": .bool(session.isStaff),
        ]
    }
}
