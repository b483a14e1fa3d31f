// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelHTTP
import CarrelHTTPServer
import CarrelMetrics
import CarrelThreads
import Glibc
import Testing

/// Slow, stalled and vanished clients. The deadlines are short here; nothing waits longer than it must.
@Suite(.serialized) struct `A slow client` {
    static func configuration(_ change: (inout ServerConfiguration) -> Void) -> ServerConfiguration {
        var configuration = patient
        change(&configuration)
        return configuration
    }

    static func routes(_ router: inout Router) {
        router.on(.get, "hello") { _, _ in .text("hello") }
        router.on(.post, "echo", acceptsChunks: true) { request, _ in
            .bytes(try await request.body.collect(upTo: 1 << 20), type: "a/b")
        }
        router.on(.get, "large") { _, _ in .bytes([UInt8](repeating: 1, count: 16 << 20), type: "a/b") }
        router.on(.get, "sleep") { _, _ in
            try await Task.sleep(for: .milliseconds(400))
            return .text("slept")
        }
    }

    @Test func `that sends a header byte by byte is cut at the deadline`() async throws {
        let configuration = Self.configuration { $0.headerDeadline = .milliseconds(300) }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client()
            do {
                for byte in "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 1000))".utf8 {
                    try await client.send([byte])
                    try await Task.sleep(for: .milliseconds(20))
                }
                Issue.record("the server waited for all of it")
            } catch RawClient.Failure.closed {}
            #expect(server.metrics.text().contains("carrel_http_connections_cut_total 1"))
        }
    }

    @Test func `that sends nothing at all is cut`() async throws {
        let configuration = Self.configuration { $0.headerDeadline = .milliseconds(200) }
        try await withServer(Self.routes, configuration: configuration) { server in
            let all = try await server.client().receiveAll()
            #expect(all.isEmpty)
        }
    }

    @Test func `that keeps its connection without asking again is cut`() async throws {
        let configuration = Self.configuration { $0.keepAlive = .milliseconds(200) }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client()
            try await client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try await client.response()
            #expect(response.status == 200)
            let rest = try await client.receiveAll()
            #expect(rest.isEmpty)
        }
    }

    @Test func `that lets its next request drip in is cut as the first would be`() async throws {
        let configuration = Self.configuration { $0.headerDeadline = .milliseconds(300) }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client()
            try await client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.response().status == 200)
            // idle for longer than a header may take: that is allowed
            try await Task.sleep(for: .milliseconds(500))
            do {
                for byte in "GET /hello?\(String(repeating: "a", count: 1000))".utf8 {
                    try await client.send([byte])
                    try await Task.sleep(for: .milliseconds(20))
                }
                Issue.record("the server waited for all of it")
            } catch RawClient.Failure.closed {}
        }
    }

    @Test func `that sends its body too slowly is cut, and the handler hears of it`() async throws {
        let configuration = Self.configuration {
            $0.bodyDeadline = .milliseconds(300)
            $0.minimumBodyRate = 1_000_000
        }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client()
            try await client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
            do {
                for _ in 0..<1000 {
                    try await client.send("a")
                    try await Task.sleep(for: .milliseconds(20))
                }
                Issue.record("the server waited for all of it")
            } catch RawClient.Failure.closed {}
            let log = try await server.log(1)
            #expect(log.first?.isWhole == false)
        }
    }

    @Test func `that sends its body steadily is not cut`() async throws {
        let configuration = Self.configuration {
            $0.bodyDeadline = .milliseconds(500)
            $0.minimumBodyRate = 10
        }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client()
            let part = String(repeating: "a", count: 200)
            try await client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + part)
            for _ in 0..<4 {
                try await Task.sleep(for: .milliseconds(250))
                try await client.send(part)
            }
            let response = try await client.response()
            #expect(response.body.count == 1000)
        }
    }

    @Test func `that pauses reading is kept for a while and gets everything`() async throws {
        let configuration = Self.configuration {
            $0.headerDeadline = .milliseconds(200)
            $0.bodyDeadline = .milliseconds(200)
            $0.keepAlive = .milliseconds(200)
            $0.stalledWriter = .seconds(60)
        }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client(receiveBuffer: 4096)
            try await client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await Task.sleep(for: .seconds(1))
            let response = try await client.response()
            #expect(response.body.count == 16 << 20)
        }
    }

    @Test func `that pauses reading too long is cut`() async throws {
        let configuration = Self.configuration { $0.stalledWriter = .milliseconds(300) }
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client(receiveBuffer: 4096)
            try await client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let log = try await server.log(1)
            #expect(log.first?.isWhole == false)
        }
    }

    @Test func `does not hurry a handler`() async throws {
        let configuration = Self.configuration {
            $0.headerDeadline = .milliseconds(100)
            $0.bodyDeadline = .milliseconds(100)
            $0.keepAlive = .milliseconds(100)
            $0.stalledWriter = .milliseconds(100)
        }
        try await withServer(Self.routes, configuration: configuration) { server in
            let response = try await server.get("/sleep")
            #expect(response.text == "slept")
        }
    }

    @Test func `is cut at the end of the longest exchange`() async throws {
        let configuration = Self.configuration { $0.exchangeDeadline = .milliseconds(300) }
        let wasCancelled = Locked(false)
        try await withServer(
            { router in
                router.on(.get, "forever") { _, _ in
                    do {
                        try await Task.sleep(for: .seconds(60))
                    } catch {
                        wasCancelled.withLock { $0 = true }
                    }
                    return .text("never")
                }
            },
            configuration: configuration
        ) { server in
            let client = try server.client()
            try await client.send("GET /forever HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let all = try await client.receiveAll()
            #expect(all.isEmpty)
            try await eventually("the handler is cancelled") { wasCancelled.withLock { $0 } }
        }
    }

    @Test(arguments: ["GET", "POST"]) func `that hangs up cancels its handler immediately`(method: String) async throws {
        let (started, cancelled) = (Locked(false), Locked(false))
        try await withServer({ router in
            for method in [HTTPMethod.get, .post] {
                router.on(method, "forever") { request, _ in
                    started.withLock { $0 = true }
                    do {
                        if request.method == .post { _ = try await request.body.collect(upTo: 100) }
                        try await Task.sleep(for: .seconds(60))
                    } catch {
                        cancelled.withLock { $0 = true }
                    }
                    return .text("never")
                }
            }
        }) { server in
            let client = try server.client()
            try await client.send(
                "\(method) /forever HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(method == "GET" ? 0 : 10)\r\n\r\n"
            )
            try await eventually("the handler runs") { started.withLock { $0 } }
            client.hangUp()
            try await eventually("the handler is cancelled") { cancelled.withLock { $0 } }
            let log = try await server.log(1)
            #expect(log.first?.status == .clientClosedRequest && log.first?.isWhole == false)
        }
    }

    @Test func `among many that hang up at any time leaves nothing open`() async throws {
        try await withServer(Self.routes, workers: 2) { server in
            let requests = [
                "GET /sleep HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc", "GET /hel",
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            ]
            for i in 0..<200 {
                let client = try server.client()
                try await client.send(requests[i % requests.count])
                if i % 3 == 0 { try await Task.sleep(for: .milliseconds(i % 7)) }
                if i % 2 == 0 { client.hangUp() }
            }
            try await eventually("all connections are gone") { server.metrics.text().contains("carrel_http_connections 0\n") }
            #expect(server.metrics.text().contains("carrel_http_requests_in_flight 0\n"))
        }
    }
}
