import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelStore

/// `/admin/v1/…`: back-office keys, sign-in links, key rotation.
struct AdminRoutes {
    let home: Home
    let database: any Database
    let accounts: Accounts
    let master: MasterKeyring.Shared
    let nodes: Nodes
    let tickets: TicketKeyring
    let callers: Callers

    func add(to router: inout Router) {
        let rotation = KeyRotation(home: home, database: database, clock: accounts.clock)
        router.on(.post, "admin/v1/service-keys") { request, _ in
            let actor = try await callers.require(request, .manageKeys)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["name", "role"])
            guard let role = Role(rawValue: try object.requiredString("role")) else {
                throw ServerError(.invalid, "role is \"service\" or \"admin\"")
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
            let limit = try request.query.integer("limit", in: 1...1000) ?? 100
            let page = try await accounts.sessions.live(after: try PageMark.parse(request.query["after"]), limit: limit)
            var answer: JSONObject = ["sessions": .array(page.map(Self.json))]
            if page.count == limit, let last = page.last?.session {
                answer["next"] = .string(PageMark.text(last.createdAt, last.family))
            }
            return .json(.object(answer))
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
        router.on(.post, "admin/v1/master-key/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let outcome = try await rotation.run(by: actor, node: nodes.id) { master.use($0) }
            return .json([
                "version": .integer(outcome.version), "rewrapped": .integer(outcome.rewrapped),
            ])
        }
        router.on(.post, "admin/v1/master-key/add") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let object = try await JSONBody.object(of: request, limit: 65_536)
            try object.allowOnly(["keys", "file"])
            var versions: [Int64] = []
            if let text = try object.string("keys") {
                // Keys travel over the home's own socket and nowhere else.
                guard case .local = request.peer else {
                    throw ServerError(.forbidden, "keys are brought with 'carrel keys add --from FILE' on the machine itself")
                }
                versions = try await rotation.take(
                    from: try MasterKeyring(text: text, path: try object.string("file") ?? "the copy")
                )
            } else {
                versions = [try await rotation.add(by: actor)]
            }
            try await nodes.beatAgain()
            return .json(["added": .array(versions.map { .integer($0) })])
        }
        router.on(.get, "admin/v1/master-key") { request, _ in
            try await callers.require(request, .rotateKeys)
            let keys = try await database.read { try MasterKeyStore.known(in: $0) }
            return .json([
                "version": .integer(keys.current ?? master.current.current), "added": keys.added.map { .integer($0) } ?? .null,
                "nodes": .array(try await nodes.recent().map(Self.json)),
            ])
        }
        router.on(.post, "admin/v1/ticket-key/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let rotation = try await tickets.rotate(atOnce: request.query.flag("atOnce"), by: actor)
            return .json([
                "key": .integer(Int64(rotation.id)), "signsFrom": .string(rotation.signsFrom.description),
                "forgotten": .integer(rotation.forgotten),
            ])
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

    private static func json(_ node: Nodes.Node) -> JSON {
        [
            "name": .string(node.name), "seenAt": .string(node.seenAt.description),
            "masterVersions": .array(node.masterVersions.map { .integer($0) }),
        ]
    }

    private static func json(_ key: Accounts.ServiceKey) -> JSONObject {
        [
            "id": .string(key.id), "name": .string(key.name), "role": .string(key.role.rawValue),
            "createdAt": .string(key.createdAt.description), "revokedAt": .init(key.revokedAt),
        ]
    }
}
