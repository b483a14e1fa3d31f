// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

/// The rules of listeners, orders and time, as visible at the routes.
@Suite(.onBothDatabases)
struct `A listener` {
    private func element(_ order: String, from start: Instant, _ position: Int64) -> JSON {
        [
            "id": .string(order), "startUtc": .string(start.description),
            "endUtc": .string((start + .milliseconds(5000)).description),
            "startPosition": .number(JSONNumber(position)), "endPosition": .number(JSONNumber(position + 5)),
        ]
    }

    @Test(arguments: ["segment", "states"])
    func `keeps a place by segments and by reports, too`(by means: String) async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.concurrency = 1 }
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let key = test.path(of: playlist.key)
        let (phone, tablet) = (Peer.network(address: "192.0.2.1", port: 1), Peer.network(address: "192.0.2.2", port: 1))
        #expect(try await test.send(.get, key, peer: phone).status == 200)
        test.clock.advance(by: .seconds(100))
        if means == "segment" {
            #expect(try await test.send(.get, playlist.segments[2], peer: phone).status == 200)
        } else {
            let report: JSON = [element(order.id, from: test.clock.now - .milliseconds(5000), 10)]
            #expect(try await test.call(.post, "/v2/states/", body: report, peer: phone).json["accepted"] == 1)
        }
        test.clock.advance(by: .seconds(100))
        #expect(try await test.send(.get, key, peer: tablet).status == 403, "the phone was here less than two minutes ago")
        test.clock.advance(by: .seconds(20))
        #expect(try await test.send(.get, key, peer: tablet).status == 200)
    }

    @Test func `counts for the account where accounts are asked for, whatever the order`() async throws {
        let test = try await TestService(.silence, with: .listening) {
            $0.stream.access = .session
            $0.stream.concurrency = 1
        }
        let orders = [try await test.order(), try await test.order()]
        let other = try await test.order(.init(account: "bob", titleID: test.title.id))
        func bearer(_ order: Order) async throws -> HTTPFields {
            let account = try await test.service.desk.find(order.accountID)
            return ["Authorization": "Bearer \(try await test.service.accounts.issueSession(for: account))"]
        }
        func key(_ order: Order, _ headers: HTTPFields, from address: String = "192.0.2.1") async throws -> Int {
            let list = try await test.send(.get, "/v1/stream/hls/\(order.id)/playlist.m3u8", headers: headers)
            let text = String(decoding: list.body, as: UTF8.self)
            let key = try #require(text.split(separator: "\"").first { $0.hasSuffix(".key") })
            let path = test.path(of: String(key))
            return try await test.send(.get, path, headers: headers, peer: .network(address: address, port: 1)).status
        }
        let (first, second, bob) = (try await bearer(orders[0]), try await bearer(orders[1]), try await bearer(other))
        #expect(try await key(orders[0], first) == 200)
        #expect(try await key(orders[1], second) == 200, "browsers at one address are one listener")
        #expect(try await key(orders[1], second, from: "198.51.100.1") == 403, "another address is one too many")
        #expect(try await key(other, bob) == 200)
        #expect(try await test.send(.get, "/v1/stream/hls/\(orders[0].id)/playlist.m3u8", headers: bob).status == 404)
    }

    @Test func `has addresses that live twice as long as the title`() async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.ticketLife = 1000 }
        let segment = try await test.playlist(try await test.order()).segments[0]
        test.clock.advance(by: .seconds(1199))
        #expect(try await test.send(.get, segment).status == 200, "the title plays for ten minutes")
        test.clock.advance(by: .seconds(302))
        #expect(try await test.send(.get, segment).status == 403, "a quarter more is the most that rounding adds")
    }

    @Test func `gets playlists that may be compressed, and segments that may not`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        func response(_ target: String) async throws -> HTTPResponse {
            await test.service.router.respond(
                to: HTTPRequest(.get, target, headers: [:], body: [], peer: .network(address: "192.0.2.1", port: 1))
            )
        }
        #expect(try await response("/v1/stream/hls/\(order.id)/playlist.m3u8").isCompressible)
        #expect(try await !response(test.playlist(order).segments[0]).isCompressible)
    }

    @Test(arguments: ["return", "revoke"])
    func `may report what began before the order was taken back, and no more`(verb: String) async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let before = test.clock.now - .milliseconds(10_000)
        _ = try await test.call(.post, "/v1/orders/\(order.id)/\(verb)", peer: .local(userID: 0))
        test.clock.advance(by: .seconds(3600))
        let report: JSON = [
            element(order.id, from: before, 10), element(order.id, from: test.clock.now - .milliseconds(60_000), 50),
        ]
        let answer = try await test.call(.post, "/v2/states/", body: report)
        #expect(answer.json["accepted"] == 1)
        #expect(answer.json["rejected"]?.array?.first?["code"] == "order-ended")
        #expect(try await test.call(.get, "/v2/states/latest/\(order.id)").json["Position"] == 15)
    }

    /// Clocks ahead of the server's are the exception: how far they are cut back depends on when their report comes.
    @Test func `ends at the same place whenever reports come`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let start = test.clock.now - .milliseconds(3_600_000)
        let starts = (0..<20).map { start + .milliseconds(Int64($0) * 60_000 % 700_000 + Int64($0)) }
        var outcomes: Set<String> = []
        for round in 0..<4 {
            let order = try await test.order()
            for index in starts.indices.shuffled() {
                test.clock.advance(by: .seconds(round * 97 + index))
                let report: JSON = [element(order.id, from: starts[index], Int64(index))]
                #expect(try await test.call(.post, "/v2/states/", body: report).json["accepted"] == 1)
            }
            let latest = try await test.call(.get, "/v2/states/latest/\(order.id)").json
            outcomes.insert(String(decoding: latest.write(), as: UTF8.self))
        }
        #expect(outcomes.count == 1)
    }
}
