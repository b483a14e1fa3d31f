// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEditionDelivery
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import Testing

@Suite(.onBothDatabases)
struct `A suspended account` {
    private let staff = AuditActor("operator")

    @Test func `stops immediately, and continues from its position when the account is active again`() async throws {
        let test = try await TestService(.silence)
        let (order, bobs) = (try await test.order(), try await test.order(.init(account: "bob", titleID: test.title.id)))
        let (playlist, other) = (try await test.playlist(order), try await test.playlist(bobs))
        let paths = [playlist.segments[2], test.path(of: playlist.key), "/v1/stream/hls/\(order.id)/playlist.m3u8"]
        for path in paths { #expect(try await test.send(.get, path).status == 200) }
        try await test.service.desk.change(order.accountID, .init(isSuspended: true), by: staff)
        for path in paths {
            let answer = try await test.call(.get, path)
            #expect(answer.status == 403)
            #expect(answer.json["code"] == "order.suspended")
            #expect(answer.json["reason"] == "suspended")
        }
        #expect(try await test.send(.get, other.segments[2]).status == 200)
        try await test.service.desk.change(order.accountID, .init(isSuspended: false), by: staff)
        for path in paths { #expect(try await test.send(.get, path).status == 200) }
    }

    @Test func `is noticed within a second where another process suspended it`() async throws {
        let test = try await TestService(.silence)
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let home = try Home(at: test.directory.path)
        let other = try await CarrelService.open(home, database: test.service.database, clock: test.clock)
        try await other.desk.change(order.accountID, .init(isSuspended: true), by: staff)
        test.clock.set(test.clock.now + .milliseconds(1000))
        #expect(try await test.call(.get, playlist.segments[0]).json["reason"] == "suspended")
    }

    @Test func `never applies to the guest account`() async throws {
        let test = try await TestService(.silence) {
            $0.stream.access = .session
            $0.guestAccount = "alice"
        }
        let order = try await test.order()
        let paths = ["/v1/shelf", "/v1/stream/hls/\(order.id)/playlist.m3u8"]
        for path in paths { #expect(try await test.send(.get, path).status == 200) }
        try await test.service.desk.change(order.accountID, .init(isSuspended: true), by: staff)
        #expect(try await test.send(.get, paths[0]).status == 401)
        #expect(try await test.send(.get, paths[1]).status == 401)
    }

    @Test func `reads no private catalog, by its password, its app password or its token`() async throws {
        let test = try await TestService(.silence) {
            $0.editions.feedsNeedSignIn = true
            $0.subscription.givesFeedPasswords = true
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        let password = "correct horse battery"
        let account = try await test.service.desk.create("alice", password: password, by: staff)
        let app = try await test.service.appPasswords.create(for: account, name: "reader", scopes: [.opds], by: staff).text
        let signedIn = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"])
        let second = String(signedIn.xml.split(separator: "\"")[1])
        let token = String(signedIn.xml.split(separator: ">")[1].prefix { $0 != "<" })
        let pairs = [("alice", password), ("alice", app), ("alice", token), (token, second)]
        func statuses() async throws -> [Int] {
            var found: [Int] = []
            for (user, secret) in pairs {
                for path in ["/opds/v2", "/opds/v1"] {
                    found.append(try await test.send(.get, path, headers: ["Authorization": basic(user, secret)]).status)
                }
            }
            return found
        }
        #expect(try await statuses() == [Int](repeating: 200, count: 8))
        try await test.service.desk.change(account.id, .init(isSuspended: true), by: staff)
        #expect(try await statuses() == [Int](repeating: 401, count: 8), "what was remembered of the password does not count")
        try await test.service.desk.change(account.id, .init(isSuspended: false), by: staff)
        #expect(try await statuses().prefix(4) == [200, 200, 200, 200])
    }
}
