// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases)
struct `Reports as existing apps write them` {
    private func post(_ test: TestService, _ text: String, type: String = "application/json") async throws -> (
        status: Int, json: JSON
    ) {
        let request = HTTPRequest(
            .post,
            "/v2/states/",
            headers: ["Content-Type": type],
            body: Array(text.utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }

    private func latest(_ test: TestService, _ order: Order) async throws -> JSON {
        try await test.call(.get, "/v2/states/latest/\(order.id)").json
    }

    @Test(arguments: [
        #"{"Id":"ORDER","StartUtc":"2026-01-15T18:58:53Z","EndUtc":"2026-01-15T18:58:58Z","StartPosition":415,"EndPosition":420}"#,
        #"{"id":"ORDER","startUtc":"2026-01-15T18:58:53","endUtc":"2026-01-15T18:58:58","startPosition":415,"endPosition":420}"#,
        #"{"id":"ORDER","startUtc":"2026-01-15T18:58:53.000Z","endUtc":"2026-01-15T18:58:58.0000000","startPosition":"415","endPosition":"420"}"#,
        #"{"ID":"ORDER","startUTC":"2026-01-15T20:58:53+02:00","EndUTC":"2026-01-15T18:58:58.000","StartPosition":"415.9","EndPosition":"4.2e2"}"#,
    ])
    func `are taken with members in any case, numbers as strings, and times without a zone`(_ element: String) async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let answer = try await post(test, "[\(element.replacing("ORDER", with: order.id.uppercased()))]")
        #expect(answer.json == ["accepted": 1, "duplicates": 0, "rejected": []], "\(answer.json)")
        let place = try await latest(test, order)
        #expect(place["Position"] == 420 && place["LastUpdated"] == "2026-01-15T18:58:58.000Z")
    }

    @Test func `are taken as text/json and with a byte order mark`() async throws {
        let test = try await TestService(.silence, with: .listening)
        for type in ["text/json", "text/json; charset=utf-8", "application/json; charset=utf-8"] {
            let answer = try await post(test, "\u{feff}[]", type: type)
            #expect(answer.status == 200, "\(type)")
        }
        for type in ["text/plain", "application/x-www-form-urlencoded", "text/xml"] {
            #expect(try await post(test, "[]", type: type).status == 415, "\(type)")
        }
        #expect(try await post(test, "\u{feff}\u{feff}[]").status == 400, "one mark is enough")
        let other = HTTPRequest(
            .post,
            "/v1/orders",
            headers: ["Content-Type": "text/json"],
            body: Array("{}".utf8),
            peer: .local(userID: 0)
        )
        #expect(await test.service.router.respond(to: other).status.rawValue == 415, "other calls are as strict as before")
    }

    @Test(arguments: [
        (#""id":"ORDER""#, #""id":7"#, "id"), (#""id":"ORDER""#, #""key":"ORDER""#, "id"), (#""id":"ORDER""#, #""id":"x""#, "id"),
        ("18:58:53Z", "25:58:53Z", "startUtc"), ("2026-01-15T18:58:58Z", "yesterday", "endUtc"),
        (":415", ":true", "startPosition"),
        (":415", ":\"four\"", "startPosition"), (":420", ":\"0x10\"", "endPosition"), (":420", ":\"inf\"", "endPosition"),
        (":420", ":1e300", "endPosition"), (":420", ":420,\"deviceId\":7", "deviceId"),
        (":420", ":420,\"DeviceName\":[]", "deviceName"),
    ])
    func `are refused with the name of the member that is malformed`(_ good: String, _ bad: String, _ member: String) async throws
    {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let element =
            #"{"id":"ORDER","startUtc":"2026-01-15T18:58:53Z","endUtc":"2026-01-15T18:58:58Z","startPosition":415,"endPosition":420}"#
        let answer = try await post(test, "[\(element.replacing(good, with: bad).replacing("ORDER", with: order.id))]")
        #expect(answer.json["rejected"] == [["index": 0, "code": "malformed", "member": .string(member)]], "\(answer.json)")
        #expect(answer.json["accepted"] == 0)
    }

    @Test func `place the listener at the end where they say that it was passed`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let now = test.clock.now
        func report(_ from: Int, _ to: Int, _ particulars: String = "") async throws -> JSON {
            try await post(
                test,
                """
                [{"id":"\(order.id)","startUtc":"\(now - .seconds(9))","endUtc":"\(now)","startPosition":\(from),"endPosition":\(to)\(particulars)}]
                """
            ).json["accepted"] ?? .null
        }
        #expect(test.title.durationMS == 599_980)
        for (from, to, particulars) in [(590, 601, ""), (590, 100_000, ",\"positionMs\":100000000"), (700, 100_000_000, "")] {
            #expect(try await report(from, to, particulars) == (from == 590 && to == 100_000 ? 0 : 1), "\(to)")
            let place = try await latest(test, order)
            #expect(place["Position"] == 599 && place["PositionMs"] == 599_980, "\(to)")
        }
    }

    @Test(arguments: [0, 30])
    func `are accepted for listening.late-days days after the end`(_ days: Int) async throws {
        let test = try await TestService(.silence, with: .listening) { $0.lateDays = days }
        let order = try await test.order()
        let heard = test.clock.now - .seconds(60)
        _ = try await test.service.orders.revoke(order.id)
        let end = test.clock.now
        func report(_ place: Int) async throws -> JSON? {
            let element = """
                [{"id":"\(order.id)","startUtc":"\(heard)","endUtc":"\(heard + .seconds(5))","startPosition":\(place),"endPosition":\(place + 5)}]
                """
            return try await post(test, element).json["rejected"]?.array?.first?["code"]
        }
        test.clock.set(end + .seconds(days * 86_400))
        #expect(try await report(1) == nil)
        test.clock.advance(by: .milliseconds(1))
        #expect(try await report(2) == "order-ended")
    }

    @Test func `omit the time before an order starts`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let start = test.clock.now + .seconds(3600)
        let order = try await test.order(
            .init(account: "alice", titleID: test.title.id, kind: .loan, start: start, end: start + .seconds(86_400))
        )
        func report(from begin: Instant) async throws -> JSON {
            let element = """
                [{"id":"\(order.id)","startUtc":"\(begin)","endUtc":"\(begin + .seconds(5))","startPosition":1,"endPosition":6}]
                """
            let answer = try await post(test, element).json
            return answer["rejected"]?.array?.first?["code"] ?? answer["accepted"] ?? .null
        }
        #expect(try await report(from: test.clock.now) == "order-not-started")
        #expect(try await report(from: start) == "order-not-started", "a clock that is ahead hears nothing early")
        test.clock.set(start + .seconds(60))
        #expect(try await report(from: start - .seconds(121)) == "order-not-started")
        #expect(try await report(from: start - .seconds(119)) == 1, "a device's clock may be slow")
        #expect(try await report(from: start) == 1)
    }

    @Test(arguments: ["/Sample.ashx?isbn=", "/sample.ashx?isbn=", "/sample.ashx?ISBN=", "/Sample.ashx?Isbn="])
    func `and samples are found in either case`(_ path: String) async throws {
        let test = try await TestService(.silence, with: .listening)
        let answer = try await test.send(.get, path + TestService.isbn)
        #expect(answer.status == 200 && answer.headers["Content-Type"] == "audio/mpeg")
    }
}
