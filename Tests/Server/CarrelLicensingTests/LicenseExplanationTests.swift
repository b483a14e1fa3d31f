// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelOrders
import CarrelRights
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases) struct `The explanation of a license` {
    /// The verdict, what each part says, and why.
    private func explain(_ license: String, _ shop: TitleTokenShop) async throws -> (
        verdict: String?, effects: [String: String], reasons: [String: String], json: JSON
    ) {
        let path = "/admin/v1/licenses/\(license)/explanation"
        let json = try await shop.test.call(.get, path, peer: .local(userID: 0)).json
        var (effects, reasons): ([String: String], [String: String]) = ([:], [:])
        for finding in json["findings"]?.array ?? [] {
            effects[finding["rule"]?.string ?? ""] = finding["effect"]?.string
            reasons[finding["rule"]?.string ?? ""] = finding["reason"]?.string
        }
        return (json["verdict"]?.string, effects, reasons, json)
    }

    private func suspend(_ account: String, _ isSuspended: Bool, _ shop: TitleTokenShop) async throws {
        let path = "/admin/v1/accounts/\(account)"
        let body: JSON = ["suspended": .bool(isSuspended)]
        #expect(try await shop.test.call(.patch, path, body: body, peer: .local(userID: 0)).status == 200)
    }

    @Test func `has a finding for each part of a live license, and the denials since its issue`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { $0["account"] = "alice" }
        var early = try await player.request(.renew, of: shop.test)
        (early.license, early.sequence) = ("none", 1)
        #expect(try await player.send(early, to: shop.test).problem == "license.unknown")
        shop.test.clock.advance(by: .seconds(120))
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        let before = try await explain(license.id, shop)
        #expect(before.verdict == "live" && before.effects.values.allSatisfy { $0 == "live" })
        #expect(before.effects.keys.sorted() == ["certificate", "license", "order", "player", "redemption"])
        #expect(before.reasons["redemption"]?.contains(token.id) == true)
        #expect(before.json["denials"]?.array?.isEmpty == true && before.json["license"]?["contentId"]?.string == shop.content)
        shop.test.clock.advance(by: .seconds(120))
        var request = try await player.request(.renew, of: shop.test)
        (request.license, request.sequence) = (license.id, 7)
        #expect(try await player.send(request, to: shop.test).problem == "license.sequence")
        let denials = try await explain(license.id, shop).json["denials"]?.array ?? []
        #expect(denials.map { $0["code"]?.string } == ["license.sequence"])
        let unknown = try await shop.test.call(.get, "/admin/v1/licenses/none/explanation", peer: .local(userID: 0))
        #expect(unknown.status == 404)
        let refused = try await shop.test.call(.get, "/admin/v1/licenses/\(license.id)/explanation")
        #expect(refused.status == 401)
    }

    @Test func `says who stopped the player, the account or the license`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        func redeem() async throws -> String {
            let token = try await shop.make { $0["account"] = "alice" }
            return try #require(try await shop.redeem(token.sealed, by: player).license).id
        }
        let first = try await redeem()
        _ = try await shop.test.service.players.change(player.id, .suspend, by: .operator)
        let suspended = try await explain(first, shop)
        #expect(suspended.verdict == "denied" && suspended.reasons["player"]?.hasSuffix("by staff") == true)
        #expect(suspended.effects["license"] == "live")
        _ = try await shop.test.service.players.change(player.id, .resume, by: .operator)
        let order = try #require(try await shop.orders().first?.order)
        try await suspend(order.accountID, true, shop)
        #expect(try await explain(first, shop).reasons["order"]?.hasSuffix("its account is suspended") == true)
        #expect(try await explain(first, shop).verdict == "denied")
        try await suspend(order.accountID, false, shop)
        #expect(try await explain(first, shop).verdict == "live")
        _ = try await shop.test.service.orders.revoke(order.id, by: .operator)
        let ended = try await explain(first, shop)
        #expect(ended.verdict == "ended" && ended.reasons["license"]?.hasPrefix("its order ended at ") == true)
        #expect(ended.effects["order"] == "ended" && ended.effects["revocation"] == "ended")
        let second = try await redeem()
        _ = try await shop.test.service.licenses.revoke(second, by: .operator)
        let revoked = try await explain(second, shop)
        #expect(revoked.verdict == "ended" && revoked.reasons["license"]?.hasPrefix("staff revoked it at ") == true)
        #expect(revoked.effects["revocation"] == "ended" && revoked.effects["order"] == "live")
        let third = try await redeem()
        _ = try await shop.test.service.players.change(player.id, .revoke, by: .operator)
        #expect(try await explain(third, shop).effects["player"] == "ended")
    }

    @Test func `knows the lease of a stream, and the end of time`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let stream = try #require(try await shop.redeem(try await shop.make().stream, by: player, as: .stream).license)
        #expect(try await explain(stream.id, shop).effects["lease"] == "live")
        shop.test.clock.advance(by: .seconds(400))
        let late = try await explain(stream.id, shop)
        #expect(late.verdict == "ended" && late.effects["lease"] == "ended" && late.effects["license"] == "live")
        let end = shop.test.clock.now.wholeSecond + .seconds(3600)
        let token = try await shop.make {
            ($0["rights"], $0["playDuration"]) = ("rental", 60)
            $0["periodEnd"] = .string(end.description)
        }
        let rental = try #require(try await shop.redeem(token.sealed, by: player).license)
        #expect(try await explain(rental.id, shop).reasons["license"]?.contains("60 seconds from the first play") == true)
        shop.test.clock.advance(by: .seconds(3601))
        let over = try await explain(rental.id, shop)
        #expect(over.verdict == "ended" && over.reasons["license"]?.hasPrefix("its time was over at ") == true)
        #expect(over.effects["order"] == "ended")
        shop.test.clock.advance(by: .seconds(90 * 86_400))
        #expect(try await explain(rental.id, shop).effects["certificate"] == "denied")
    }
}
