// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEditionDelivery
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import Testing

/// Purchases as the token of the five calls: whose they are, how many, and which of them is heard.
extension `Purchases in an app store` {
    private func ask(_ shop: Shop, _ token: String, _ product: String = "issue-1") async throws -> SubscriptionReply {
        try await shop.test.ask("edition_credentials", ["token": token, "product_id": product])
    }

    private func lapsed(_ shop: Shop) -> [String: JSON?] {
        let (start, end) = (Int((shop.now + .seconds(-60)).milliseconds), Int((shop.now + .seconds(-1)).milliseconds))
        return ["purchaseDate": .integer(start), "originalPurchaseDate": .integer(start), "expiresDate": .integer(end)]
    }

    @Test func `of which none grants a product are answered by the one that comes nearest, whatever their order`() async throws {
        let shop = try await Shop()
        let (lapsed, single) = (try await shop.month(lapsed(shop)), try await shop.single())
        for token in ["\(lapsed) \(single)", "\(single) \(lapsed)"] {
            #expect(try await ask(shop, token, "issue-2").xml.contains("status=\"expired\""))
        }
        _ = try await shop.bring([single], as: shop.bob)
        try await shop.test.service.desk.change(shop.bob.id, .init(isSuspended: true), by: .operator)
        for token in ["\(lapsed) \(single)", "\(single) \(lapsed)"] {
            #expect(try await ask(shop, token, "issue-2").xml.contains("status=\"suspended\""))
        }
    }

    @Test func `are twenty in one token at most`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        for (count, opens) in [(1, true), (20, true), (21, false)] {
            let token = Array(repeating: month, count: count).joined(separator: ",")
            let pair = try await shop.validate(token).pair
            #expect((pair != nil) == opens, "\(count)")
        }
        #expect(try await ask(shop, "\(month),rubbish").pair == nil, "nothing else is in it")
    }

    @Test func `that an account brought give credentials that end with the account's`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        let before = try #require(try await ask(shop, month).pair)
        _ = try await shop.bring([month], as: shop.alice)
        let pair = try #require(try await ask(shop, month).pair)
        shop.test.clock.advance(by: .seconds(2))
        try await shop.test.service.credentials.revoke(.account(shop.alice.id), by: .operator)
        shop.test.clock.advance(by: .seconds(2))
        #expect(await shop.test.opening(pair, "issue-1") != .opens)
        #expect(await shop.test.opening(before, "issue-1") == .opens, "nobody's then")
    }

    @Test func `of one account open a product as long as the last of them does`() async throws {
        let shop = try await Shop()
        let end = JSON.integer(Int((shop.now + .seconds(600)).milliseconds))
        let (month, single) = (try await shop.month(["expiresDate": end]), try await shop.single())
        _ = try await shop.bring([month, single], as: shop.alice)
        let (short, long) = (
            try #require(try await ask(shop, month).pair), try #require(try await ask(shop, "\(month),\(single)").pair)
        )
        shop.test.clock.advance(by: .seconds(660))
        #expect(await shop.test.opening(short, "issue-1") != .opens)
        #expect(await shop.test.opening(long, "issue-1") == .opens)
    }

    @Test func `are unknown without a meaning here, and known if refunded`() async throws {
        let shop = try await Shop()
        let time = JSON.integer(Int(shop.now.milliseconds))
        for (changes, answer, message) in [
            (["productId": "com.example.other", "type": "Consumable"], "notrecognised", "This purchase is not accepted here"),
            (["revocationDate": time], "notentitled", "You have no subscription"),
        ] as [([String: JSON?], String, String)] {
            let text = try await shop.month(changes)
            #expect(try await ask(shop, text).xml.contains("status=\"\(answer)\""))
            let standing = try await shop.test.ask("verify_subscription", ["token": text]).xml
            #expect(standing.contains("state=\"inactive\" message=\"\(message)\""), "\(standing)")
        }
    }

    @Test func `as the store said last are what counts, and not what was signed before`() async throws {
        let shop = try await Shop()
        let old = try await shop.month(lapsed(shop))
        shop.test.clock.advance(by: .seconds(1))
        #expect(try await shop.notify("DID_RENEW", try await shop.month()) == 204)
        _ = try await shop.bring([old], as: shop.alice)
        #expect(try await ask(shop, old).pair != nil)
    }

    @Test func `go to no other source, and another source's tokens not to the store's`() async throws {
        let upstream = ScriptedUpstream()
        let shop = try await Shop { $0.subscription.sources = [.upstream(upstream.settings), .accounts] }
        let month = try await shop.month()
        _ = upstream.calls()
        let refused = try await ask(shop, try await shop.single(), "issue-2")
        #expect(refused.xml.contains("status=\"notentitled\""))
        #expect(try await shop.test.ask("verify_subscription", ["token": month]).xml.contains("gold"))
        #expect(try await shop.test.ask("renew_token", ["token": month]).xml.contains("notrecognised"))
        #expect(try await shop.test.ask("sign_out", ["token": month]).status == 200)
        #expect(upstream.calls() == [])
        let theirs = try await shop.test.ask("verify_subscription", ["token": "T-reader"]).xml
        #expect(theirs.contains("state=\"active\" message=\"Gold\""), "\(theirs)")
        #expect(try await shop.test.ask("sign_out", ["token": "T-reader"]).status == 200)
        #expect(upstream.calls().contains("sign_out"))
    }
}
