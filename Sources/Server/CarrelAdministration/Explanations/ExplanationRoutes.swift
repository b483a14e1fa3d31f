// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
package import CarrelCatalog
package import CarrelEntitlements
import CarrelHTTP
package import CarrelHome
import CarrelJSON
package import CarrelOrders
import CarrelSubscription
import CarrelWebAPI
import CarrelWorks

/// The sources of explanations why an account may read or listen to a title.
package struct Explanations: Sendable {
    let sources: EntitlementSources
    let products: ProductCatalogCache
    let orders: OrderExplanations

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - sources: the sources of entitlement.
    ///   - products: the catalog's products.
    ///   - access: the rules that open a stream.
    ///   - leases: the current listeners.
    package init(
        _ context: ServiceContext,
        sources: EntitlementSources,
        products: ProductCatalogCache,
        access: AccessMode,
        leases: Leases
    ) {
        self.sources = sources
        self.products = products
        orders = OrderExplanations(database: context.database, clock: context.clock, access: access, leases: leases)
    }
}

/// `/admin/v1/explanations`: the findings of each entitlement source about a product, and of the orders about an audiobook, for
/// a sign-in name.
struct ExplanationRoutes {
    private let sources: EntitlementSources
    private let products: ProductCatalogCache
    private let orders: OrderExplanations
    private let audit: AuditBatchWriter
    private let callers: RequestAuthenticator

    init(_ explanations: Explanations, audit: AuditBatchWriter, callers: RequestAuthenticator) {
        sources = explanations.sources
        products = explanations.products
        orders = explanations.orders
        self.audit = audit
        self.callers = callers
    }

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/explanations") { request, _ in
            try await callers.require(request, .readAccounts)
            guard let name = request.query["name"], let asked = request.query["product"] else {
                throw ServerError(.invalid, "name and product are required")
            }
            products.forget()
            try? await audit.settle()
            let catalog = try await products.current()
            let (titles, edition) = catalog[asked] == nil ? try await orders.find(asked) : ([], nil)
            let product = edition ?? asked
            var (answer, answers): (JSONObject, [JSON]) = (
                [
                    "account": .string(name), "product": .string(product), "state": .init(catalog[product]?.state.rawValue),
                    "titles": .array(titles.map { ["id": .string($0.id), "title": .string($0.metadata.title)] }), "source": .null,
                ], []
            )
            for (source, found) in try await explanations(of: product, titles, to: name) {
                var object: JSONObject = ["name": .string(source), "knows": .bool(found != nil)]
                if let found {
                    Self.tell(found, &object)
                    // The first source that knows the name decides.
                    if answer["source"]?.isNull == true {
                        answer["source"] = .string(source)
                        Self.tell(found, &answer)
                    }
                }
                answers.append(.object(object))
            }
            answer["sources"] = .array(answers)
            return .json(.object(answer))
        }
    }

    /// The findings of each source about a product; for audiobooks, which no source covers, the findings of the orders.
    private func explanations(
        of product: String,
        _ titles: [Title],
        to name: String
    ) async throws -> [(source: String, found: SourceExplanation?)] {
        guard titles.isEmpty else { return [(OrderExplanations.name, try await orders.explain(titles, to: name))] }
        var explanations: [(source: String, found: SourceExplanation?)] = []
        for source in sources.inOrder { explanations.append((source.name, try await source.explain(product, to: name))) }
        return explanations
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
