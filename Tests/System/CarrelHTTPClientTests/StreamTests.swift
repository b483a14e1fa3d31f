// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

/// A server whose responses are `count` bytes, each the low byte of its place, and that knows how many it has got rid of.
final class Source: Sendable {
    let server: LoopbackServer
    private let sent: Locked<Int>

    init(count: Int) {
        let sent = Locked(0)
        self.sent = sent
        let block = (0..<65536).map { UInt8(truncatingIfNeeded: $0) }
        server = LoopbackServer { connection in
            while connection.readRequest() != nil {
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
                var left = count
                while left > 0, connection.write(left < block.count ? Array(block[..<left]) : block) {
                    sent.withLock { $0 += min(left, block.count) }
                    left -= min(left, block.count)
                }
            }
        }
    }

    var bytesSent: Int { sent.withLock { $0 } }
    var url: String { "http://127.0.0.1:\(server.port)/" }
}

struct `A streamed response` {
    let client = HTTPClient()
    static let size = 48 << 20

    @Test func `makes the server wait while its consumer does`() async throws {
        let source = Source(count: Self.size)
        let stream = try await client.open(ClientRequest(source.url, maxResponseBytes: Int64(Self.size)))
        #expect(stream.response.status == .ok)
        var received = 0
        received += try #require(try await stream.next()).count
        // what is not taken stays in the buffers of two sockets and ours: some megabytes, and then nothing moves
        var before = -1
        while before != source.bytesSent {
            before = source.bytesSent
            try await Task.sleep(for: .milliseconds(200))
        }
        #expect(source.bytesSent < Self.size / 2)
        var isInOrder = true
        while let chunk = try await stream.next() {
            isInOrder = isInOrder && chunk.first == UInt8(truncatingIfNeeded: received)
            #expect(chunk.count <= 512 << 10)
            received += chunk.count
        }
        #expect(received == Self.size)
        #expect(isInOrder)
        #expect(try await stream.next() == nil, "the end stays the end")
    }

    @Test func `does not hold up others while it waits`() async throws {
        let source = Source(count: Self.size)
        let stream = try await client.open(ClientRequest(source.url, maxResponseBytes: Int64(Self.size)))
        let recorder = Recorder(body: "x")
        for _ in 0..<5 {
            #expect(try await client.send(ClientRequest(recorder.base)).body == Array("x".utf8))
        }
        stream.cancel()
        await #expect(throws: HTTPClientError(.cancelled)) { while try await stream.next() != nil {} }
    }

    @Test func `ends with the last reference to it`() async throws {
        let source = Source(count: Self.size)
        var stream: ClientStream? = try await client.open(ClientRequest(source.url, maxResponseBytes: Int64(Self.size)))
        _ = try await stream?.next()
        stream = nil
        try await eventually { source.server.openConnectionCount == 0 }
    }

    @Test func `is handed over chunk by chunk`() async throws {
        let source = Source(count: 1_000_000)
        let heads = Locked(0)
        var received: [UInt8] = []
        let response = try await client.stream(ClientRequest(source.url)) { head in
            #expect(head.headers["Content-Length"] == "1000000")
            heads.withLock { $0 += 1 }
        } onChunk: { chunk in
            await Task.yield()
            received.append(copying: chunk)
        }
        #expect(heads.withLock { $0 } == 1)
        #expect(response.bytesReceived == 1_000_000)
        let isWhole = received == (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(isWhole)
    }

    struct Enough: Error {}

    @Test func `ends when its consumer throws`() async throws {
        let source = Source(count: Self.size)
        await #expect(throws: Enough.self) {
            try await client.stream(ClientRequest(source.url, maxResponseBytes: Int64(Self.size))) { _ in throw Enough() }
        }
        try await eventually { source.server.openConnectionCount == 0 }
    }

    @Test func `is refused when it is longer than the limit`() async throws {
        let server = LoopbackServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while connection.write([UInt8](repeating: 1, count: 1000)) {}
        }
        let stream = try await client.open(ClientRequest("http://127.0.0.1:\(server.port)/", maxResponseBytes: 1_000_000))
        var received = 0
        await #expect(throws: HTTPClientError(.tooLarge)) {
            while let chunk = try await stream.next() { received += chunk.count }
        }
        #expect(received <= 1_000_000)
    }

    @Test func `that breaks off gives what came and then says so`() async throws {
        let server = rawServer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
        let stream = try await client.open(ClientRequest("http://127.0.0.1:\(server.port)/"))
        #expect(try await stream.next() == Array("12345".utf8))
        await #expect(throws: HTTPClientError(.interrupted)) { try await stream.next() }
    }
}
