// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
package import CarrelSubscription
import CarrelHTTP
import CarrelHome
package import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/plans` and what accounts hold: plans given and ended, single products, explanations.
package struct PlanRoutes {
    let subscriptions: Subscriptions
    let desk: AccountAdministration
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/plans") { request, _ in try await createPlan(request) }
        router.on(.get, "admin/v1/plans") { request, _ in
            try await callers.require(request, .readPlans)
            return .json(["plans": .array(try await subscriptions.plans().map(Self.json))])
        }
        router.on(.get, "admin/v1/accounts/{account}/entitlement") { request, parameters in
            try await callers.require(request, .readAccounts)
            let account = try await desk.find(parameters["account"])
            guard let product = request.query["product"] else {
                return .json(Self.json(try await subscriptions.entitlement(of: account)))
            }
            return .json(Self.json(try await subscriptions.explain(product, to: account)))
        }
        router.on(.post, "admin/v1/accounts/{account}/subscriptions") { request, parameters in
            try await callers.require(request, .changeHoldings)
            return try await grant(request, to: try await desk.find(parameters["account"]))
        }
        router.on(.post, "admin/v1/accounts/{account}/purchases") { request, parameters in
            try await callers.require(request, .changeHoldings)
            return try await give(request, to: try await desk.find(parameters["account"]))
        }
        router.on(.post, "admin/v1/subscriptions/{subscription}/end") { request, parameters in
            let actor = try await callers.require(request, .changeHoldings)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["at"])
            try await subscriptions.end(parameters["subscription"], at: try object.instant("at"), by: actor)
            return .empty(.noContent)
        }
        router.on(.post, "admin/v1/subscriptions/{subscription}/revoke") { request, parameters in
            let actor = try await callers.require(request, .changeHoldings)
            try await subscriptions.revoke(parameters["subscription"], by: actor)
            return .empty(.noContent)
        }
        router.on(.post, "admin/v1/purchases/{purchase}/end") { request, parameters in
            let actor = try await callers.require(request, .changeHoldings)
            try await subscriptions.endPurchase(parameters["purchase"], by: actor)
            return .empty(.noContent)
        }
    }

    private func createPlan(_ request: HTTPRequest) async throws -> HTTPResponse {
        let actor = try await callers.require(request, .changePlans)
        let object = try await JSONBody.object(of: request, limit: 4 << 20, values: 100_000)
        try object.allowOnly(["name", "scope", "graceIssues", "deviceLimit", "products"])
        let word = try object.string("scope") ?? Plan.Scope.everything.rawValue
        guard let scope = Plan.Scope(rawValue: word) else {
            throw ServerError(
                .invalid,
                "scope must be \(Plan.Scope.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or "))"
            )
        }
        let plan = Plan(
            name: try object.requiredString("name"),
            scope: scope,
            graceIssues: try object.count("graceIssues") ?? 0,
            deviceLimit: try object.count("deviceLimit"),
            products: Set(try object.strings("products", limit: .max) ?? [])
        )
        try await subscriptions.createPlan(plan, by: actor)
        return .json(Self.json(plan), status: .created)
    }

    private func grant(_ request: HTTPRequest, to account: Account) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["plan", "start", "end", "number"])
        let (subscription, created) = try await subscriptions.grant(
            plan: try object.requiredString("plan"),
            to: account,
            start: try object.instant("start"),
            end: try object.instant("end"),
            number: try object.string("number"),
            by: try await callers.actor(request)
        )
        return .json(Self.json(subscription), status: created ? .created : .ok)
    }

    private func give(_ request: HTTPRequest, to account: Account) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["product", "kind", "end", "number"])
        let word = try object.string("kind") ?? Purchase.Kind.purchase.rawValue
        guard let kind = Purchase.Kind(rawValue: word) else {
            throw ServerError(.invalid, "kind must be \"purchase\" or \"gift\"")
        }
        let (purchase, created) = try await subscriptions.give(
            try object.requiredString("product"),
            to: account,
            as: kind,
            end: try object.instant("end"),
            number: try object.string("number"),
            by: try await callers.actor(request)
        )
        return .json(Self.json(purchase), status: created ? .created : .ok)
    }

    private static func json(_ plan: Plan) -> JSON {
        [
            "name": .string(plan.name), "scope": .string(plan.scope.rawValue), "graceIssues": .integer(plan.graceIssues),
            "deviceLimit": plan.deviceLimit.map { .integer($0) } ?? .null,
            "products": .array(plan.products.sorted().map { .string($0) }),
        ]
    }

    private static func json(_ subscription: Subscription) -> JSON {
        [
            "id": .string(subscription.id), "plan": .string(subscription.plan.name),
            "start": .string(subscription.startsAt.description), "end": .init(subscription.endsAt),
            "revokedAt": .init(subscription.revokedAt),
        ]
    }

    private static func json(_ purchase: Purchase) -> JSON {
        [
            "id": .string(purchase.id), "product": .string(purchase.productID), "kind": .string(purchase.kind.rawValue),
            "end": .init(purchase.endsAt),
        ]
    }

    package static func json(_ entitlement: Entitlement) -> JSON {
        [
            "suspended": .bool(entitlement.isSuspended),
            "subscriptions": .array(entitlement.subscriptions.map(json)),
            "purchases": .array(entitlement.purchases.map(json)),
        ]
    }

    private static func json(_ explanation: Subscriptions.Explanation) -> JSON {
        let (verdict, rule): (String, String?) =
            switch explanation.verdict {
            case .granted(let rule): ("granted", rule)
            case .notEntitled: ("notentitled", nil)
            case .expired: ("expired", nil)
            case .suspended: ("suspended", nil)
            }
        return [
            "account": .string(explanation.account.name), "product": .string(explanation.productID),
            "state": .init(explanation.product?.state.rawValue), "verdict": .string(verdict), "rule": .init(rule),
            "findings": .array(
                explanation.findings.map {
                    ["rule": .string($0.rule), "effect": .string($0.effect.rawValue), "reason": .string($0.reason)]
                }
            ),
        ]
    }
}
