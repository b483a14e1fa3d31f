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
import CarrelStore
import CarrelTesting
import CarrelWebsite
import Testing

@Suite(.onBothDatabases)
struct `The shelf of audiobooks` {
    private func session(_ test: TestService, _ name: String = "alice") async throws -> HTTPFields {
        let account = try await test.service.accounts.findOrCreate(named: name)
        return ["Authorization": "Bearer \(try await test.service.accounts.issueSession(for: account))"]
    }

    @Test func `comes in pages, the newest orders first, with the place in each`() async throws {
        let test = try await TestService(.silence)
        let headers = try await session(test)
        var orders: [String] = []
        for number in 0..<7 {
            if number % 3 == 0 { test.clock.set(test.clock.now + .milliseconds(1000)) }
            orders.append(try await test.order().id)
        }
        _ = try await test.order(.init(account: "bob", titleID: test.title.id))
        let cancelled = try await test.order()
        _ = try await test.service.orders.cancel(cancelled.id)
        let now = test.clock.now
        func interval(_ start: Int64, _ place: Int64, milliseconds: Int64?) -> ListeningInterval {
            var interval = ListeningInterval(
                orderID: orders[0],
                startUTC: now + .milliseconds(start),
                endUTC: now + .milliseconds(start + 1000),
                startPosition: 0,
                endPosition: place
            )
            interval.endPositionMS = milliseconds
            return interval
        }
        _ = try await test.service.listening.record(
            [interval(-5000, 300, milliseconds: 300_250), interval(-9000, 500, milliseconds: nil)].map { .success($0) }
        )
        var items: [JSON] = []
        var target = "/v1/shelf?limit=2"
        repeat {
            let page = try await test.call(.get, target, headers: headers).json
            #expect(page["account"] == ["name": "alice", "guest": false])
            items += page["items"]?.array ?? []
            target = page["next"]?.string.map { "/v1/shelf?limit=2&after=\($0)" } ?? ""
        } while !target.isEmpty && items.count < 100
        #expect(Set(items.compactMap { $0["order"]?.string }) == Set(orders))
        #expect(items.count == orders.count)
        let newestFirst = items.compactMap { item in orders.firstIndex { $0 == item["order"]?.string }.map { $0 / 3 } }
        #expect(newestFirst == [2, 1, 1, 1, 0, 0, 0])
        for item in items {
            #expect(item["title"]?["title"] == "Silence")
            let isHeard = item["order"]?.string == orders[0]
            #expect(item["position"]?["seconds"]?.double == (isHeard ? 300.25 : nil))
            #expect(item["position"]?["lastUpdated"]?.string == (isHeard ? (now - .milliseconds(4000)).description : nil))
        }
        let whole = try await test.call(.get, "/v1/shelf", headers: headers).json
        #expect(whole["items"]?.array == items)
        #expect(whole["next"] == nil)
    }

    @Test func `takes as many look-ups with many titles as with few`() async throws {
        let test = try await TestService(.silence)
        let (database, service) = try await test.counted()
        let headers = try await session(test)
        func reads() async throws -> Int {
            let before = database.reads
            let answer = await service.router.respond(to: HTTPRequest(.get, "/v1/shelf", headers: headers))
            #expect(answer.status == .ok)
            return database.reads - before
        }
        _ = try await test.order()
        let few = try await reads()
        for _ in 0..<20 { _ = try await test.order() }
        #expect(try await reads() == few)
    }

    @Test func `is not for visitors to write on`() async throws {
        let test = try await TestService(.silence) { $0.guestAccount = "alice" }
        let order = try await test.order()
        let path = "/v1/shelf/\(order.id)/bookmarks"
        let headers = try await session(test)
        let kept = try await test.call(.post, path, headers: headers, body: ["seconds": 1])
        #expect(kept.status == 201)
        #expect(try await test.call(.get, "/v1/shelf/\(order.id)").json["guest"] == true)
        #expect(try await test.call(.get, "/v1/shelf/\(order.id)", headers: headers).json["guest"] == false)
        #expect(try await test.send(.post, path, body: ["seconds": 2]).status == 401)
        #expect(try await test.send(.delete, "\(path)/\(kept.json["id"]?.string ?? "")").status == 401)
        #expect(try await test.send(.get, path).status == 401)
        #expect(try await test.call(.get, path, headers: headers).json["bookmarks"]?.array?.count == 1)
    }
}

struct `A list of orders` {
    /// With hundreds of thousands of orders a list that reads them all blocks all requests.
    @Test func `of one account or number does not read other orders`() async throws {
        let sqlite = try requirePeer("sqlite3")
        let test = try await TestService(.silence)
        let path = try Home(at: test.directory.path).databasePath
        let lists = (ShelfStore.statements + OrderStore.statements).filter {
            $0.description.contains("LIMIT") && ($0.description.contains("account_id = $1") || $0.description.contains("= $5"))
        }
        #expect(lists.count == 5)
        for list in lists {
            let plan = try await checkProcess([sqlite, path, "EXPLAIN QUERY PLAN \(list)"])
            #expect(plan.contains("SEARCH orders") && !plan.contains("SCAN"), "\(plan)")
        }
    }
}
