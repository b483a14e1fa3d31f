// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Testing

@Suite(.onBothDatabases)
struct `A plan or product that is granted twice` {
    private let day = Duration.seconds(24 * 3600)

    private struct Shop {
        let test: TestService
        let alice: Account

        func post(_ what: String, _ body: JSON, to account: Account? = nil) async throws -> (status: Int, json: JSON) {
            let path = "/admin/v1/accounts/\((account ?? alice).id)/\(what)"
            return try await test.call(.post, path, body: body, peer: .local(userID: 0))
        }

        func held() async throws -> Entitlement { try await test.service.subscriptions.entitlement(of: alice) }

        func entries(_ action: String) async throws -> Int {
            var filter = AuditFilter()
            filter.action = action
            return try await test.service.audit.list(filter).count
        }

        func after(_ days: Int) -> JSON { .string((test.clock.now + .seconds(days * 24 * 3600)).description) }
    }

    private func shop() async throws -> Shop {
        let test = try await TestService(with: .administration)
        for name in ["gold", "silver"] {
            try await test.service.subscriptions.createPlan(Plan(name: name, scope: .everything), by: .operator)
        }
        return Shop(test: test, alice: try await test.service.desk.create("alice", by: .operator))
    }

    @Test func `returns the subscription of the first request with the same number`() async throws {
        let shop = try await shop()
        for end in [JSON.null, shop.after(30)] {
            let number = JSON.string(end == .null ? "1" : "2")
            let body: JSON = ["plan": "gold", "end": end, "number": number]
            let first = try await shop.post("subscriptions", body)
            #expect(first.status == 201)
            shop.test.clock.advance(by: .seconds(5))
            let second = try await shop.post("subscriptions", body)
            #expect(second.status == 200)
            #expect(second.json == first.json)
        }
        #expect(try await shop.held().subscriptions.count == 2)
        #expect(try await shop.entries("subscription.create") == 2)
    }

    /// The sign of Kelvin is canonically equivalent to the letter.
    @Test func `is another plan where its name has other bytes, however alike they look`() async throws {
        let shop = try await shop()
        try await shop.test.service.subscriptions.createPlan(Plan(name: "Kids", scope: .everything), by: .operator)
        let end = shop.after(30)
        #expect(try await shop.post("subscriptions", ["plan": "Kids", "end": end, "number": "7"]).status == 201)
        #expect(try await shop.post("subscriptions", ["plan": "Kids", "end": end, "number": "7"]).status == 200)
        #expect(try await shop.post("subscriptions", ["plan": "\u{212a}ids", "end": end, "number": "7"]).status == 409)
        #expect(try await shop.post("subscriptions", ["plan": "\u{212a}ids", "end": end]).status == 400, "there is no such plan")
    }

    @Test func `returns the purchase of the first request with the same number`() async throws {
        let shop = try await shop()
        let body: JSON = ["product": "issue-1", "kind": "gift", "number": "A 1"]
        let first = try await shop.post("purchases", body)
        let second = try await shop.post("purchases", body)
        #expect((first.status, second.status) == (201, 200))
        #expect(second.json == first.json)
        #expect(try await shop.held().purchases.count == 1)
        #expect(try await shop.entries("purchase.create") == 1)
    }

    @Test func `is recognized by its number after it was ended or revoked`() async throws {
        let shop = try await shop()
        let body: JSON = ["plan": "gold", "start": shop.after(0), "end": shop.after(30), "number": "1"]
        let id = try #require(try await shop.post("subscriptions", body).json["id"]?.string)
        shop.test.clock.advance(by: day)
        try await shop.test.service.subscriptions.end(id, by: .operator)
        let ended = try await shop.post("subscriptions", body)
        #expect((ended.status, ended.json["id"]?.string) == (200, id))
        #expect(ended.json["end"]?.string == shop.test.clock.now.description)
        try await shop.test.service.subscriptions.revoke(id, by: .operator)
        #expect(try await shop.post("subscriptions", body).json["id"]?.string == id)
        let gift: JSON = ["product": "issue-1", "number": "1"]
        let purchase = try #require(try await shop.post("purchases", gift).json["id"]?.string)
        try await shop.test.service.subscriptions.endPurchase(purchase, by: .operator)
        #expect(try await shop.post("purchases", gift).json["id"]?.string == purchase)
        #expect(try await shop.held().subscriptions.count == 1)
        #expect(try await shop.held().purchases.count == 1)
    }

    @Test func `is refused when the number belongs to another request`() async throws {
        let shop = try await shop()
        let body: JSON = ["plan": "gold", "end": shop.after(30), "number": "1"]
        let id = try await shop.post("subscriptions", body).json["id"]
        let others: [JSON] = [
            ["plan": "silver", "end": shop.after(30), "number": "1"], ["plan": "gold", "number": "1"],
            ["plan": "gold", "end": shop.after(31), "number": "1"],
            ["plan": "gold", "start": shop.after(0), "end": shop.after(30), "number": "1"],
        ]
        for other in others {
            let answer = try await shop.post("subscriptions", other)
            #expect(answer.status == 409)
            #expect(answer.json["code"] == "request.conflict" && answer.json["id"] == id)
        }
        let purchase = try await shop.post("purchases", ["product": "issue-1", "number": "1"]).json["id"]
        let otherPurchases: [JSON] = [
            ["product": "issue-2", "number": "1"], ["product": "issue-1", "kind": "gift", "number": "1"],
            ["product": "issue-1", "end": shop.after(1), "number": "1"],
        ]
        for other in otherPurchases {
            let answer = try await shop.post("purchases", other)
            #expect(answer.status == 409 && answer.json["id"] == purchase)
        }
    }

    @Test func `has numbers of its own for each account`() async throws {
        let shop = try await shop()
        let bob = try await shop.test.service.desk.create("bob", by: .operator)
        for account in [shop.alice, bob] {
            #expect(try await shop.post("subscriptions", ["plan": "gold", "number": "1"], to: account).status == 201)
            #expect(try await shop.post("purchases", ["product": "issue-1", "number": "1"], to: account).status == 201)
        }
    }

    @Test func `without a number is refused with the id of what runs, and renewed with another end`() async throws {
        let shop = try await shop()
        let first = try await shop.post("subscriptions", ["plan": "gold", "end": shop.after(30)])
        shop.test.clock.advance(by: .seconds(5))
        let end = first.json["end"] ?? .null
        let again = try await shop.post("subscriptions", ["plan": "gold", "end": end])
        #expect(again.status == 409 && again.json["id"] == first.json["id"])
        #expect(again.json["detail"]?.string?.contains(first.json["id"]?.string ?? "?") == true)
        #expect(try await shop.held().subscriptions.count == 1)
        #expect(try await shop.post("subscriptions", ["plan": "gold", "end": shop.after(60)]).status == 201)
        #expect(try await shop.post("subscriptions", ["plan": "silver", "end": end]).status == 201)
        #expect(try await shop.post("subscriptions", ["plan": "gold", "end": end, "number": "1"]).status == 201)
        let product = try await shop.post("purchases", ["product": "issue-1"])
        let repeated = try await shop.post("purchases", ["product": "issue-1"])
        #expect(repeated.status == 409 && repeated.json["id"] == product.json["id"])
        #expect(try await shop.post("purchases", ["product": "issue-1", "end": shop.after(9)]).status == 201)
        #expect(try await shop.held().purchases.count == 2)
    }

    @Test func `does not repeat ended, revoked or later grants`() async throws {
        let shop = try await shop()
        for ending in ["end", "revoke"] {
            let id = try #require(try await shop.post("subscriptions", ["plan": "gold"]).json["id"]?.string)
            let path = "/admin/v1/subscriptions/\(id)/\(ending)"
            #expect(try await shop.test.call(.post, path, body: [:], peer: .local(userID: 0)).status == 204)
        }
        let later = try await shop.post("subscriptions", ["plan": "gold", "start": shop.after(30)])
        #expect(later.status == 201)
        let repeated = try await shop.post("subscriptions", ["plan": "gold", "start": later.json["start"] ?? .null])
        #expect(repeated.status == 409 && repeated.json["id"] == later.json["id"])
        #expect(try await shop.post("subscriptions", ["plan": "gold"]).status == 201)
        let purchase = try #require(try await shop.post("purchases", ["product": "issue-1"]).json["id"]?.string)
        try await shop.test.service.subscriptions.endPurchase(purchase, by: .operator)
        #expect(try await shop.post("purchases", ["product": "issue-1"]).status == 201)
    }

    @Test func `is made once when its requests come side by side`() async throws {
        let shop = try await shop()
        for body: JSON in [["plan": "gold"], ["plan": "gold", "number": "1"]] {
            let answers = try await withThrowingTaskGroup(of: (status: Int, json: JSON).self) { group in
                for _ in 0..<6 { group.addTask { try await shop.post("subscriptions", body) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0.status == 201 } == 1)
            #expect(Set(answers.compactMap { $0.json["id"]?.string }).count == 1)
        }
        #expect(try await shop.held().subscriptions.count == 2)
    }

    @Test func `has a number of 1 to 128 bytes`() async throws {
        let shop = try await shop()
        for number in ["", String(repeating: "x", count: 129)] {
            #expect(try await shop.post("subscriptions", ["plan": "gold", "number": .string(number)]).status == 400)
            #expect(try await shop.post("purchases", ["product": "a", "number": .string(number)]).status == 400)
        }
        let held = try await shop.held()
        #expect(held.subscriptions.isEmpty && held.purchases.isEmpty)
    }
}
