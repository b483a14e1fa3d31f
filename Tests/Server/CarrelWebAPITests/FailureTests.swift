// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelThreads
import Glibc
import Testing

struct `Failures of the service` {
    private let operatorPeer = Peer.local(userID: getuid())

    @Test func `are told to the operator under the id that the client is given`() async throws {
        let told = Locked<[String]>([])
        let test = try await TestService(.silence) { settings in
            settings.onFailure = { error, request in told.withLock { $0.append("\(request.id) \(error)") } }
        }
        #expect(try await test.call(.get, "/v1/orders", peer: operatorPeer).status == 200)
        #expect(told.withLock { $0.isEmpty })
        await test.service.database.close()
        let failed = try await test.call(.get, "/v1/orders", peer: operatorPeer)
        #expect(failed.status == 503)
        let id = try #require(failed.json["requestId"]?.string)
        #expect(told.withLock { $0 } == ["\(id) the database is closed (store.closed)"])
    }
}

@Suite(.onBothDatabases)
struct `The character U+0000` {
    private let operatorPeer = Peer.local(userID: getuid())

    /// No database keeps it in text; it once gave 500.
    @Test func `is the client's mistake wherever text is taken`() async throws {
        let told = Locked<[String]>([])
        let test = try await TestService(.silence) { settings in
            settings.onFailure = { error, _ in told.withLock { $0.append("\(error)") } }
        }
        let order = try await test.order()
        let zero = "a\u{0}b"
        let interval: JSON = [
            "id": .string(String(order.id.dropLast()) + "\u{0}"), "startUtc": "2020-01-15T18:58:53Z",
            "endUtc": "2020-01-15T18:58:54Z",
            "startPosition": 1, "endPosition": 2,
        ]
        let requests: [(HTTPMethod, String, JSON?)] = [
            (.post, "/v1/orders", ["account": .string(zero), "title": .string(test.title.id)]),
            (.post, "/v1/orders", ["account": "a", "title": .string(zero)]),
            (.post, "/v1/orders", ["account": "a", "isbn": .string(zero)]),
            (.post, "/v1/orders", ["account": "a", "title": .string(test.title.id), "orderNumber": .string(zero)]),
            (.post, "/admin/v1/service-keys", ["name": .string(zero), "role": "admin"]),
            (.post, "/admin/v1/sessions", ["account": .string(zero)]), (.get, "/v1/orders?account=a%00b", nil),
            (.get, "/v1/orders?title=%00&orderNumber=%00", nil), (.get, "/v1/orders?after=1_%00", nil),
            (.get, "/v1/samples/1?isbn=%00", nil), (.get, "/Sample.ashx?isbn=%00", nil),
        ]
        for (method, target, body) in requests {
            let status = try await test.call(method, target, body: body, peer: operatorPeer).status
            #expect((400..<500).contains(status), "\(method) \(target) \(status)")
        }
        let report = try await test.call(.post, "/v2/states/", body: [interval])
        #expect(report.status == 200 && report.json["rejected"]?.array?.count == 1)
        #expect(told.withLock { $0 } == [])
    }
}
