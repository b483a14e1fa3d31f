// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
@testable import CarrelHTTPServer
import CarrelMetrics
import CarrelTesting
import Glibc
import Testing

/// Memory for the bodies of requests. A trusted proxy names the clients' addresses.
@Suite(.serialized) struct `Bodies in memory` {
    static let configuration = {
        var configuration = patient
        configuration.bodyMemory = 800_000
        configuration.trustedProxies = ["127.0.0.1"].compactMap { AddressRange($0) }
        return configuration
    }()

    static func routes(_ router: inout Router) {
        router.on(.post, "collect") { request, _ in .text("\(try await request.body.collect(upTo: 1 << 20).count)") }
        router.on(.post, "count") { request, _ in
            var count = 0
            while let chunk = try await request.body.next() { count += chunk.count }
            return .text("\(count)")
        }
    }

    /// Sends a head that announces `count` bytes, and `sent` of them.
    private func post(_ server: TestServer, _ path: String, from address: String, count: Int, sent: Int) async throws -> RawClient
    {
        let client = try server.client()
        try await client.send(
            "POST /\(path) HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: \(address)\r\nContent-Length: \(count)\r\n\r\n"
        )
        try await client.send([UInt8](repeating: 65, count: sent))
        return client
    }

    private func awaitHeld(_ server: TestServer, _ bytes: Int) async throws {
        try await eventually("\(bytes) bytes are held") {
            server.metrics.text().contains("carrel_http_request_body_bytes \(bytes)\n")
        }
    }

    @Test func `are an eighth from one network at most, without affecting others`() async throws {
        try await withServer(Self.routes, configuration: Self.configuration) { server in
            let first = try await post(server, "collect", from: "203.0.113.1", count: 90_000, sent: 80_000)
            try await awaitHeld(server, 80_000)
            let second = try await post(server, "collect", from: "203.0.113.1", count: 50_000, sent: 50_000)
            let refused = try await second.response()
            #expect(refused.status == 503 && refused["retry-after"] == "5" && refused.text.contains("http.body-memory"))
            let other = try await post(server, "collect", from: "203.0.113.2", count: 50_000, sent: 50_000)
            #expect(try await other.response().text == "50000")
            try await first.send([UInt8](repeating: 65, count: 10_000))
            #expect(try await first.response().text == "90000")
            try await awaitHeld(server, 0)
            #expect(server.metrics.text().contains("carrel_http_bodies_refused_total 1\n"))
        }
    }

    @Test(arguments: [("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true), ("2001:db8:0:1::1", "2001:db8:0:2::1", false)])
    func `of IPv6 count by the first 64 bits`(first: String, second: String, isOneNetwork: Bool) async throws {
        try await withServer(Self.routes, configuration: Self.configuration) { server in
            let holding = try await post(server, "collect", from: first, count: 90_000, sent: 80_000)
            try await awaitHeld(server, 80_000)
            let other = try await post(server, "collect", from: second, count: 50_000, sent: 50_000)
            #expect(try await other.response().status == (isOneNetwork ? 503 : 200))
            withExtendedLifetime(holding) {}
        }
    }

    @Test func `are limited in total, and abandoned ones are not counted`() async throws {
        try await withServer(Self.routes, configuration: Self.configuration) { server in
            var clients: [RawClient] = []
            for i in 1...8 {
                clients.append(try await post(server, "collect", from: "203.0.113.\(i)", count: 110_000, sent: 95_000))
            }
            try await awaitHeld(server, 8 * 95_000)
            let refused = try await post(server, "collect", from: "203.0.113.9", count: 80_000, sent: 80_000)
            #expect(try await refused.response().status == 503)
            for client in clients { client.hangUp() }
            try await awaitHeld(server, 0)
            let taken = try await post(server, "collect", from: "203.0.113.9", count: 80_000, sent: 80_000)
            #expect(try await taken.response().text == "80000")
        }
    }

    @Test func `that are read piece by piece may be longer than all of it`() async throws {
        var configuration = Self.configuration
        configuration.bodyMemory = 8 << 20
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try await post(server, "count", from: "203.0.113.1", count: 12_000_000, sent: 0)
            for _ in 0..<120 { try await client.send([UInt8](repeating: 65, count: 100_000)) }
            #expect(try await client.response().text == "12000000")
            try await awaitHeld(server, 0)
        }
    }
}

@Suite(.serialized) struct `Connections of one network` {
    private func counts(_ change: (inout ServerConfiguration) -> Void = { _ in }) -> ConnectionCounts {
        var configuration = ServerConfiguration()
        configuration.maximumConnections = 8
        change(&configuration)
        return ConnectionCounts(configuration, Forwarding(trusted: ["10.0.0.0/8"].compactMap { AddressRange($0) }))
    }

    @Test func `are a quarter of all at most`() throws {
        let counts = counts()
        let (first, second) = (try #require(IPAddress("203.0.113.1")), try #require(IPAddress("203.0.113.2")))
        #expect(counts.admit(10, from: first) && counts.admit(11, from: first))
        #expect(!counts.admit(12, from: first))
        #expect(counts.admit(12, from: second))
        counts.remove(10)
        #expect(counts.admit(13, from: first) && !counts.admit(14, from: first))
        #expect(counts.total == 3)
    }

    @Test func `of IPv6 are counted for a /64`() throws {
        let counts = counts { $0.connectionsPerNetwork = 1 }
        let (first, neighbour) = (try #require(IPAddress("2001:db8:0:1::1")), try #require(IPAddress("2001:db8:0:1:2::1")))
        let other = try #require(IPAddress("2001:db8:0:2::1"))
        #expect(counts.admit(10, from: first))
        #expect(!counts.admit(11, from: neighbour))
        #expect(counts.admit(11, from: other))
    }

    @Test(arguments: ["127.0.0.1", "::1", "10.1.2.3"]) func `are not limited for this machine and for proxies`(text: String)
        throws
    {
        let counts = counts()
        let address = try #require(IPAddress(text))
        for i in 0..<8 { #expect(counts.admit(Int32(10 + i), from: address)) }
        #expect(!counts.admit(20, from: address), "beyond all")
        #expect(counts.admitUnix(20), "the operator gets in all the same")
    }

    @Test func `are not limited where the operator says so`() throws {
        let counts = counts { $0.connectionsPerNetwork = 0 }
        let address = try #require(IPAddress("203.0.113.1"))
        for i in 0..<8 { #expect(counts.admit(Int32(10 + i), from: address)) }
    }

    @Test func `leave the home's socket open when there are no more`() async throws {
        let folder = TemporaryDirectory()
        var configuration = patient
        configuration.maximumConnections = 2
        configuration.listeners.append(.unix(path: folder.file("socket"), users: [getuid()]))
        try await withServer({ $0.on(.get, "a") { _, _ in .text("a") } }, configuration: configuration) { server in
            let clients = try (0..<2).map { _ in try server.client() }
            for client in clients {
                try await client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await client.response().status == 200)
            }
            #expect(try await server.client().receiveAll().isEmpty)
            let curl = ["curl", "-sS", "--unix-socket", folder.file("socket"), "http://localhost/a"]
            for _ in 0..<3 { #expect(try await runProcess(curl).text == "a") }
            #expect(server.metrics.text().contains("carrel_http_connections_refused_total 1"))
        }
    }
}

@Suite(.serialized) struct `A client that takes little of a response` {
    static func routes(_ router: inout Router) {
        router.on(.get, "large") { _, _ in .bytes([UInt8](repeating: 1, count: 16 << 20), type: "a/b") }
        router.on(.get, "slow") { _, _ in
            HTTPResponse(
                body: .stream(length: nil) { writer in
                    for _ in 0..<10 {
                        try await writer.write([1])
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
            )
        }
    }

    static func configuration(rate: Int) -> ServerConfiguration {
        var configuration = patient
        configuration.stalledWriter = .milliseconds(400)
        configuration.minimumReadRate = rate
        return configuration
    }

    @Test func `again and again is cut, although it never stops`() async throws {
        try await withServer(Self.routes, configuration: Self.configuration(rate: 1 << 30)) { server in
            let client = try server.client(receiveBuffer: 4096)
            try await client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            var count = 0
            for _ in 0..<200 {
                guard let bytes = try? await client.receive(), !bytes.isEmpty else { break }
                count += bytes.count
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(count < 16 << 20)
            let log = try await server.log(1)
            #expect(log.first?.isWhole == false)
        }
    }

    @Test func `is kept while it takes enough`() async throws {
        try await withServer(Self.routes, configuration: Self.configuration(rate: 1024)) { server in
            let client = try server.client(receiveBuffer: 4096)
            try await client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for _ in 0..<8 {
                #expect(!(try await client.receive()).isEmpty)
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(!(try await client.receive()).isEmpty)
        }
    }

    @Test func `is not blamed for a response that comes slowly`() async throws {
        try await withServer(Self.routes, configuration: Self.configuration(rate: 1 << 30)) { server in
            let response = try await server.get("/slow")
            #expect(response.body.count == 10)
        }
    }
}
