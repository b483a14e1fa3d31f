// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelListening
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases)
struct `The interval log` {
    private func element(_ order: String, _ start: Int64, _ end: Int64, _ from: Int64, _ to: Int64) -> JSON {
        [
            "id": .string(order), "startUtc": .string(Instant(milliseconds: start).description),
            "endUtc": .string(Instant(milliseconds: end).description), "startPosition": .number(JSONNumber(from)),
            "endPosition": .number(JSONNumber(to)),
        ]
    }

    @Test func `takes the example of the guide and answers with the guide's names`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let report: JSON = [
            [
                "id": .string(order.id.uppercased()), "startUtc": "2026-01-15T18:58:53.977Z",
                "endUtc": "2026-01-15T18:58:54.114Z", "startPosition": 415, "endPosition": 420,
            ]
        ]
        let posted = try await test.call(.post, "/v2/states/", body: report)
        #expect(posted.status == 200)
        #expect(posted.json == ["accepted": 1, "duplicates": 0, "rejected": []])
        let latest = try await test.call(.get, "/v2/states/latest/\(order.id)")
        #expect(latest.status == 200)
        #expect(latest.json["LastUpdated"]?.string == "2026-01-15T18:58:54.114Z")
        #expect(latest.json["Position"]?.int == 420)
        let again = try await test.call(.post, "/v2/states", body: report)
        #expect(again.json == ["accepted": 0, "duplicates": 1, "rejected": []])
    }

    @Test func `has no position before the first report, and does not say whether an order exists`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        #expect(try await test.call(.get, "/v2/states/latest/\(order.id)").json["code"] == "listening.none")
        let unknown = try await test.call(.get, "/v2/states/latest/106d9ba0-125c-4b44-a410-2889d53f42bd")
        #expect(unknown.status == 404)
        #expect(unknown.json["code"] == "request.not-found")
    }

    @Test func `keeps the good elements of a report and names each bad one`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let now = test.clock.now.milliseconds
        let order = try await test.order()
        let answer = try await test.call(
            .post,
            "/v2/states/",
            body: [
                element(order.id, now - 5000, now, 0, 5),
                element("106d9ba0-125c-4b44-a410-2889d53f42bd", now - 5000, now, 0, 5),
                element(order.id, now, now - 1, 0, 5),
                element(order.id, now - 90_000_000, now, 0, 5),
                element(order.id, now - 5000, now, -1, 5),
                "text", ["id": .string(order.id)],
                element(order.id, now - 4000, now, 590, 595),
            ]
        )
        #expect(answer.json["accepted"]?.int == 2)
        let codes = answer.json["rejected"]?.array?.map { "\($0["index"]?.int ?? -1) \($0["code"]?.string ?? "")" }
        #expect(
            codes == [
                "1 unknown-order", "2 time-reversed", "3 too-long", "4 position-out-of-range", "5 malformed",
                "6 malformed",
            ]
        )
    }

    /// A position at the very end of its type, next to one in milliseconds, once ended the server.
    @Test func `refuses numbers at the ends of their types and stays alive`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let now = test.clock.now.milliseconds
        let extremes = ["-9223372036854775808", "9223372036854775807", "-1e308", "1e308", "1e999", "-0.0"]
        for extreme in extremes {
            for member in ["startPosition", "endPosition", "positionMs", "speed"] {
                let good = element(order.id, now - 20_000, now - 10_000, 100, 110)
                var text = String(decoding: good.write(), as: UTF8.self).dropLast().description
                for other in ["positionMs", "speed"] where other != member { text += ",\"\(other)\":110000" }
                for name in ["startPosition", "endPosition"] where name == member {
                    text = text.replacing("\"\(name)\":\(name == "startPosition" ? 100 : 110)", with: "\"\(name)\":\(extreme)")
                }
                if !text.contains("\"\(member)\"") { text += ",\"\(member)\":\(extreme)" }
                let request = HTTPRequest(
                    .post,
                    "/v2/states/",
                    headers: ["Content-Type": "application/json"],
                    body: Array("[\(text)}]".utf8),
                    peer: .network(address: "192.0.2.1", port: 1)
                )
                let status = await test.service.router.respond(to: request).status.rawValue
                #expect([200, 400].contains(status), "\(member) \(extreme)")
            }
        }
        for target in ["latest", "history"] {
            #expect(try await test.call(.get, "/v2/states/\(target)/\(order.id)").status == 200)
        }
    }

    @Test func `takes what began before an order ended and nothing that began after`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let end = test.clock.now + .milliseconds(60_000)
        let order = try await test.order(.init(account: "alice", titleID: test.title.id, kind: .loan, end: end))
        test.clock.set(end + .milliseconds(3_600_000))
        let answer = try await test.call(
            .post,
            "/v2/states/",
            body: [
                element(order.id, end.milliseconds - 1, end.milliseconds + 9000, 10, 19),
                element(order.id, end.milliseconds, end.milliseconds + 9000, 10, 19),
            ]
        )
        #expect(answer.json["accepted"]?.int == 1)
        #expect(answer.json["rejected"]?.array?.first?["code"] == "order-ended")
        #expect(try await test.call(.get, "/v2/states/latest/\(order.id)").json["Position"]?.int == 19)
    }

    @Test func `a clock in the future cannot pin the position`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let now = test.clock.now.milliseconds
        let far = now + 5 * 365 * 24 * 3_600_000
        _ = try await test.call(.post, "/v2/states/", body: [element(order.id, far, far + 10_000, 100, 110)])
        let pinned = try await test.call(.get, "/v2/states/latest/\(order.id)")
        #expect(pinned.json["Position"]?.int == 110)
        #expect(pinned.json["LastUpdated"]?.string == Instant(milliseconds: now + 120_000).description)
        test.clock.set(Instant(milliseconds: now + 600_000))
        _ = try await test.call(.post, "/v2/states/", body: [element(order.id, now + 590_000, now + 600_000, 20, 30)])
        #expect(try await test.call(.get, "/v2/states/latest/\(order.id)").json["Position"]?.int == 30)
    }

    @Test func `keeps a place across orders of the same title`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let now = test.clock.now
        let first = try await test.order(
            .init(account: "alice", titleID: test.title.id, kind: .loan, end: now + .milliseconds(1000))
        )
        _ = try await test.call(
            .post,
            "/v2/states/",
            body: [element(first.id, now.milliseconds - 9000, now.milliseconds, 200, 209)]
        )
        let second = try await test.order()
        let position = try await test.service.listening.latest(account: second.accountID, title: test.title.id)
        #expect(position?.seconds == 209)
        #expect(position?.orderID == first.id)
        #expect(try await test.service.listening.latest(second.id) == nil, "the new order itself has none")
    }

    /// Whatever the order of arrival, however split and repeated: every server ends with the same latest place and the same log.
    @Test func `converges under any order of arrival`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let keys = ["startUtc", "endUtc", "startPosition", "endPosition"]
        func particulars(_ position: Int64) -> [(String, [JSON])] {
            [
                ("positionMs", [-1, 0, 999, 1000].map { .number(JSONNumber(position * 1000 + $0)) }),
                ("deviceId", ["", "a", "b"]), ("deviceName", ["", "phone", "Tablet"]), ("speed", [-1, 0, 1, 1.5]),
            ]
        }
        let now = test.clock.now.milliseconds
        var random = SystemRandomNumberGenerator()
        for _ in 0..<(longRun ? 200 : 10) {
            // Devices listen, go back, overlap and have wrong clocks.
            var history: [JSONObject] = []
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                let start =
                    now - Int64.random(in: 0...200_000, using: &random) + Int64.random(in: -1...1, using: &random) * 86_400_000
                let from = Int64.random(in: 0...599, using: &random)
                let end = start + Int64.random(in: 0...20_000, using: &random)
                let to = Int64.random(in: 0...599, using: &random)
                // The same interval may be told more than once, each time with other particulars.
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    var told = element("", start, end, from, to).object ?? [:]
                    for (name, value) in particulars(to).shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)) {
                        told[name] = value.randomElement(using: &random)
                    }
                    history.append(told)
                }
            }
            let distinct = Set(history.map { told in keys.map { "\(told[$0] ?? .null)" }.joined() })
            var outcomes: Set<String> = []
            for _ in 0..<6 {
                let order = try await test.order()
                var delivery = (history + history.prefix(Int.random(in: 0...5, using: &random))).shuffled(using: &random)
                while !delivery.isEmpty {
                    let batch = delivery.prefix(Int.random(in: 1...10, using: &random))
                    delivery.removeFirst(batch.count)
                    let report = batch.map { told -> JSON in
                        var told = told
                        told["id"] = .string(order.id)
                        return .object(told)
                    }
                    let answer = try await test.call(.post, "/v2/states/", body: .array(report))
                    #expect(answer.json["rejected"]?.array?.isEmpty == true)
                }
                let latest = try await test.call(.get, "/v2/states/latest/\(order.id)").json
                let log = try await test.call(.get, "/v2/states/history/\(order.id)?limit=1000").json
                #expect(log["intervals"]?.array?.count == distinct.count)
                outcomes.insert(
                    String(decoding: latest.write(), as: UTF8.self) + String(decoding: log.write(), as: UTF8.self)
                )
            }
            #expect(outcomes.count == 1)
        }
    }
}
