// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJOSE
import CarrelJSON
import CarrelReceipts
import CarrelWebAPI

/// `/v1/receipts`: purchases in an app store that readers bring, the store's own notifications, and the same for the operator.
struct ReceiptRoutes {
    let receipts: Receipts
    let desk: AccountAdministration
    let callers: RequestAuthenticator

    /// Each signed transaction is a few kilobytes, most of it certificates.
    private static let bodyLimit = 1 << 20
    private static let ofAccount = "admin/v1/accounts/{account}/receipts"

    func add(to router: inout Router) {
        router.on(.get, "v1/receipts") { request, _ in
            Self.response(try await receipts.list(of: try await callers.owner(request).account))
        }
        router.on(.post, "v1/receipts") { request, _ in
            let account = try await callers.owner(request).account
            return try await take(request, for: account, by: AuditActor(account.id, requestID: request.id))
        }
        router.on(.post, "v1/receipts/notifications", acceptsOtherOrigins: true) { request, _ in try await notify(request) }
        router.on(.get, Self.ofAccount) { request, parameters in
            try await callers.require(request, .readAccounts)
            return Self.response(try await receipts.list(of: try await desk.find(parameters["account"])))
        }
        router.on(.post, Self.ofAccount) { request, parameters in
            let actor = try await callers.require(request, .changeHoldings)
            return try await take(request, for: try await desk.find(parameters["account"]), by: actor)
        }
        router.on(.delete, Self.ofAccount + "/{environment}/{original}") { request, parameters in
            let actor = try await callers.require(request, .changeHoldings)
            let account = try await desk.find(parameters["account"])
            guard let environment = StoreEnvironment(rawValue: parameters["environment"]) else {
                throw ServerError(.notFound, "the account has no such purchase")
            }
            try await receipts.release(environment, parameters["original"], of: account, by: actor)
            return .empty(.noContent)
        }
    }

    private func take(_ request: HTTPRequest, for account: Account, by actor: AuditActor) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: Self.bodyLimit)
        try object.allowOnly(["transactions"])
        guard let elements = object["transactions"]?.array else { throw ServerError(.invalid, "transactions is missing") }
        let texts = elements.compactMap(\.string)
        guard texts.count == elements.count else { throw ServerError(.invalid, "transactions must be a list of strings") }
        return Self.response(try await receipts.take(texts, for: account, by: actor))
    }

    /// The store tries again for days whenever the answer is not 2xx.
    private func notify(_ request: HTTPRequest) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 4 * JWS.maxByteCount)
        do {
            try await receipts.notify(try object.requiredString("signedPayload"), requestID: request.id)
        } catch let error as ReceiptError {
            throw HTTPError(.forbidden, .init(error.code), error.description)
        }
        return .empty(.noContent)
    }

    private static func response(_ outcomes: [Receipts.Outcome]) -> HTTPResponse {
        .json(["transactions": .array(outcomes.map(json))])
    }

    private static func json(_ outcome: Receipts.Outcome) -> JSON {
        switch outcome {
        case .refused(let error):
            return ["status": "refused", "code": .string(error.code.description), "detail": .string(error.description)]
        case .taken(let said, let grant):
            var (plan, product): (String?, String?) = (nil, nil)
            switch grant?.thing {
            case .plan(let name)?: plan = name
            case .product(let id)?: product = id
            case nil: break
            }
            return [
                "status": .string(said.revokedAt == nil ? "accepted" : "revoked"),
                "environment": .string(said.environment.rawValue), "transactionId": .string(said.transactionID),
                "originalTransactionId": .string(said.originalID), "storeProduct": .string(said.productID),
                "plan": .init(plan), "product": .init(product), "start": .string(said.purchasedAt.description),
                "end": .init(grant?.endsAt ?? said.revokedAt),
            ]
        }
    }
}
