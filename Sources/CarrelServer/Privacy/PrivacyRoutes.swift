import CarrelBytes
import CarrelHTTP
import CarrelJSON

/// `/admin/v1/accounts/{account}/export`, `/history`, `/erase` and `/admin/v1/upstream-readers`: what is known about a person, and forgetting it.
struct PrivacyRoutes {
    let desk: AccountDesk
    let export: PersonalExport
    let erasure: Erasure
    let history: ListeningHistory
    let callers: Callers

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/accounts/{account}/export") { request, parameters in
            let actor = try await callers.require(request, .personalData)
            return try await export.response(of: try await desk.find(parameters["account"]), by: actor)
        }
        router.on(.get, "admin/v1/accounts/{account}/history") { request, parameters in
            let account = try await looked(request, parameters)
            return .json(["titles": .array(try await history.list(of: account).map(\.json))]).unstored
        }
        router.on(.get, "admin/v1/accounts/{account}/history.csv") { request, parameters in
            history.table(of: try await looked(request, parameters))
        }
        router.on(.post, "admin/v1/accounts/{account}/erase") { request, parameters in
            let actor = try await callers.require(request, .personalData)
            let account = try await desk.find(parameters["account"])
            try await callers.requireAuthority(request, over: account)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["name"])
            try await erasure.erase(account.id, named: try object.requiredString("name"), by: actor)
            return .json(["account": .string(account.id), "kept": Self.kept])
        }
        router.on(.get, "admin/v1/upstream-readers") { request, _ in
            let actor = try await callers.require(request, .personalData)
            return .json(["upstream": .array(try await export.upstream(named: try Self.name(request), by: actor))]).unstored
        }
        router.on(.delete, "admin/v1/upstream-readers") { request, _ in
            let actor = try await callers.require(request, .personalData)
            return .json(["forgotten": .integer(try await erasure.forgetUpstream(named: try Self.name(request), by: actor))])
        }
    }

    private static func name(_ request: HTTPRequest) throws -> String {
        guard let name = request.query["name"], !name.isEmpty else { throw ServerError(.invalid, "name is missing") }
        return name
    }

    /// The account whose history somebody looks at, which is in the audit log.
    private func looked(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> Account {
        let actor = try await callers.require(request, .personalData)
        let account = try await desk.find(parameters["account"])
        try await history.note(account, by: actor, at: desk.clock.now)
        return account
    }

    /// What stays of a person who is forgotten, and why.
    static var kept: JSON {
        .array(
            PersonalData.tables.sorted { $0.key < $1.key }.compactMap { _, treatment in
                guard case .kept(let member, let reason) = treatment else { return nil }
                return ["what": .string(member), "because": .string(reason)]
            }
        )
    }
}
