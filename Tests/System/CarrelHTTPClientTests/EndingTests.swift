// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

struct `A request that goes nowhere` {
    let client = HTTPClient()

    /// Reads a request and then sends nothing until the client hangs up.
    private static func silent() -> LoopbackServer {
        LoopbackServer { connection in
            _ = connection.readRequest()
            while connection.read() != nil {}
        }
    }

    @Test func `ends when its task is cancelled, without waiting for any time limit`() async throws {
        let server = Self.silent()
        for _ in 0..<20 {
            let before = server.connectionCount
            let task = Task { try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/")) }
            try await eventually { server.connectionCount > before }
            let start = ContinuousClock.now
            task.cancel()
            await #expect(throws: HTTPClientError(.cancelled)) { try await task.value }
            // an idle machine takes less than a millisecond; a busy one must not make the test fail
            #expect(start.duration(to: .now) < .seconds(20))
        }
        try await eventually { server.openConnectionCount == 0 }
    }

    @Test func `is not even begun when its task is cancelled already`() async throws {
        let server = Self.silent()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/"))
        }
        task.cancel()
        await #expect(throws: HTTPClientError(.cancelled)) { try await task.value }
    }

    @Test func `ends when its total time is over`() async throws {
        let server = Self.silent()
        let timeouts = ClientTimeouts(total: .milliseconds(150))
        var caught: HTTPClientError?
        do { _ = try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/", timeouts: timeouts)) } catch {
            caught = error
        }
        #expect(caught == HTTPClientError(.timeout))
        #expect(caught?.description.hasPrefix("no whole response within") == true)
    }

    @Test func `ends when a whole response trickles`() async throws {
        let server = LoopbackServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while connection.write("x") {
                if connection.waitToRead(milliseconds: 20) { return }
            }
        }
        let timeouts = ClientTimeouts(total: .milliseconds(300))
        await #expect(throws: HTTPClientError(.timeout)) {
            try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/", timeouts: timeouts))
        }
    }

    @Test func `ends when it makes no progress`() async throws {
        let server = Self.silent()
        let timeouts = ClientTimeouts(stall: .milliseconds(500))
        var caught: HTTPClientError?
        do { _ = try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/", timeouts: timeouts)) } catch {
            caught = error
        }
        #expect(caught == HTTPClientError(.timeout))
        #expect(caught?.description.hasPrefix("no progress within") == true)
    }

    @Test func `ends when no connection comes about in time`() async throws {
        // a listener whose queue is full answers no connection request
        let server = FullListener()
        let timeouts = ClientTimeouts(connect: .milliseconds(300))
        var caught: HTTPClientError?
        do { _ = try await client.send(ClientRequest("http://127.0.0.1:\(server.port)/", timeouts: timeouts)) } catch {
            caught = error
        }
        #expect(caught == HTTPClientError(.timeout))
        #expect(caught?.description.hasPrefix("no connection within") == true)
    }

    @Test func `is refused where nothing listens`() async throws {
        let port = LoopbackPort.free()
        for (host, place) in [("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]"), ("ann:s3cret@127.0.0.1", "127.0.0.1")] {
            let caught = await #expect(throws: HTTPClientError.self) {
                try await client.send(ClientRequest("http://\(host):\(port)/path?query"))
            }
            #expect(caught == HTTPClientError(.refused))
            #expect(caught?.description == "no connection could be made to \(place):\(port)")
        }
    }

    @Test func `finds no host of a name that is reserved for that`() async throws {
        await #expect(throws: HTTPClientError(.resolve)) {
            try await client.send(ClientRequest("http://carrel.invalid/"))
        }
    }
}
