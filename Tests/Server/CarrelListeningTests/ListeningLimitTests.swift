// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelListening
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import Glibc
import Testing

@Suite(.onBothDatabases)
struct `What the interval log takes` {
    private func interval(_ order: String, _ start: Instant, _ place: Int64) -> ListeningInterval {
        ListeningInterval(
            orderID: order,
            startUTC: start,
            endUTC: start + .milliseconds(10),
            startPosition: place,
            endPosition: place
        )
    }

    private func json(_ interval: ListeningInterval) -> JSON {
        [
            "id": .string(interval.orderID), "startUtc": .string(interval.startUTC.description),
            "endUtc": .string(interval.endUTC.description), "startPosition": .number(JSONNumber(interval.startPosition)),
            "endPosition": .number(JSONNumber(interval.endPosition)),
        ]
    }

    private func places(_ test: TestService, _ order: Order) async throws -> [Int] {
        let history = try await test.call(.get, "/v2/states/history/\(order.id)?limit=1000").json
        return history["intervals"]?.array?.compactMap { $0["endPosition"]?.int } ?? []
    }

    @Test func `is limited to the newest intervals of each order`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let (order, other) = (try await test.order(), try await test.order())
        let start = test.clock.now - .milliseconds(1_000_000)
        let log = Listening(database: test.service.database, clock: test.clock, kept: 40)
        func report(_ order: Order, _ numbers: some Sequence<Int64>) async throws {
            let outcome = try await log.record(
                numbers.map { .success(interval(order.id, start + .milliseconds($0 * 1000), $0)) }
            )
            #expect(outcome.rejected.isEmpty)
        }
        try await report(other, 0..<30)
        try await report(order, (100..<130).reversed())
        #expect(try await places(test, order).count == 30)
        try await report(order, 130..<160)
        try await report(order, 0..<50)
        #expect(try await places(test, order) == (120..<160).reversed())
        #expect(try await log.latest(order.id)?.seconds == 159)
        #expect(try await places(test, other).count == 30)
    }

    @Test func `of an order that has ended is what comes within ninety days`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let heard = test.clock.now - .milliseconds(60_000)
        _ = try await test.service.orders.revoke(order.id)
        let end = test.clock.now
        func report(_ place: Int64) async throws -> JSON? {
            let report: JSON = [json(interval(order.id, heard, place))]
            return try await test.call(.post, "/v2/states/", body: report).json["rejected"]?.array?.first?["code"]
        }
        test.clock.set(end + .seconds(90 * 86_400))
        #expect(try await report(1) == nil)
        test.clock.set(end + .seconds(90 * 86_400) + .milliseconds(1))
        #expect(try await report(2) == "order-ended")
    }

    @Test func `is read page by page`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let now = test.clock.now
        // Many end at the same instant, as after the report of a device whose clock is ahead.
        let report = (0..<25).map { json(interval(order.id, now + .milliseconds(Int64($0 % 4) * 86_400_000), Int64($0))) }
        _ = try await test.call(.post, "/v2/states/", body: .array(report))
        let whole = try await test.call(.get, "/v2/states/history/\(order.id)?limit=1000").json
        #expect(whole["next"] == nil)
        var pages: [[JSON]] = []
        var target = "/v2/states/history/\(order.id)?limit=10"
        repeat {
            let page = try await test.call(.get, target).json
            pages.append(page["intervals"]?.array ?? [])
            target = page["next"]?.string.map { "/v2/states/history/\(order.id)?limit=10&after=\($0)" } ?? ""
        } while !target.isEmpty && pages.count < 10
        #expect(pages.map(\.count) == [10, 10, 5])
        #expect(pages.flatMap { $0 } == whole["intervals"]?.array)
        for mark in ["", "1_2_3_4", "1_2_3_4_5_6", "1_2_3_4_x"] {
            let answer = try await test.call(.get, "/v2/states/history/\(order.id)?after=\(mark)")
            #expect(answer.status == 400, "\(mark)")
        }
    }

    @Test func `needs no media, and no other user's order`() async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.access = .session }
        let (order, bobs) = (try await test.order(), try await test.order(.init(account: "bob", titleID: test.title.id)))
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let headers: HTTPFields = ["Authorization": "Bearer \(try await test.service.accounts.issueSession(for: account))"]
        let blobs = try Home(at: test.directory.path).blobsPath
        #expect(unsafe rename(blobs, "\(blobs).gone") == 0)
        let now = test.clock.now
        let report: JSON = [
            json(interval(order.id, now, 1)), json(interval(bobs.id, now, 2)),
            json(interval("106d9ba0-125c-4b44-a410-2889d53f42bd", now, 3)), json(interval(order.id, now, 4)),
        ]
        let answer = try await test.call(.post, "/v2/states/", headers: headers, body: report)
        #expect(answer.status == 200)
        #expect(answer.json["accepted"] == 2)
        let refusals = answer.json["rejected"]?.array?.map { "\($0["index"]?.int ?? -1) \($0["code"]?.string ?? "")" }
        #expect(refusals == ["1 unknown-order", "2 unknown-order"])
        #expect(try await test.service.listening.latest(bobs.id) == nil)
        #expect(try await test.send(.post, "/v2/states/", body: report).status == 401)
    }
}
