// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelWorks
import Testing

@Suite(.onBothDatabases)
struct `Orders of a shop` {
    private let backOffice = Peer.local(userID: 0)

    @Test func `are created once for an order number`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let body: JSON = ["account": "alice", "isbn": "978-0-306-40615-7", "orderNumber": "A-1"]
        let first = try await test.call(.post, "/v1/orders", body: body, peer: backOffice)
        #expect(first.status == 201)
        let id = try #require(first.json["id"]?.string)
        #expect(first.json["playlist"]?.string == "/v1/stream/hls/\(id)/playlist.m3u8")
        #expect(first.json["state"] == "ready")
        let second = try await test.call(.post, "/v1/orders", body: body, peer: backOffice)
        #expect(second.status == 200)
        #expect(second.json["id"]?.string == id)
        let other: JSON = ["account": "bob", "isbn": "9780306406157", "orderNumber": "A-1"]
        #expect(try await test.call(.post, "/v1/orders", body: other, peer: backOffice).status == 409)
    }

    @Test func `stay the same for their number when the catalog has changed since`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let body: JSON = ["account": "bob", "isbn": .string(TestService.isbn), "orderNumber": "R1"]
        func place(_ body: JSON) async throws -> (status: Int, json: JSON) {
            try await test.call(.post, "/v1/orders", body: body, peer: backOffice)
        }
        let first = try await place(body)
        #expect(first.status == 201)
        func repeats(_ body: JSON, _ when: Comment) async throws {
            let again = try await place(body)
            #expect(again.status == 200, when)
            #expect(again.json["id"] == first.json["id"], when)
        }
        var options = IngestOptions()
        options.overrides.isbn = ISBN(TestService.isbn)
        let other = try await test.service.ingesting.ingest(test.directory.write("b.mp3", SilentMP3.frames(700)), options).title
        try await repeats(body, "two titles have the ISBN")
        var metadata = test.title.metadata
        metadata.isbn = ISBN("9783161484100")
        _ = try await test.service.titles.update(metadata, of: test.title, by: AuditActor("operator"))
        try await repeats(body, "another title has the ISBN")
        try await repeats(["account": "bob", "isbn": "9783161484100", "orderNumber": "R1"], "the title has this ISBN now")
        try await repeats(["account": "bob", "title": .string(test.title.id), "orderNumber": "R1"], "this is the title")
        for different in [
            ["account": "bob", "isbn": "9780140328721", "orderNumber": "R1"],
            ["account": "bob", "title": .string(other.id), "orderNumber": "R1"],
            ["account": "bob", "title": "x", "orderNumber": "R1"],
            ["account": "alice", "isbn": .string(TestService.isbn), "orderNumber": "R1"],
        ] as [JSON] {
            #expect(try await place(different).status == 409, "\(different)")
        }
    }

    @Test(
        arguments: [
            ([:], "account is missing"),
            (["account": "alice"], "an order names either a title or an isbn"),
            (["account": "alice", "isbn": "9780306406158"], "9780306406158 is not an ISBN"),
            (["account": "alice", "title": "x"], "there is no title x"),
            (["account": "alice", "title": "x", "kindd": "loan"], "the body has an unknown member \"kindd\""),
            (["account": "alice", "isbn": "9780306406157", "kind": "loan"], "a loan needs an end"),
            (["account": "alice", "isbn": "9780306406157", "kind": "gift"], "kind must be \"sale\" or \"loan\""),
            (
                ["account": "alice", "isbn": "9780306406157", "end": "2026-02-30T00:00:00Z"],
                "end must be an instant such as 2026-01-31T18:00:00Z"
            ),
            (
                [
                    "account": "alice", "isbn": "9780306406157", "start": "2027-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z",
                ], "an order ends after it starts"
            ),
            (["account": "alice", "isbn": "9780306406157", "orderNumber": ""], "an order number has 1 to 128 bytes"),
            (
                ["account": "alice", "isbn": "9780306406157", "orderNumber": .string(String(repeating: "1", count: 129))],
                "an order number has 1 to 128 bytes"
            ),
            (["account": "", "isbn": "9780306406157"], "an account name has 1 to 256 bytes and no control characters"),
        ] as [(JSON, String)]
    )
    func `say what is wrong with a request`(body: JSON, detail: String) async throws {
        let test = try await TestService(.silence, with: .streaming)
        let answer = try await test.call(.post, "/v1/orders", body: body, peer: backOffice)
        #expect(answer.status == 400)
        #expect(answer.json["detail"]?.string == detail)
    }

    @Test func `are for back offices only`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let order = try await test.order()
        let body: JSON = ["account": "alice", "isbn": "9780306406157"]
        #expect(try await test.call(.post, "/v1/orders", body: body).status == 401)
        #expect(try await test.call(.get, "/v1/orders/\(order.id)").status == 401)
        #expect(try await test.call(.post, "/v1/orders/\(order.id)/revoke").status == 401)
        let (key, text) = try await test.service.accounts.createServiceKey(name: "shop", role: .service)
        let header: HTTPFields = ["Authorization": "Bearer \(text)"]
        #expect(try await test.call(.post, "/v1/orders", headers: header, body: body).status == 201)
        #expect(try await test.call(.get, "/admin/v1/service-keys", headers: header).status == 403, "a service key is no admin")
        try await test.service.accounts.revokeServiceKey(key.id)
        #expect(try await test.call(.post, "/v1/orders", headers: header, body: body).status == 401)
    }

    @Test func `go from ready to active with their key, and are cancelled only before`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let unheard = try await test.order()
        #expect(try await test.call(.post, "/v1/orders/\(unheard.id)/cancel", peer: backOffice).json["state"] == "cancelled")
        #expect(try await test.send(.get, "/v1/stream/hls/\(unheard.id)/playlist.m3u8").status == 403)
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let key = try await test.send(.get, test.path(of: playlist.key))
        #expect(key.status == 200)
        #expect(key.body.count == 16)
        #expect(key.headers["Cache-Control"] == "no-store")
        #expect(try await test.service.orders.find(order.id).state == .active)
        #expect(try await test.call(.post, "/v1/orders/\(order.id)/cancel", peer: backOffice).status == 409)
        #expect(try await test.call(.post, "/v1/orders/\(order.id)/return", peer: backOffice).json["state"] == "returned")
    }

    @Test func `are taken at the limits of what is right`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        var request = Orders.Request(account: "alice", titleID: test.title.id, number: String(repeating: "1", count: 128))
        (request.start, request.end) = (test.clock.now, test.clock.now + .milliseconds(1))
        #expect(try await test.service.orders.place(request).created)
    }

    @Test func `that were given back and then revoked ended when they were given back`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let (order, start) = (try await test.order(), test.clock.now)
        #expect(try await test.service.orders.giveBack(order.id).endedAt == start)
        test.clock.advance(by: .seconds(1))
        let revoked = try await test.service.orders.revoke(order.id)
        #expect(revoked.state == .revoked && revoked.endedAt == start)
    }

    @Test func `are live or not by what was done with them, and by the clock`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let now = test.clock.now
        var cases = 0
        for (start, end) in [(nil, nil), (10, nil), (nil, 20), (10, 20)] as [(Int?, Int?)] {
            var request = Orders.Request(account: "alice", titleID: test.title.id)
            (request.start, request.end) = (start.map { now + .seconds($0) }, end.map { now + .seconds($0) })
            var order = try await test.order(request)
            for state in Order.State.allCases {
                order.state = state
                for time in [0, 9_999, 10_000, 19_999, 20_000] {
                    let (isEarly, isLate) = (start.map { time < $0 * 1000 } ?? false, end.map { time >= $0 * 1000 } ?? false)
                    let expected: Order.Availability =
                        switch state {
                        case .ready, .active: isEarly ? .notStarted : isLate ? .expired : .live
                        case .returned: .returned
                        case .revoked: .revoked
                        case .cancelled: .cancelled
                        }
                    #expect(order.availability(at: now + .milliseconds(time)) == expected, "\(state) \(time)")
                    let told = expected == .expired ? "expired" : state.rawValue
                    #expect(order.publicState(at: now + .milliseconds(time)) == told)
                    cases += 1
                }
            }
        }
        #expect(cases == 100)
    }

    @Test(arguments: [(nil, nil, nil), (5, nil, 5), (nil, 20, 20), (5, 20, 5), (30, 20, 20)] as [(Int?, Int?, Int?)])
    func `end when they were ended, or at their end if that comes first`(ended: Int?, end: Int?, first: Int?) async throws {
        let test = try await TestService(.silence, with: .streaming)
        let now = test.clock.now
        func at(_ seconds: Int?) -> Instant? { seconds.map { now + .seconds($0) } }
        var order = try await test.order(Orders.Request(account: "alice", titleID: test.title.id, end: at(end)))
        order.endedAt = at(ended)
        #expect(order.end == at(first))
    }

    @Test func `are listed in pages, oldest first`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        var ids: [String] = []
        for _ in 0..<5 {
            ids.append(try await test.order().id)
            test.clock.set(test.clock.now + .milliseconds(1000))
        }
        var seen: [String] = []
        var after = ""
        while true {
            let page = try await test.call(.get, "/v1/orders?account=alice&limit=2\(after)", peer: backOffice).json
            seen += page["orders"]?.array?.compactMap { $0["id"]?.string } ?? []
            guard let next = page["next"]?.string else { break }
            after = "&after=\(next)"
        }
        #expect(seen == ids)
        #expect(try await test.call(.get, "/v1/orders?after=x", peer: backOffice).status == 400)
    }
}
