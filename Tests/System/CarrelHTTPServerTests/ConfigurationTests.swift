// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelMetrics
import CarrelTesting
import Testing

struct `Addresses` {
    // RFC 5952 §4 and its kind.
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("::", "::"), ("::1", "::1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("1::", "1::"),
    ])
    func `are read and written`(text: String, canonical: String) throws {
        #expect(try #require(IPAddress(text)).description == canonical)
    }

    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "0x7f.1", "2130706433", "[::1]", ":::", "1.2.3.4 ",
        "::1%lo",
    ])
    func `of another shape are none`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "8.8.8.8", true), ("0.0.0.0/0", "::1", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
        ("192.0.2.128/25", "192.0.2.200", true),
        ("192.0.2.128/25", "192.0.2.100", false), ("127.0.0.0/8", "::ffff:127.0.0.1", true),
    ])
    func `lie in a block or not`(block: String, address: String, isIn: Bool) throws {
        #expect(try #require(AddressRange(block)).contains(try #require(IPAddress(address))) == isIn)
    }

    @Test(arguments: [
        "", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "a/8", "10.0.0.0/+8",
        "10.0.0.0/0008",
    ])
    func `in another shape are not blocked`(text: String) {
        #expect(AddressRange(text) == nil)
    }
}

@Suite(.serialized) struct `With a proxy in front` {
    static func routes(_ router: inout Router) {
        router.on(.get, "who") { request, _ in .text("\(request.peer) \(request.scheme) \(request.authority) \(request.id)") }
        router.on(.post, "change") { _, _ in .text("changed") }
    }

    static let forwarded =
        "X-Forwarded-For: 203.0.113.9, 198.51.100.7, 10.1.2.3\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: books.example\r\nX-Request-Id: abc-1\r\n"

    @Test func `that is trusted its word counts`() async throws {
        var configuration = patient
        configuration.trustedProxies = ["127.0.0.1", "10.0.0.0/8"].compactMap { AddressRange($0) }
        configuration.allowedHosts = ["books.example"]
        try await withServer(Self.routes, configuration: configuration) { server in
            let who = try await server.get("/who", Self.forwarded)
            #expect(who.text == "198.51.100.7 https books.example abc-1" && who["x-request-id"] == "abc-1")
            let log = try await server.log(1)
            #expect(log.first?.peer.description == "198.51.100.7" && log.first?.id == "abc-1")
            let origin = try await server.get(
                "/change",
                Self.forwarded + "Origin: https://books.example\r\nContent-Length: 0\r\n",
                method: "POST"
            )
            #expect(origin.status == 200)
            for junk in ["X-Forwarded-For: nonsense\r\n", "X-Forwarded-For: , ,\r\n", ""] {
                let plain = try await server.get("/who", junk)
                #expect(plain.text.hasPrefix("127.0.0.1 http localhost "))
            }
            let evil = try await server.get("/who", "X-Forwarded-Host: evil.example\r\n")
            #expect(evil.status == 421)
            let id = try await server.get("/who", "X-Request-Id: a b\r\n")
            #expect(id["x-request-id"] != "a b")
        }
    }

    @Test func `that is not trusted nothing of it counts`() async throws {
        try await withServer(Self.routes) { server in
            let who = try await server.get("/who", Self.forwarded)
            #expect(who.text.hasPrefix("127.0.0.1 http localhost ") && !who.text.contains("abc-1"))
        }
    }

    @Test func `or not, state changes from other origins are refused`() async throws {
        try await withServer(Self.routes) { server in
            for (fields, status) in [
                ("", 200), ("Origin: http://localhost\r\n", 200), ("Origin: http://evil.example\r\n", 403),
                ("Sec-Fetch-Site: cross-site\r\n", 403), ("Content-Type: application/x-www-form-urlencoded\r\n", 415),
            ] {
                let response = try await server.get("/change", fields + "Content-Length: 0\r\n", method: "POST")
                #expect(response.status == status, "\(fields)")
            }
        }
    }
}

@Suite(.serialized) struct `Connections` {
    @Test func `beyond the limit are closed`() async throws {
        var configuration = patient
        configuration.maximumConnections = 3
        try await withServer({ $0.on(.get, "a") { _, _ in .text("a") } }, configuration: configuration) { server in
            let clients = try (0..<3).map { _ in try server.client() }
            for client in clients {
                try await client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == 200)
            }
            let fourth = try await server.client().receiveAll()
            #expect(fourth.isEmpty)
            #expect(server.metrics.text().contains("carrel_http_connections_refused_total 1"))
            clients[0].hangUp()
            try await eventually("one more is let in") { (try? await server.get("/a").status) == 200 }
        }
    }
}
