import CarrelBytes
import CarrelHTTP
import CarrelJSON

/// `/admin/v1/accounts/…`: accounts, their devices and their sessions, for the operator and support.
struct AccountRoutes {
    let accounts: Accounts
    let desk: AccountDesk
    let devices: Devices
    let callers: Callers

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/accounts") { request, _ in try await create(request) }
        router.on(.get, "admin/v1/accounts") { request, _ in try await list(request) }
        on(.get, "", of: &router) { _, account, _ in .json(.object(Self.json(account))) }
        on(.patch, "", of: &router) { request, account, _ in try await change(request, account) }
        on(.get, "/devices", of: &router) { _, account, _ in
            .json(["devices": .array(try await devices.list(of: account).map(Self.json))])
        }
        on(.delete, "/devices/{device}", of: &router) { request, account, parameters in
            try await devices.revoke(parameters["device"], of: account, by: try await callers.actor(request))
            return .empty(.noContent)
        }
        on(.delete, "/devices", of: &router) { request, account, _ in
            .json(["revoked": .integer(try await devices.revokeAll(of: account, by: try await callers.actor(request)))])
        }
        on(.get, "/sessions", of: &router) { _, account, _ in
            .json(["sessions": .array(try await accounts.sessions.list(of: account).map(Self.json))])
        }
        on(.delete, "/sessions/{session}", of: &router) { request, account, parameters in
            try await accounts.sessions.end(parameters["session"], of: account, by: try await callers.actor(request))
            return .empty(.noContent)
        }
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
        let limit = try request.query.integer("limit", in: 1...1000) ?? 100
        let page = try await desk.list(
            matching: request.query["find"] ?? "",
            after: try PageMark.parse(request.query["after"]),
            limit: limit
        )
        var answer: JSONObject = [
            "accounts": .array(
                page.map { entry in
                    var object = Self.json(entry.account)
                    object["createdAt"] = .string(entry.createdAt.description)
                    return .object(object)
                }
            )
        ]
        if page.count == limit, let last = page.last { answer["next"] = .string(PageMark.text(last.createdAt, last.account.id)) }
        return .json(.object(answer))
    }

    private func change(_ request: HTTPRequest, _ account: Account) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["password", "suspended", "deviceLimit"])
        let actor = try await callers.actor(request)
        if let password = try object.string("password") { try await desk.setPassword(password, of: account.id, by: actor) }
        if let isSuspended = try object.flag("suspended") { try await desk.setSuspended(isSuspended, account.id, by: actor) }
        if object["deviceLimit"] != nil {
            try await desk.setDeviceLimit(try object.count("deviceLimit"), of: account.id, by: actor)
        }
        return .json(.object(Self.json(try await desk.find(account.id))))
    }

    static func json(_ account: Account) -> JSONObject {
        ["id": .string(account.id), "name": .string(account.name), "suspended": .bool(account.isSuspended)]
    }

    private static func json(_ device: Device) -> JSON {
        [
            "id": .string(device.id), "name": .string(device.name), "createdAt": .string(device.createdAt.description),
            "seenAt": .string(device.seenAt.description), "freedAt": .init(device.freedAt),
        ]
    }

    private static func json(_ session: Session) -> JSON {
        [
            "id": .string(session.family), "device": .init(session.deviceID),
            "createdAt": .string(session.createdAt.description), "seenAt": .string(session.seenAt.description),
            "expiresAt": .string(session.expiresAt.description),
        ]
    }
}
