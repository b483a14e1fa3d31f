// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelOrders
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

/// A service with a title, and tokens for it.
struct TitleTokenShop {
    let test: TestService

    init(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws {
        test = try await TestService(.silence, with: [.licensing, .streaming, .administration]) {
            $0.stream.publicURL = "https://books.example.org"
            configure(&$0)
        }
    }

    var content: String { "urn:carrel:title:\(test.title.id)" }

    /// A token in its three forms, asked for as staff do.
    struct Made {
        let id: String
        let stream: String
        let sealed: String
        let message: String
        let json: JSON
    }

    func make(_ change: (inout JSONObject) -> Void = { _ in }) async throws -> Made {
        let answer = try await ask(change)
        guard answer.status == 200 else { throw ServerTestProblem(text: "\(answer)") }
        let xml = Array((answer.json["bb"]?.string ?? "").utf8)
        let action = try ActionToken(parsing: xml.rawSpan)
        let url = try CompoundURL(parsing: answer.json["ms3"]?.string ?? "")
        return Made(
            id: answer.json["id"]?.string ?? "",
            stream: url.token,
            sealed: Base64URL.encode(action.businessToken),
            message: answer.json["jwt"]?.string ?? "",
            json: answer.json
        )
    }

    func ask(_ change: (inout JSONObject) -> Void = { _ in }) async throws -> (status: Int, json: JSON) {
        var body: JSONObject = ["title": .string(test.title.id)]
        change(&body)
        return try await test.call(.post, "/admin/v1/tokens", body: .object(body), peer: .local(userID: 0))
    }

    struct ServerTestProblem: Error {
        let text: String
    }

    /// Redeems a token.
    func redeem(
        _ token: String,
        by player: TestPlayer.Personalized,
        as session: KeyRequest.Session = .persist
    ) async throws -> (license: License?, problem: String?) {
        try await player.send(try await player.request(session, of: test, token: token), to: test)
    }

    func renew(_ license: License, by player: TestPlayer.Personalized) async throws -> String? {
        var request = try await player.request(.renew, of: test)
        (request.license, request.sequence) = (license.id, license.sequence)
        return try await player.send(request, to: test).problem
    }

    func orders() async throws -> [(order: Order, account: String)] { try await test.service.orders.list(.init()) }

    /// Checks that the one key of a license is the one of an order.
    func expectKey(
        of license: License,
        _ order: Order,
        by player: TestPlayer.Personalized,
        at place: SourceLocation = #_sourceLocation
    ) async throws {
        let digest = KeyID(label: "carrel content key\n\(order.id)")
        #expect(license.keys.map(\.id) == [digest] && digest.uuid != order.id, sourceLocation: place)
        let agreement = player.player.agreement
        let key = try await license.open(digest) { agreement.sharedSecret(with: $0) }
        #expect(try await test.service.orders.grant(order.id)?.key == key, sourceLocation: place)
    }
}

@Suite(.onBothDatabases) struct `A license for a title` {
    @Test func `goes to the one player of its token, in each form`() async throws {
        let shop = try await TitleTokenShop()
        let (reader, other) = (
            try await TestPlayer().personalized(by: shop.test), try await TestPlayer().personalized(by: shop.test)
        )
        let id = reader.id
        let token = try await shop.make { $0["player"] = .string(id) }
        let forms: [(String, KeyRequest.Session)] = [
            (token.sealed, .persist), (token.message, .persist), (token.stream, .stream),
        ]
        for (form, session) in forms {
            #expect(try await shop.redeem(form, by: other, as: session).problem == "license.token-device")
        }
        for (form, session) in forms { #expect(try await shop.redeem(form, by: reader, as: session).license != nil) }
        #expect(try await shop.ask { $0["player"] = "nobody" }.status == 404)
    }

    @Test func `places the order of its token, whose key it has`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { $0["account"] = "alice" }
        #expect(try await shop.orders().isEmpty)
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        #expect(license.contentID == shop.content && license.terms.isStorable && license.terms.notAfter == nil)
        let placed = try #require(try await shop.orders().first)
        #expect(placed.account == "alice" && placed.order.number == token.id && placed.order.titleID == shop.test.title.id)
        #expect(placed.order.kind == .sale && placed.order.state == .active)
        try await shop.expectKey(of: license, placed.order, by: player)
        // a repeat, and the same grant as a message, are the same license and order
        #expect(try await shop.redeem(token.sealed, by: player).license?.id == license.id)
        #expect(try await shop.redeem(token.message, by: player).license?.id == license.id)
        #expect(try await shop.orders().count == 1)
    }

    @Test func `is for the player's account, or for one of the player's own`() async throws {
        let shop = try await TitleTokenShop()
        let bob = try await shop.test.service.accounts.findOrCreate(named: "bob")
        let session = try await shop.test.service.accounts.issueSession(for: bob)
        let linked = try await TestPlayer().personalized(by: shop.test, token: session)
        let alone = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { $0["redemptions"] = 3 }
        let first = try #require(try await shop.redeem(token.sealed, by: linked).license)
        let second = try #require(try await shop.redeem(token.sealed, by: alone).license)
        let orders = try await shop.orders()
        #expect(Set(orders.map(\.account)) == ["bob", "player-\(alone.id)"])
        for (license, player) in [(first, linked), (second, alone)] {
            let own = try #require(orders.first { $0.account == (player.id == alone.id ? "player-\(alone.id)" : "bob") })
            try await shop.expectKey(of: license, own.order, by: player)
        }
        // another player of the same account finds the account's order
        let third = try await TestPlayer().personalized(by: shop.test, token: session)
        let again = try #require(try await shop.redeem(token.sealed, by: third).license)
        #expect(again.keys.map(\.id) == first.keys.map(\.id) && again.id != first.id)
        #expect(try await shop.orders().count == 2)
        // the player's own account has what it holds in its personal data, and is erased like any other
        let own = try #require(try await shop.test.service.accounts.find(named: "player-\(alone.id)"))
        let path = "/admin/v1/accounts/\(own.id)/export"
        let data = try await shop.test.send(.get, path, peer: .local(userID: 0))
        let text = String(decoding: data.body, as: UTF8.self)
        #expect(data.status == 200 && text.contains(second.id) && text.contains(token.id))
    }

    @Test func `has one order for eight players that redeem at the same time`() async throws {
        let shop = try await TitleTokenShop()
        let token = try await shop.make { ($0["account"], $0["redemptions"]) = ("alice", 8) }
        var players: [TestPlayer.Personalized] = []
        for _ in 0..<8 { players.append(try await TestPlayer().personalized(by: shop.test)) }
        let keys = try await withThrowingTaskGroup(of: [KeyID]?.self) { group in
            for player in players {
                let request = try await player.request(.persist, of: shop.test, token: token.sealed)
                group.addTask { try await player.send(request, to: shop.test).license?.keys.map(\.id) }
            }
            return try await group.reduce(into: Set<[KeyID]>()) { if let keys = $1 { $0.insert(keys) } }
        }
        #expect(keys.count == 1)
        #expect(try await shop.orders().count == 1)
        #expect(try await shop.test.service.licenses.list(of: nil, after: nil, limit: 20).count == 8)
        let ninth = try await TestPlayer().personalized(by: shop.test)
        #expect(try await shop.redeem(token.message, by: ninth).problem == "license.token-used")
    }

    @Test func `as a stream is a redemption of its own, of the same order`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let other = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { $0["account"] = "alice" }
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        let stream = try #require(try await shop.redeem(token.stream, by: player, as: .stream).license)
        #expect(stream.id != license.id && stream.keys.map(\.id) == license.keys.map(\.id) && !stream.terms.isStorable)
        #expect(try await shop.redeem(token.stream, by: player).problem == "license.not-storable")
        #expect(try await shop.redeem(token.stream, by: player, as: .stream).license?.id == stream.id)
        #expect(try await shop.redeem(token.stream, by: other, as: .stream).problem == "license.token-used")
        #expect(try await shop.redeem(token.sealed, by: player, as: .stream).problem == "license.token-used")
        #expect(try await shop.orders().count == 1)
    }

    @Test func `ends with its order, and players learn of it with the list`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let other = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { ($0["account"], $0["redemptions"]) = ("alice", 2) }
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        let stream = try #require(try await shop.redeem(token.stream, by: player, as: .stream).license)
        #expect(try await shop.renew(license, by: player) == nil)
        let order = try #require(try await shop.orders().first?.order)
        _ = try await shop.test.service.orders.revoke(order.id)
        #expect(try await shop.renew(license, by: player) == "license.ended")
        #expect(try await shop.renew(stream, by: player) == "license.ended")
        #expect(try await shop.redeem(token.sealed, by: player).problem == "license.ended")
        #expect(try await shop.redeem(token.sealed, by: other).problem == "license.ended")
        let list = try Revocations(try await shop.test.service.authority.revocations(), keys: player.keys)
        #expect(list.licenses == [license.id])
        let row = try #require(try await shop.test.service.licenses.list(of: player.id, after: nil, limit: 10).first)
        #expect(row.endedBy == "order", "the stream too, which is not in the list: nothing keeps it")
        #expect(try await shop.orders().count == 1, "a revoked order is not placed again")
    }

    @Test func `stops with its account, and goes with it`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { $0["account"] = "alice" }
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        let alice = try #require(try await shop.test.service.accounts.find(named: "alice"))
        func suspend(_ isSuspended: Bool) async throws -> Int {
            let body: JSON = ["suspended": .bool(isSuspended)]
            let path = "/admin/v1/accounts/\(alice.id)"
            return try await shop.test.send(.patch, path, body: body, peer: .local(userID: 0)).status
        }
        #expect(try await suspend(true) == 200)
        #expect(try await shop.renew(license, by: player) == "personalization.suspended")
        #expect(try await shop.redeem(token.sealed, by: player).problem == "personalization.suspended")
        #expect(try await suspend(false) == 200)
        #expect(try await shop.renew(license, by: player) == nil)
        _ = try await shop.test.send(
            .post,
            "/admin/v1/accounts/\(alice.id)/erase",
            body: ["name": "alice"],
            peer: .local(userID: 0)
        )
        #expect(try await shop.renew(license, by: player) == "personalization.revoked")
        let list = try Revocations(try await shop.test.service.authority.revocations(), keys: player.keys)
        #expect(list.players == [player.id])
        let late = try await shop.redeem(token.sealed, by: player)
        #expect(late.license == nil && late.problem == "personalization.revoked")
    }

    @Test(arguments: [false, true])
    func `of a rental ends with it, as a stream after its time of play too`(isMessage: Bool) async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let end = shop.test.clock.now + .seconds(1000)
        let token = try await shop.make {
            $0["rights"] = "rental"
            ($0["periodEnd"], $0["playDuration"]) = (.string(end.description), 400)
        }
        let license = try #require(try await shop.redeem(isMessage ? token.message : token.sealed, by: player).license)
        #expect(license.terms.notAfter == end && license.terms.playbackSeconds == 400 && license.terms.isStorable)
        let order = try #require(try await shop.orders().first?.order)
        #expect(order.kind == .loan && order.endsAt == end && order.state == .ready)
        let stream = try #require(try await shop.redeem(token.stream, by: player, as: .stream).license)
        #expect(try await shop.orders().first?.order.endsAt == shop.test.clock.now + .seconds(400), "its time of play began")
        #expect(stream.terms.notAfter == shop.test.clock.now + .seconds(400) && stream.terms.playbackSeconds == nil)
        shop.test.clock.advance(by: .seconds(300))
        #expect(try await shop.renew(stream, by: player) == nil)
        shop.test.clock.advance(by: .seconds(100))
        #expect(try await shop.renew(stream, by: player) == "license.ended")
        #expect(try await shop.redeem(token.stream, by: player, as: .stream).problem == "license.ended")
        #expect(try await shop.renew(license, by: player) == "license.ended", "one rental has one time of play")
        #expect(try await shop.redeem(token.sealed, by: player).problem == "license.ended")
    }

    @Test(arguments: ["shelf", "plays"])
    func `of a rental ends the order after its time of play, from its first use on`(use: String) async throws {
        let shop = try await TitleTokenShop()
        let test = shop.test
        let player = try await TestPlayer().personalized(by: test)
        let end = test.clock.now + .seconds(30 * 86_400)
        let token = try await shop.make {
            ($0["rights"], $0["account"]) = ("rental", "alice")
            ($0["periodEnd"], $0["playDuration"]) = (.string(end.description), 400)
        }
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        let order = try #require(try await shop.orders().first?.order)
        test.clock.advance(by: .seconds(86_400))
        if use == "shelf" {
            let key = try await test.playlist(order).key
            let address = key.hasPrefix("https://") ? String(key.dropFirst("https://books.example.org".count)) : key
            let path = address.hasPrefix("/") ? address : "/v1/stream/hls/\(order.id)/\(address)"
            #expect(try await test.send(.get, path).status == 200)
        } else {
            var renewal = try await player.request(.renew, of: test)
            (renewal.license, renewal.sequence, renewal.plays) = (license.id, license.sequence, 1)
            #expect(try await player.send(renewal, to: test).problem == nil)
        }
        #expect(try await shop.orders().first?.order.endsAt == test.clock.now + .seconds(400))
        test.clock.advance(by: .seconds(399))
        #expect(try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8").status == 200)
        test.clock.advance(by: .seconds(2))
        #expect(try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8").status != 200)
        #expect(try await shop.renew(license, by: player) == "license.ended")
    }

    @Test(arguments: [(1, 1), (2, 2)])
    func `has as many owners as its token allows, over all forms`(redemptions: Int, owners: Int) async throws {
        let shop = try await TitleTokenShop()
        let token = try await shop.make { $0["redemptions"] = .integer(redemptions) }
        var problems: [String?] = []
        let forms = [(token.sealed, KeyRequest.Session.persist), (token.stream, .stream), (token.message, .persist)]
        for (number, (text, session)) in forms.enumerated() {
            let account = try await shop.test.service.accounts.findOrCreate(named: "reader \(number)")
            let bearer = try await shop.test.service.accounts.issueSession(for: account)
            let player = try await TestPlayer().personalized(by: shop.test, token: bearer)
            problems.append(try await shop.redeem(text, by: player, as: session).problem)
        }
        #expect(problems == (0..<3).map { $0 < owners ? nil : "license.token-used" })
        #expect(try await shop.orders().count == owners)
    }

    @Test func `has one order for both forms, though its device was linked in between`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make()
        #expect(try await shop.redeem(token.sealed, by: player).license != nil)
        _ = try await `A registration`().send(try await `A registration`().token(shop.test), by: player, to: shop.test)
        #expect(try await shop.redeem(token.stream, by: player, as: .stream).license != nil)
        #expect(try await shop.orders().count == 1)
    }

    @Test func `that is not an audiobook has the key of the key store, and no order`() async throws {
        let shop = try await TitleTokenShop()
        let edition = try await shop.test.ingest(EditionFiles.folder(shop.test.directory), "issue-1").edition
        let id = edition.title.id
        let player = try await TestPlayer().personalized(by: shop.test)
        let refused = try await shop.ask { $0["title"] = .string(id) }
        let kid = KeyID(label: "urn:carrel:title:\(id)")
        #expect(refused.status == 404 && refused.json["code"] == "license.title")
        #expect(refused.json["detail"]?.string?.contains(kid.hex) == true, "the refusal names the key's id")
        let key: JSON = ["key": "000102030405060708090a0b0c0d0e0f"]
        _ = try await shop.test.send(.put, "/admin/v1/content-keys/\(kid.hex)", body: key, peer: .local(userID: 0))
        let token = try await shop.make { $0["title"] = .string(id) }
        let license = try #require(try await shop.redeem(token.message, by: player).license)
        let agreement = player.player.agreement
        #expect(try await license.open(kid) { agreement.sharedSecret(with: $0) } == Secret(Array(0..<16)))
        #expect(license.contentID == "urn:carrel:title:\(id)")
        #expect(try await shop.orders().isEmpty)
        // with an account, it is among that account's licenses
        let alice = try await shop.test.service.accounts.findOrCreate(named: "alice")
        let bearer: HTTPFields = ["Authorization": "Bearer \(try await shop.test.service.accounts.issueSession(for: alice))"]
        let given = try await shop.make { ($0["title"], $0["account"]) = (.string(id), "alice") }
        let own = try #require(try await shop.redeem(given.message, by: player).license)
        let listed = try await shop.test.call(.get, "/v1/licenses", headers: bearer).json["licenses"]?.array ?? []
        #expect(listed.compactMap { $0["id"]?.string } == [own.id])
    }

    @Test func `is not issued for other content, without a title or for a grant of another service`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make()
        var other = try await player.request(.persist, of: shop.test, token: token.sealed)
        other.contentID = "urn:carrel:title:another"
        #expect(try await player.send(other, to: shop.test).problem == "license.content")
        var rules = BusinessRules(kind: .license, expiresAt: shop.test.clock.now + .seconds(60))
        (rules.title, rules.rights, rules.isStorable) = ("nothing", .buyToOwn, true)
        let gone = try await shop.test.service.businessTokens.seal(rules, at: shop.test.clock.now).text
        #expect(try await shop.redeem(gone, by: player).problem == "license.title")
        rules.title = shop.test.title.id
        rules.account = "no such account"
        rules.id = Random.bytes(16)
        let orphan = try await shop.test.service.businessTokens.seal(rules, at: shop.test.clock.now).text
        #expect(try await shop.redeem(orphan, by: player).problem == "license.account")
        let elsewhere = try await TitleTokenShop()
        let foreign = try await elsewhere.make()
        for text in [foreign.sealed, foreign.message, foreign.stream] {
            #expect(try await shop.redeem(text, by: player).problem == "license.token")
        }
        #expect(try await shop.orders().isEmpty)
    }
}

@Suite(.onBothDatabases) struct `A token for a title` {
    @Test func `has three forms, and says why there is none for a stream`() async throws {
        let shop = try await TitleTokenShop()
        let token = try await shop.make { $0["expiresIn"] = 3600 }
        let url = try CompoundURL(parsing: token.json["ms3"]?.string ?? "")
        #expect(url.rightsURL.hasPrefix("https://books.example.org/hms/ms3/rights/?b="))
        #expect(url.contentURL == "https://books.example.org/v1/shelf")
        #expect(token.json["ms3Problem"] == nil && token.json["expiresAt"]?.string == "\(shop.test.clock.now + .seconds(3600))")
        let chosen = try await shop.make { $0["contentURL"] = "hls://cdn.example.org/a.m3u8" }
        #expect(try CompoundURL(parsing: chosen.json["ms3"]?.string ?? "").contentURL == "hls://cdn.example.org/a.m3u8")
        let plain = try await TestService(.silence, with: [.licensing, .streaming, .administration])
        let body: JSON = ["title": .string(plain.title.id), "serviceURL": "http://127.0.0.1:8080"]
        let answer = try await plain.call(.post, "/admin/v1/tokens", body: body, peer: .local(userID: 0)).json
        #expect(answer["ms3"] == .null && answer["ms3Problem"]?.string?.contains("rights.port") == true)
        #expect(answer["bb"]?.string?.contains("http://127.0.0.1:8080/hms/bb/configuration") == true)
    }

    @Test(
        arguments: [
            (["title": "nothing"], 404), (["title": .null], 400), (["rights": "loan"], 400), (["rights": "rental"], 400),
            (["playDuration": 60], 400), (["redemptions": 0], 400), (["redemptions": 1_000_001], 400),
            (["redemptions": "1"], 400),
            (["expiresIn": 0], 400), (["expiresIn": 315_360_001], 400), (["account": ""], 400), (["account": "a\nb"], 400),
            (["contentURL": "file:///etc/passwd"], 200), (["serviceURL": "http://books.example.org"], 400),
            (["serviceURL": "none"], 400), (["extra": 1], 400),
            (["rights": "rental", "playDuration": 60, "periodEnd": "2001-01-01T00:00:00Z"], 400),
            (["rights": "rental", "playDuration": 0, "periodEnd": "2027-06-01T00:00:00Z"], 400),
            (["rights": "rental", "playDuration": 60, "periodEnd": "2127-06-01T00:00:00Z"], 400),
            (["rights": "rental", "playDuration": 60, "periodEnd": "tomorrow"], 400),
        ] as [(JSONObject, Int)]
    )
    func `is made of values in their bounds only`(change: JSONObject, status: Int) async throws {
        let shop = try await TitleTokenShop()
        let answer = try await shop.ask { body in for (name, value) in change { body[name] = value } }
        #expect(answer.status == status, "\(change): \(answer)")
        if status == 200 { #expect(answer.json["ms3"] == .null && answer.json["ms3Problem"]?.string != nil) }
    }

    @Test func `is made by those who may issue tokens, and recorded`() async throws {
        let shop = try await TitleTokenShop()
        let body: JSON = ["title": .string(shop.test.title.id)]
        #expect(try await shop.test.send(.post, "/admin/v1/tokens", body: body).status == 401)
        let token = try await shop.make()
        var filter = AuditFilter()
        filter.action = "token.issue"
        let entries = try await shop.test.service.audit.list(filter)
        #expect(entries.map(\.subject) == [token.id] && entries.map(\.reason) == [shop.test.title.id])
    }
}
