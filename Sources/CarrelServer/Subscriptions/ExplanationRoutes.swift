import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelSubscription

/// `/admin/v1/explanations`: what each source says of somebody, by the name that they sign in with.
struct ExplanationRoutes {
    let sources: EntitlementSources
    let products: ProductCatalog
    let audit: AuditGroup
    let callers: Callers

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/explanations") { request, _ in
            try await callers.require(request, .readAccounts)
            guard let name = request.query["name"], let product = request.query["product"] else {
                throw ServerError(.invalid, "name and product are needed")
            }
            products.forget()
            try? await audit.settle()
            let state = try await products.current()[product]?.state
            var (answer, answers): (JSONObject, [JSON]) = (
                ["account": .string(name), "product": .string(product), "state": .init(state?.rawValue), "source": .null], []
            )
            for source in sources.inOrder {
                var object: JSONObject = ["name": .string(source.name)]
                let found = try await source.explain(product, to: name)
                object["knows"] = .bool(found != nil)
                if let found {
                    Self.tell(found, &object)
                    // The first that knows somebody answers for them.
                    if answer["source"]?.isNull == true {
                        answer["source"] = .string(source.name)
                        Self.tell(found, &answer)
                    }
                }
                answers.append(.object(object))
            }
            answer["sources"] = .array(answers)
            return .json(.object(answer))
        }
    }

    private static func tell(_ found: SourceExplanation, _ object: inout JSONObject) {
        object["verdict"] = .string(found.verdict.rawValue)
        object["rule"] = .init(found.rule)
        object["findings"] = .array(
            found.findings.map {
                ["rule": .string($0.rule), "effect": .string($0.effect.rawValue), "reason": .string($0.reason)]
            }
        )
        object["lastGrant"] = found.lastGrant.map { ["at": .string($0.at.description), "rule": .string($0.rule)] } ?? .null
    }
}
