// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelThreads
import CarrelTesting
import Glibc
import Testing

@Suite(.serialized) struct `A server` {
    static func routes(_ router: inout Router) {
        router.on(.get, "hello/{name}", secret: ["name"]) { _, parameters in .text("hello \(parameters["name"])") }
        router.on(.get, "later") { _, _ in
            try await Task.sleep(for: .milliseconds(5))
            return .text("later")
        }
        router.on(.get, "fail") { _, _ in throw HTTPError(.conflict, "order.taken", "taken") }
        router.on(.post, "small") { request, _ in .text("\(try await request.body.collect(upTo: 1000).count)") }
        router.on(.post, "echo", acceptsChunks: true) { request, _ in
            .bytes(try await request.body.collect(upTo: 1 << 20), type: "application/octet-stream")
        }
        router.on(.get, "large/{count}") { _, parameters in
            .bytes([UInt8](repeating: 65, count: Int(parameters["count"]) ?? 0), type: "text/plain")
        }
        router.on(.get, "nothing") { _, _ in .empty(.noContent) }
        router.on(.get, "broken") { _, _ in HTTPResponse(headers: ["X-Bad": "a\r\nX-Injected: b"]) }
    }

    @Test func `answers with the default fields`() async throws {
        try await withServer(Self.routes) { server in
            let response = try await server.get("/hello/you")
            #expect(response.status == 200 && response.text == "hello you")
            #expect(response["content-type"] == "text/plain; charset=utf-8" && response["content-length"] == "9")
            #expect(response["x-content-type-options"] == "nosniff" && response["referrer-policy"] == "no-referrer")
            #expect(response["server"] == nil && response["date"].flatMap { Instant.parse(httpDate: $0) } != nil)
            let id = try #require(response["x-request-id"])
            let record = try #require(try await server.log(1).first)
            #expect(record.id == id && record.status == .ok && record.bytes == 9 && record.method == "GET" && record.isWhole)
            #expect(record.path == "/hello/*" && record.route == "hello/{name}" && record.peer.description == "127.0.0.1")
            #expect(!record.json.contains("you"))
        }
    }

    @Test func `keeps a connection for many requests, of handlers that wait and that do not`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            for i in 0..<50 {
                let target = i % 3 == 0 ? "/later" : i % 3 == 1 ? "/hello/\(i)" : "/fail"
                try await client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == (i % 3 == 2 ? 409 : 200))
            }
            #expect(try await server.log(50).count == 50)
        }
    }

    @Test func `answers pipelined requests in order`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send(
                (0..<20).map { "GET \($0 % 4 == 0 ? "/later" : "/hello/\($0)") HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined()
            )
            for i in 0..<20 { #expect(try await client.response().text == (i % 4 == 0 ? "later" : "hello \(i)")) }
        }
    }

    @Test(arguments: ["/hello/a", "/later", "/large/5000", "/large/300000", "/nothing"])
    func `answers HEAD as GET without the body`(target: String) async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let get = try await client.response()
            try await client.send(
                "HEAD \(target) HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hello/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            let head = try await client.response(toHead: true)
            #expect(head.status == get.status && head["content-length"] == get["content-length"])
            #expect(try await client.response().text == "hello x")
        }
    }

    @Test(arguments: [0, 1, 4096, 4097, 100_000, 5_000_000])
    func `sends bytes of every size`(count: Int) async throws {
        try await withServer(Self.routes) { server in
            let response = try await server.get("/large/\(count)")
            #expect(response.body.count == count && response["content-length"] == String(count))
        }
    }

    @Test(arguments: [0, 1, 1000, 300_000, 1 << 20])
    func `reads bodies with a length and chunked, drip-fed and in one piece`(count: Int) async throws {
        try await withServer(Self.routes) { server in
            let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let client = try server.client()
            try await client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(count)\r\n\r\n")
            try await client.send(body)
            #expect(try await client.response().body == body)
            try await client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            var at = 0
            while at < count {
                let chunk = body[at..<min(count, at + 77777)]
                try await client.send(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10])
                at += chunk.count
            }
            try await client.send("0\r\n\r\n")
            let response = try await client.response()
            #expect(response.body == body && response["connection"] == "close")
        }
    }

    @Test func `reads a request that comes byte by byte`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            for byte in "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde".utf8 {
                try await client.send([byte])
            }
            #expect(try await client.response().text == "abcde")
        }
    }

    @Test func `sends 100 Continue to those who wait for it`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.response().status == 100)
            try await client.send("ok")
            #expect(try await client.response().text == "ok")
            // Not when the answer is known already.
            try await client.send(
                "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
            )
            let refused = try await client.response()
            #expect(refused.status == 404 && refused["connection"]?.lowercased() == "close")
        }
    }

    @Test func `refuses a body in chunks that is too large while it comes`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 1, count: 65536) + [13, 10]
            for _ in 0..<100 { try await client.send(chunk) }
            let response = try await client.response()
            #expect(response.status == 413 && response.text.contains(#""code":"request.too-large","alias":"http.bodyTooLarge""#))
            let log = try await server.log(1)
            #expect(log.first?.status.rawValue == 413 && log.first?.isWhole == true)
        }
    }

    @Test func `refuses a body of some length that is too large, and keeps serving`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
            for _ in 0..<10 { try await client.send([UInt8](repeating: 1, count: 100_000)) }
            let response = try await client.response()
            #expect(response.status == 413 && response.text.contains(#""code":"request.too-large","alias":"http.bodyTooLarge""#))
            try await client.send("GET /hello/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.response().text == "hello a")
        }
    }

    @Test func `never sends a field that would begin another`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(!all.lowercased().contains("x-injected"))
            #expect(try await server.log(1).first?.status == .internalServerError)
        }
    }

    @Test func `deals connections out in turn, one worker as many as the next`() async throws {
        // A handler that does not wait runs on its connection's worker.
        try await withServer({ $0.on(.get, "worker") { _, _ in .text(currentThread()) } }, workers: 3) { server in
            var clients: [RawClient] = []
            var dealt: [String: Int] = [:]
            for _ in 0..<21 {
                let client = try server.client()
                clients.append(client)
                var workers: Set<String> = []
                for _ in 0..<3 {
                    try await client.send("GET /worker HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    workers.insert(try await client.response().text)
                }
                #expect(workers.count == 1, "a connection stays where it is")
                for worker in workers { dealt[worker, default: 0] += 1 }
            }
            #expect(Array(dealt.values) == [7, 7, 7])
        }
    }

    @Test func `answers many connections concurrently`() async throws {
        try await withServer(Self.routes, workers: 2) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for i in 0..<20 {
                    group.addTask {
                        let client = try server.client()
                        for _ in 0..<20 {
                            try await client.send("GET \(i % 2 == 0 ? "/later" : "/hello/x") HTTP/1.1\r\nHost: localhost\r\n\r\n")
                            #expect(try await client.response().status == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await server.log(400).count == 400)
        }
    }
}

/// Tells threads apart.
private func currentThread() -> String { "\(pthread_self())" }
