// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/v1/orders`: the calls of a shop's or library's back office.
struct OrderRoutes {
    let orders: Orders
    let accounts: Accounts
    let callers: RequestAuthenticator
    let clock: any WallClock

    /// A request for an order is a few hundred bytes.
    static let bodyLimit = 65_536

    func add(to router: inout Router) {
        // The cookie of the administrator's page goes to its own paths only.
        for path in ["v1/orders", "admin/v1/orders"] {
            router.on(.post, path) { request, _ in try await place(request) }
            router.on(.get, path) { request, _ in try await list(request) }
            router.on(.get, "\(path)/{order}", secret: ["order"]) { request, parameters in
                try await callers.require(request, .readOrders)
                return try await answer(try await orders.find(try parameters.orderID()))
            }
            on(path, "cancel", of: &router) { try await $0.cancel($1, by: $2) }
            on(path, "return", of: &router) { try await $0.giveBack($1, by: $2) }
            on(path, "revoke", of: &router) { try await $0.revoke($1, by: $2) }
        }
    }

    private func on(
        _ path: String,
        _ verb: String,
        of router: inout Router,
        _ change: @escaping @Sendable (Orders, String, AuditActor) async throws -> Order
    ) {
        router.on(.post, "\(path)/{order}/\(verb)", secret: ["order"]) { request, parameters in
            let actor = try await callers.require(request, .changeOrders)
            return try await answer(try await change(orders, try parameters.orderID(), actor))
        }
    }

    private func place(_ request: HTTPRequest) async throws -> HTTPResponse {
        let actor = try await callers.require(request, .changeOrders)
        let object = try await JSONBody.object(of: request, limit: Self.bodyLimit)
        try object.allowOnly(["account", "title", "isbn", "kind", "start", "end", "orderNumber"])
        let kindText = try object.string("kind") ?? Order.Kind.sale.rawValue
        guard let kind = Order.Kind(rawValue: kindText) else {
            throw ServerError(
                .invalid,
                "kind must be \(Order.Kind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or "))"
            )
        }
        let (order, created) = try await orders.place(
            Orders.Request(
                account: try object.requiredString("account"),
                titleID: try object.string("title"),
                isbn: try object.string("isbn"),
                kind: kind,
                start: try object.instant("start"),
                end: try object.instant("end"),
                number: try object.string("orderNumber")
            ),
            by: actor
        )
        return try await answer(order, status: created ? .created : .ok)
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await callers.require(request, .readOrders)
        var filter = OrderFilter(
            account: request.query["account"],
            titleID: request.query["title"],
            number: request.query["orderNumber"]
        )
        let page = try ListPage(request.query)
        (filter.limit, filter.after) = (page.limit, page.after)
        let found = try await orders.list(filter)
        let now = clock.now
        let object = page.json("orders", found) {
            .object(Self.json($0.order, account: $0.account, now: now))
        } cursor: {
            ($0.order.createdAt, $0.order.id)
        }
        return .json(JSON.object(object))
    }

    private func answer(_ order: Order, status: HTTPStatus = .ok) async throws -> HTTPResponse {
        let account = try await accounts.name(ofID: order.accountID)
        var response = HTTPResponse.json(JSON.object(Self.json(order, account: account, now: clock.now)), status: status)
        if status == .created { response.headers["Location"] = "/v1/orders/\(order.id)" }
        return response
    }

    static func json(_ order: Order, account: String, now: Instant) -> JSONObject {
        [
            "id": .string(order.id),
            "orderNumber": .init(order.number),
            "account": .string(account),
            "title": .string(order.titleID),
            "kind": .string(order.kind.rawValue),
            "state": .string(order.publicState(at: now)),
            "start": .init(order.startsAt),
            "end": .init(order.endsAt),
            "createdAt": .init(order.createdAt),
            "activatedAt": .init(order.activatedAt),
            "endedAt": .init(order.endedAt),
            "playlist": .string("/v1/stream/hls/\(order.id)/playlist.m3u8"),
        ]
    }
}
