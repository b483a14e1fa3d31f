// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

/// A server that answers every request with the same bytes and hangs up.
func rawServer(_ answer: String) -> LoopbackServer {
    LoopbackServer { connection in
        guard connection.readRequest() != nil else { return }
        connection.write(answer)
    }
}

struct `A response` {
    let client = HTTPClient()

    private func answer(_ text: String, limit: Int64 = 1000) async throws(HTTPClientError) -> ClientResponse {
        let server = rawServer(text)
        defer { withExtendedLifetime(server) {} }
        return try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/", maxResponseBytes: limit))
    }

    @Test(arguments: [200, 204, 304, 404, 500, 599])
    func `of any status is a response`(status: Int) async throws {
        let response = try await answer("HTTP/1.1 \(status) Word and word\r\nContent-Length: 0\r\n\r\n")
        #expect(response.status.rawValue == status)
        #expect(response.version == "1.1")
    }

    @Test func `has its fields in order, and no interim or trailer field`() async throws {
        let response = try await answer(
            "HTTP/1.1 103 Early\r\nLink: early\r\n\r\nHTTP/1.1 200 OK\r\nA:  one \r\nB: \r\na: two: three\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nC: trailer\r\n\r\n"
        )
        #expect(response.headers.values("a") == ["one", "two: three"])
        #expect(response.headers["B"] == "")
        #expect(response.headers["Link"] == nil)
        #expect(response.headers["C"] == nil)
        #expect(response.body == Array("abc".utf8))
        #expect(response.bytesReceived == 3)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "SSH-2.0-OpenSSH\r\n",
    ])
    func `whose head is not well-formed is refused`(text: String) async throws {
        await #expect(throws: HTTPClientError(.head)) { try await answer(text) }
    }

    @Test func `whose head is too long is refused`() async throws {
        let line = "A: " + String(repeating: "x", count: 1000) + "\r\n"
        await #expect(throws: HTTPClientError(.head)) {
            try await answer("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 200) + "\r\n")
        }
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
    ])
    func `that ends early is not taken for a whole one`(text: String) async throws {
        await #expect(throws: HTTPClientError(.interrupted)) { try await answer(text) }
    }

    @Test(arguments: [1000, 1001])
    func `is refused when it is longer than the limit, whether or not it says so`(count: Int) async throws {
        let body = String(repeating: "x", count: count)
        let answers = [
            "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n\(body)", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(body)\r\n0\r\n\r\n",
        ]
        for text in answers {
            if count <= 1000 {
                #expect(try await answer(text).body == Array(body.utf8))
            } else {
                await #expect(throws: HTTPClientError(.tooLarge)) { try await answer(text) }
            }
        }
    }

    @Test func `that is too long is refused at its head`() async throws {
        let server = LoopbackServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
            _ = connection.read()
        }
        await #expect(throws: HTTPClientError(.tooLarge)) {
            try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/"))
        }
    }

    @Test func `to HEAD may tell any length`() async throws {
        let server = rawServer("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        let response = try await client.send(ClientRequest(.head, "http://127.0.0.1:\(server.port)/"))
        #expect(response.headers["Content-Length"] == "99999999999")
        #expect(response.body.isEmpty)
    }

    @Test func `is decompressed only when that was asked for, and no further than the limit`() async throws {
        // one MiB of zeros, compressed by gzip(1) to about a kilobyte
        let bomb = try await runProcess(["gzip", "-9c"], input: [UInt8](repeating: 0, count: 1 << 20)).output
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let isAsked = request["Accept-Encoding"]?.contains("gzip") == true
                connection.respond(200, isAsked ? ["Content-Encoding: gzip"] : [], body: isAsked ? bomb : Array("plain".utf8))
            }
        }
        var request = ClientRequest("http://127.0.0.1:\(server.port)/")
        #expect(try await client.send(request).body == Array("plain".utf8))
        request.acceptsCompression = true
        #expect(try await client.send(request).body.count == 1 << 20)
        request.maxResponseBytes = 1 << 19
        await #expect(throws: HTTPClientError(.tooLarge)) { try await client.send(request) }
    }
}

struct `Connections` {
    @Test func `are kept for the next request, and closed with the client`() async throws {
        let recorder = Recorder(body: "x")
        var client: HTTPClient? = HTTPClient()
        for _ in 0..<10 { _ = try await client?.send(ClientRequest(recorder.base)) }
        #expect(recorder.server.connectionCount == 1)
        #expect(recorder.requests.count == 10)
        client = nil
        try await eventually { recorder.server.openConnectionCount == 0 }
    }

    @Test func `serve hundreds of concurrent requests, at most as many as allowed`() async throws {
        let recorder = Recorder(body: "x")
        let client = HTTPClient(configuration: HTTPClientConfiguration(maxConnectionsPerHost: 8))
        try await withThrowingTaskGroup { group in
            for i in 0..<300 {
                group.addTask { try await client.send(ClientRequest("\(recorder.base)/\(i)")).body }
            }
            for try await body in group { #expect(body == Array("x".utf8)) }
        }
        #expect(Set(recorder.requests.map(\.target)).count == 300)
        #expect(recorder.server.connectionCount <= 8)
    }

    @Test func `that the server closed meanwhile are opened again`() async throws {
        let server = LoopbackServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.respond(200, [], body: Array("x".utf8))
        }
        let client = HTTPClient()
        for _ in 0..<5 {
            let body = ClientRequestBody.bytes([1, 2, 3])
            let response = try await client.send(ClientRequest(.post, "http://127.0.0.1:\(server.port)/", body: body))
            #expect(response.body == Array("x".utf8))
        }
        #expect(server.connectionCount == 5)
    }

    @Test func `go to no proxy of the environment unless told to, and never for loopback`() async {
        await #expect(processExitsWith: .success) { try await checkProxies() }
    }
}

private func checkProxies() async throws {
    let proxy = Recorder(body: "proxy")
    let server = Recorder(body: "server")
    setEnvironment("http_proxy", proxy.base)
    let plain = HTTPClient()
    let proxied = HTTPClient(configuration: HTTPClientConfiguration(usesEnvironmentProxy: true))
    let careful = HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly, usesEnvironmentProxy: true))
    #expect(try await plain.send(ClientRequest(server.base)).body == Array("server".utf8))
    #expect(try await proxied.send(ClientRequest(server.base)).body == Array("server".utf8))
    let outside = ClientRequest("http://name.invalid/")
    #expect(try await proxied.send(outside).body == Array("proxy".utf8))
    await #expect(throws: HTTPClientError(.resolve)) { try await plain.send(outside) }
    await #expect(throws: HTTPClientError(.resolve)) { try await careful.send(outside) }
}
