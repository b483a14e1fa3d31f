// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelOrders
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTokens
import Testing

/// An account that listens in browsers, and streams with players.
private struct Household {
    let test: TestService
    let account: String
    let key: String
    let session: HTTPFields

    init(_ limit: Int, _ mode: Leases.Mode) async throws {
        test = try await TestService(.silence, with: [.licensing, .streaming]) {
            $0.stream.access = .session
            $0.stream.concurrency = limit
            $0.stream.mode = mode
        }
        let order = try await test.order()
        account = order.accountID
        let reader = try await test.service.accounts.findOrCreate(named: "alice")
        session = ["Authorization": "Bearer \(try await test.service.accounts.issueSession(for: reader))"]
        let list = try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8", headers: session)
        let text = String(decoding: list.body, as: UTF8.self)
        key = test.path(of: String(try #require(text.split(separator: "\"").first { $0.hasSuffix(".key") })))
    }

    /// The status of a key for the listener at an address.
    func listen(_ number: Int) async throws -> Int {
        let peer = Peer.network(address: "10.0.\(number / 256).\(number % 256)", port: 1)
        return try await test.send(.get, key, headers: session, peer: peer).status
    }

    /// A request for a stream with a token of the account.
    func request(of player: TestPlayer.Personalized) async throws -> KeyRequest {
        let account = account
        let token = try await `A token redeemed for a license`().token(test, kind: .ms3) { $0.account = account }
        return try await player.request(.stream, of: test, token: token)
    }

    func stream(_ player: TestPlayer.Personalized) async throws -> (license: License?, problem: String?) {
        try await player.send(try await request(of: player), to: test)
    }

    func renew(_ license: License, by player: TestPlayer.Personalized) async throws -> String? {
        var request = try await player.request(.renew, of: test)
        (request.license, request.sequence) = (license.id, license.sequence)
        return try await player.send(request, to: test).problem
    }

    /// The numbers of active streams, of licenses and of listeners.
    func streams() async throws -> (licenses: Int, listeners: Int) {
        let now = test.clock.now
        let rows = try await test.service.licenses.list(of: nil, after: nil, limit: 2000)
        return (rows.count { $0.endedAt == nil }, test.service.leases.count(at: now))
    }
}

@Suite(.onBothDatabases) struct `The limit of an account's streams` {
    @Test func `counts listeners and licenses together`() async throws {
        let home = try await Household(2, .blockNewDevice)
        let player = try await TestPlayer().personalized(by: home.test)
        #expect(try await home.listen(1) == 200)
        let license = try #require(try await home.stream(player).license)
        #expect(try await home.listen(2) == 403)
        #expect(try await home.stream(player).problem == "license.concurrency")
        #expect(try await home.listen(1) == 200, "a listener keeps its place")
        #expect(try await home.renew(license, by: player) == nil, "so does a license")
        var release = try await player.request(.release, of: home.test)
        (release.license, release.sequence) = (license.id, 2)
        #expect(try await player.send(release, to: home.test).problem == nil)
        #expect(try await home.listen(2) == 200, "the license gave its place back")
        #expect(try await home.stream(player).problem == "license.concurrency")
        home.test.clock.advance(by: Leases.life)
        #expect(try await home.stream(player).license != nil, "the leases of both listeners ended")
    }

    @Test func `ends the oldest stream truly where that is wanted, be it a listener's or a license`() async throws {
        let home = try await Household(2, .evictOldest)
        let player = try await TestPlayer().personalized(by: home.test)
        #expect(try await home.listen(1) == 200)
        home.test.clock.advance(by: .seconds(1))
        let first = try #require(try await home.stream(player).license)
        home.test.clock.advance(by: .seconds(1))
        let second = try #require(try await home.stream(player).license)
        #expect(try await home.listen(1) == 403, "the first listener lost its place")
        home.test.clock.advance(by: .seconds(1))
        #expect(try await home.listen(2) == 200)
        #expect(try await home.renew(first, by: player) == "license.ended")
        #expect(try await home.renew(second, by: player) == nil)
        #expect(try await home.listen(1) == 403)
        #expect(try await home.streams() == (1, 1))
        var filter = AuditFilter()
        filter.action = "license.evict"
        #expect(try await home.test.service.audit.list(filter).map(\.subject) == [first.id])
        home.test.clock.advance(by: Leases.life)
        #expect(try await home.listen(1) == 200, "it may listen again after two minutes")
    }

    @Test func `is none where streams are not counted`() async throws {
        let home = try await Household(1, .none)
        let player = try await TestPlayer().personalized(by: home.test)
        for number in 0..<5 { #expect(try await home.listen(number) == 200) }
        for _ in 0..<3 { #expect(try await home.stream(player).license != nil) }
    }

    @Test func `gives a listener its place back when the license that replaced it was not written`() async throws {
        let home = try await Household(1, .evictOldest)
        let player = try await TestPlayer().personalized(by: home.test)
        #expect(try await home.listen(1) == 200)
        let account = home.account
        // The key is looked for after the place was taken.
        let token = try await `A token redeemed for a license`().token(home.test, kind: .ms3) {
            $0.account = account
            $0.contents = [.init(contentID: "cid:film", keyID: KeyID(label: "unknown"))]
        }
        let request = try await player.request(.stream, of: home.test, token: token)
        #expect(try await player.send(request, to: home.test).problem == "license.key")
        #expect(try await home.listen(1) == 200)
        #expect(try await home.streams() == (0, 1))
    }

    @Test(arguments: [Leases.Mode.blockNewDevice, .evictOldest])
    func `gives the last place to one of a thousand clients`(_ mode: Leases.Mode) async throws {
        let home = try await Household(3, mode)
        var asking: [(player: TestPlayer.Personalized, request: KeyRequest)] = []
        // a network gets a nonce a second, and one lasts five minutes
        for _ in 0..<20 {
            home.test.clock.advance(by: .seconds(3))
            let player = try await TestPlayer().personalized(by: home.test)
            for _ in 0..<10 {
                home.test.clock.advance(by: .seconds(1))
                asking.append((player, try await home.request(of: player)))
            }
        }
        #expect(try await home.listen(2000) == 200)
        let first = asking.removeLast()
        #expect(try await first.player.send(first.request, to: home.test).license != nil)
        let (granted, problems) = try await withThrowingTaskGroup(of: (Bool, String).self) { [asking] group in
            for client in 0..<1000 {
                group.addTask {
                    guard client % 5 == 0, client / 5 < asking.count else {
                        let status = try await home.listen(client)
                        return (status == 200, "\(status)")
                    }
                    let (player, request) = asking[client / 5]
                    let (license, problem) = try await player.send(request, to: home.test)
                    return (license != nil, problem ?? "")
                }
            }
            return try await group.reduce(into: (0, Set<String>())) { sum, one in
                if one.0 { sum.0 += 1 } else { sum.1.insert(one.1) }
            }
        }
        let (licenses, listeners) = try await home.streams()
        #expect(licenses + listeners == 3)
        if mode == .blockNewDevice { #expect(granted == 1) } else { #expect(granted > 100) }
        #expect(problems.isSubset(of: ["403", "license.concurrency"]))
    }
}

/// Orders whose ids are enough to listen, and players that stream them.
private struct OpenShop {
    let shop: TitleTokenShop

    init(_ limit: Int, _ mode: Leases.Mode) async throws {
        shop = try await TitleTokenShop {
            $0.stream.access = .orderURL
            $0.stream.concurrency = limit
            $0.stream.mode = mode
        }
    }

    /// The path of an order's key.
    func key(of order: String) async throws -> String {
        let list = try await shop.test.send(.get, "/v1/stream/hls/\(order)/playlist.m3u8")
        let text = String(decoding: list.body, as: UTF8.self)
        return shop.test.path(of: String(try #require(text.split(separator: "\"").first { $0.hasSuffix(".key") })))
    }

    /// The status of a key for the listener at an address.
    func listen(_ number: Int, _ key: String) async throws -> Int {
        try await shop.test.send(.get, key, peer: .network(address: "10.0.0.\(number)", port: 1)).status
    }

    /// A token of alice for the title: each is for an order of its own.
    func token() async throws -> String {
        try await shop.make {
            $0["account"] = "alice"
            // any player may redeem it
            $0["redemptions"] = 20
        }.stream
    }
}

@Suite(.onBothDatabases) struct `The limit of an order's streams where its id is enough to listen` {
    @Test func `counts the listeners and the licenses of the order together, and no other's`() async throws {
        let open = try await OpenShop(2, .blockNewDevice)
        let (shop, player) = (open.shop, try await TestPlayer().personalized(by: open.shop.test))
        let token = try await open.token()
        let license = try #require(try await shop.redeem(token, by: player, as: .stream).license)
        let order = try #require(try await shop.orders().first?.order)
        let key = try await open.key(of: order.id)
        #expect(try await open.listen(1, key) == 200)
        #expect(try await open.listen(2, key) == 403)
        #expect(try await shop.test.service.leases.usage(of: order.id, at: shop.test.clock.now).held == 2)
        let second = try await TestPlayer().personalized(by: shop.test)
        #expect(try await shop.redeem(token, by: second, as: .stream).problem == "license.concurrency")
        #expect(try await shop.renew(license, by: player) == nil, "a license keeps its place")
        // the same account's next order has places of its own
        let other = try await open.token()
        for player in [player, second] { #expect(try await shop.redeem(other, by: player, as: .stream).license != nil) }
        let third = try await TestPlayer().personalized(by: shop.test)
        #expect(try await shop.redeem(other, by: third, as: .stream).problem == "license.concurrency")
        #expect(try await open.listen(1, key) == 200)
        var release = try await player.request(.release, of: shop.test)
        (release.license, release.sequence) = (license.id, 2)
        #expect(try await player.send(release, to: shop.test).problem == nil)
        #expect(try await open.listen(2, key) == 200, "the license gave its place back")
        #expect(try await shop.redeem(token, by: second, as: .stream).problem == "license.concurrency")
    }

    @Test func `ends the oldest of the order where that is wanted`() async throws {
        let open = try await OpenShop(2, .evictOldest)
        let (shop, player) = (open.shop, try await TestPlayer().personalized(by: open.shop.test))
        let (token, other) = (try await open.token(), try await open.token())
        let bystander = try #require(try await shop.redeem(other, by: player, as: .stream).license)
        shop.test.clock.advance(by: .seconds(1))
        let license = try #require(try await shop.redeem(token, by: player, as: .stream).license)
        let newest = try await shop.orders().max { $0.order.createdAt < $1.order.createdAt }
        let key = try await open.key(of: try #require(newest?.order.id))
        for number in 1...2 {
            shop.test.clock.advance(by: .seconds(1))
            #expect(try await open.listen(number, key) == 200)
        }
        #expect(try await shop.renew(license, by: player) == "license.ended")
        #expect(try await shop.renew(bystander, by: player) == nil, "of another order")
        shop.test.clock.advance(by: .seconds(1))
        let second = try await TestPlayer().personalized(by: shop.test)
        #expect(try await shop.redeem(token, by: second, as: .stream).license != nil)
        #expect(try await open.listen(1, key) == 403, "the first listener lost its place to a license")
        #expect(try await open.listen(2, key) == 200)
    }

    @Test func `is the account's or the player's for content without an order`() async throws {
        let open = try await OpenShop(1, .blockNewDevice)
        let (shop, player) = (open.shop, try await TestPlayer().personalized(by: open.shop.test))
        #expect(try await shop.redeem(try await open.token(), by: player, as: .stream).license != nil)
        func token() async throws -> String { try await `A token redeemed for a license`().token(shop.test, kind: .ms3) }
        #expect(try await shop.redeem(try await token(), by: player, as: .stream).license != nil)
        #expect(try await shop.redeem(try await token(), by: player, as: .stream).problem == "license.concurrency")
    }
}
