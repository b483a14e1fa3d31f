// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

/// Which requests count as one listener.
@Suite(.onBothDatabases)
struct `One listener` {
    private let password = "correct horse battery"

    private func status(_ test: TestService, _ path: String, from address: String, _ headers: HTTPFields = [:]) async throws
        -> Int
    {
        try await test.send(.get, path, headers: headers, peer: .network(address: address, port: 1)).status
    }

    @Test func `is a network address, whatever the players call themselves`() async throws {
        let test = try await TestService(.silence) { $0.stream.concurrency = 1 }
        let playlist = try await test.playlist(try await test.order())
        let key = test.path(of: playlist.key)
        for player in ["AppleCoreMedia/1.0", "MyApp/7 CFNetwork/1410", ""] {
            #expect(try await status(test, key, from: "192.0.2.1", ["User-Agent": player]) == 200)
        }
        #expect(try await status(test, key, from: "192.0.2.2", ["User-Agent": "MyApp/7"]) == 403)
    }

    @Test(arguments: [("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", 200), ("2001:db8:1:2::1", "2001:db8:1:3::1", 403)])
    func `is a /64 of IPv6`(_ first: String, _ second: String, _ expected: Int) async throws {
        let test = try await TestService(.silence) { $0.stream.concurrency = 1 }
        let key = test.path(of: try await test.playlist(try await test.order()).key)
        #expect(try await status(test, key, from: first) == 200)
        #expect(try await status(test, key, from: second) == expected)
    }

    @Test(arguments: AccessMode.allCases)
    func `is the device of a session, wherever it goes`(_ access: AccessMode) async throws {
        let test = try await TestService(.silence) {
            $0.stream.access = access
            $0.stream.concurrency = 2
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        _ = try await test.service.desk.create("alice", password: password, by: AuditActor("operator"))
        let order = try await test.order()
        func token(_ device: String) async throws -> HTTPFields {
            let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": device])
            return ["Authorization": "Bearer \(reply.token)"]
        }
        let (phone, tablet, laptop) = (try await token("phone"), try await token("tablet"), try await token("laptop"))
        let list = try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8", headers: phone)
        let text = String(decoding: list.body, as: UTF8.self)
        let key = test.path(of: String(try #require(text.split(separator: "\"").first { $0.hasSuffix(".key") })))
        for address in ["192.0.2.1", "198.51.100.7", "2001:db8::1"] {
            #expect(try await status(test, key, from: address, phone) == 200, "the phone, at \(address)")
        }
        #expect(try await status(test, key, from: "192.0.2.1", tablet) == 200)
        #expect(try await status(test, key, from: "192.0.2.1", laptop) == 403, "a third device behind the same address")
        test.clock.advance(by: .seconds(100))
        let report: JSON = [
            [
                "id": .string(order.id), "startUtc": .string((test.clock.now - .seconds(5)).description),
                "endUtc": .string(test.clock.now.description), "startPosition": 10, "endPosition": 15,
            ]
        ]
        for device in [phone, tablet] {
            _ = try await test.call(.post, "/v2/states", headers: device, body: report)
        }
        test.clock.advance(by: .seconds(100))
        #expect(try await status(test, key, from: "192.0.2.1", laptop) == 403, "reports hold the places of their devices")
        test.clock.advance(by: .seconds(20))
        #expect(try await status(test, key, from: "192.0.2.1", laptop) == 200)
    }

    @Test func `is not the device of another account's session where an order's id is enough`() async throws {
        let test = try await TestService(.silence) {
            $0.stream.concurrency = 1
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        _ = try await test.service.desk.create("bob", password: password, by: AuditActor("operator"))
        let key = test.path(of: try await test.playlist(try await test.order()).key)
        let reply = try await test.ask("sign_in", ["username": "bob", "password": password, "uuid": "bobs"])
        #expect(try await status(test, key, from: "192.0.2.1", ["Authorization": "Bearer \(reply.token)"]) == 200)
        #expect(try await status(test, key, from: "192.0.2.1") == 200, "the address counts, and is the same")
    }
}

struct `Cookies of a session` {
    @Test func `are looked at one after the other, because a neighbour may have planted the first`() async throws {
        let test = try await TestService(.silence)
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let token = try await test.service.accounts.issueSession(for: alice)
        let ended = try await test.service.accounts.issueSession(for: alice)
        try await test.service.accounts.endSession(ended, requestID: "")
        for cookies in [
            "carrel_session=planted; carrel_session=\(token)", "carrel_session=\(ended); a=b; carrel_session=\(token)",
        ] {
            let answer = try await test.call(.get, "/v1/shelf", headers: ["Cookie": cookies])
            #expect(answer.status == 200, "\(cookies.prefix(24))")
        }
        let out = try await test.send(
            .post,
            "/sign-out",
            headers: ["Cookie": "carrel_session=planted; carrel_session=\(token)", "Sec-Fetch-Site": "same-origin"]
        )
        #expect((200..<400).contains(out.status))
        #expect(try await test.service.accounts.account(ofSession: token) == nil, "signing out ends it too")
    }
}
