// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRelay
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelTokens
import Testing

/// The load of many clients, and a certificate that cannot be fetched.
struct `A relay of many clients` {
    private static let spc = [UInt8](0...255)

    @Test func `sends the message that it verified, and nothing if there are several`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license") { $0.fields = ["X-AxDRM-Message"] }
        let message = try relayed.message()
        func headers(_ messages: [String]) -> HTTPFields {
            var headers: HTTPFields = ["Content-Type": "application/octet-stream"]
            for text in messages { headers.append("x-axdrm-message", text) }
            return headers
        }
        for messages in [[message, "x"], ["x", message], [message, message]] {
            let answer = try await relayed.send(Self.spc, nil, headers(messages))
            #expect(answer.status == 403 && answer.headers["X-AxDRM-ErrorMessage"]?.contains("several") == true)
        }
        #expect(server.count == 0)
        #expect(try await relayed.send(Self.spc, nil, headers([message])).status == 200)
        let head = try #require(server.request(1)).head
        let lines = head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("x-axdrm-message:") }
        #expect(lines == ["X-AxDRM-Message: \(message)"])
        await server.stop()
    }

    @Test func `has an eighth of its requests for one network, and its certificate needs none of them`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/stall") {
            ($0.concurrency, $0.timeout) = (8, .seconds(4))
            $0.certificateURL = "\(server.url)/certificate"
        }
        let message = try relayed.message()
        async let first = relayed.send(Self.spc, message, from: "192.0.2.1")
        while server.count < 1 { try await Task.sleep(for: .milliseconds(5)) }
        let shed = try await relayed.send(Self.spc, message, from: "192.0.2.1")
        #expect(shed.status == 503 && shed.headers["Retry-After"] == "5" && server.count == 1)
        async let other = relayed.send(Self.spc, message, from: "198.51.100.1")
        while server.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await relayed.test.send(.get, "/v1/relay/fairplay/certificate").status == 200)
        let (one, two) = (try await first, try await other)
        #expect(one.status == 504 && two.status == 504)
        await server.stop()
    }

    @Test func `grants licenses while its certificate cannot be fetched, and remembers the failure for seconds`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license") { $0.certificateURL = "\(server.url)/busy" }
        func certificate() async throws -> Int {
            try await relayed.test.send(.get, "/v1/relay/fairplay/certificate").status
        }
        for _ in 0..<10 { #expect(try await certificate() == 502) }
        #expect(server.count == 1, "one request failed, and nine did not send another")
        #expect(try await relayed.send(Self.spc, try relayed.message()).status == 200)
        let list = try await relayed.test.call(.get, "/admin/v1/relays", peer: RelayedService.local).json["relays"]?.array
        #expect(list?.first?["state"] == "available" && list?.first?["failure"] == .null)
        #expect(list?.first?["certificateFailure"]?.string?.contains("status 503") == true)
        relayed.test.clock.advance(by: .seconds(6))
        #expect(try await certificate() == 502)
        #expect(server.count == 3)
        await server.stop()
    }

    @Test func `serves its last certificate for a day while no new one can be fetched`() async throws {
        for (path, status) in [("/certificate", 200), ("/fleeting", 502)] {
            let server = try await LicenseServer()
            let relayed = try await RelayedService("\(server.url)/license") { $0.certificateURL = server.url + path }
            func certificate() async throws -> (status: Int, body: String, life: String?) {
                let answer = try await relayed.test.send(.get, "/v1/relay/fairplay/certificate")
                return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers["Cache-Control"])
            }
            #expect(try await certificate().status == 200)
            await server.stop()
            relayed.test.clock.advance(by: .seconds(100))
            for _ in 0..<2 {
                let answer = try await certificate()
                #expect(answer.status == status, "\(path)")
                if status == 200 { #expect(answer.body == "certificate 1" && answer.life == "no-store") }
            }
            relayed.test.clock.advance(by: .seconds(86_400))
            #expect(try await certificate().status == 502)
        }
    }

    @Test func `records a message that is repeated twice: its first request, and the number of the others`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license")
        for id in ["order-7", "order-7", "order-7", "order-8"] {
            #expect(try await relayed.send(Self.spc, try relayed.message(id: id)).status == 200)
        }
        let audit = relayed.test.service.audit
        try await audit.fold.flushAll()
        try await audit.group.settle()
        for (action, end) in [("relay.request", "256 B"), ("relay.answer", "status 200 256 B 256 B")] {
            var filter = AuditFilter()
            filter.action = action
            let entries = try await audit.list(filter)
            #expect(entries.map(\.reason).sorted() == ["order-7 \(end)", "order-7 \(end) +2", "order-8 \(end)"])
            #expect(entries.allSatisfy { $0.subject == "fairplay" })
        }
        await server.stop()
    }

    @Test func `has a key that cannot make grants here, wherever it was added`() async throws {
        let relayed = try await RelayedService("http://127.0.0.1:1/", with: [.relay, .clearKey, .administration])
        let node = try await relayed.test.another { $0.relays = [] }
        let film = KeyID(label: "film")
        func send(_ service: CarrelService, _ method: HTTPMethod, _ path: String, _ body: JSON, _ token: String? = nil) async
            -> Int
        {
            var headers: HTTPFields = ["Content-Type": "application/json"]
            if let token { headers["Authorization"] = "Bearer \(token)" }
            let peer = token == nil ? RelayedService.local : Peer.network(address: "192.0.2.1", port: 1)
            let request = HTTPRequest(method, path, headers: headers, body: body.write(), peer: peer)
            return await service.router.respond(to: request).status.rawValue
        }
        let keyPath = "/admin/v1/content-keys/\(film.hex)"
        #expect(await send(node, .put, keyPath, ["key": .string(String(repeating: "5a", count: 16))]) == 204)
        #expect(await send(node, .patch, keyPath, ["clearKey": true]) == 204)
        let path = "/admin/v1/communication-keys/\(relayed.key.id.uuid)"
        let key: JSON = ["key": .string(Base64.encode(Array(0..<32)))]
        #expect(await send(relayed.test.service, .put, path, key) == 409)
        // a node that does not have the relay's file does not know
        #expect(await send(node, .put, path, key) == 204)
        let ask: JSON = ["kids": [.string(Base64URL.encode(film.bytes))], "type": "temporary"]
        let message = try relayed.message()
        #expect(await send(node, .post, "/v1/clear-key", ask, message) == 200)
        #expect(await send(relayed.test.service, .post, "/v1/clear-key", ask, message) == 403)
        await node.database.close()
    }
}
