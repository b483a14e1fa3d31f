// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

/// A server that answers every request with 200 and keeps what it got.
final class Recorder: Sendable {
    let server: LoopbackServer
    private let kept: Locked<[LoopbackRequest]>

    init(status: Int = 200, fields: [String] = [], body: String = "") {
        let kept = Locked<[LoopbackRequest]>([])
        self.kept = kept
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                kept.withLock { $0.append(request) }
                connection.respond(status, fields, body: request.method == "HEAD" ? [] : Array(body.utf8))
            }
        }
    }

    var base: String { "http://127.0.0.1:\(server.port)" }
    var requests: [LoopbackRequest] { kept.withLock { $0 } }
}

struct `A request` {
    let client = HTTPClient()

    @Test(arguments: [HTTPMethod.get, .delete, .options, HTTPMethod(rawValue: "PROPFIND")])
    func `without a body has its method, target and fields as given`(method: HTTPMethod) async throws {
        let recorder = Recorder()
        let response = try await client.send(
            ClientRequest(method, "\(recorder.base)/a/../b%2f?x=1&y=%20", headers: ["X-One": "1", "X-Empty": "", "x-one": "2"])
        )
        #expect(response.status == .ok)
        let request = try #require(recorder.requests.first)
        #expect(request.method == method.rawValue)
        #expect(request.target == "/a/../b%2f?x=1&y=%20", "neither dots nor escapes are touched")
        #expect(request.lines.filter { $0.lowercased().hasPrefix("x-") } == ["X-One: 1", "X-Empty:", "x-one: 2"])
        #expect(request["User-Agent"] == "carrel")
        #expect(request["Content-Length"] == nil)
        #expect(request["Transfer-Encoding"] == nil)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch])
    func `that changes something and has no body says so`(method: HTTPMethod) async throws {
        let recorder = Recorder()
        _ = try await client.send(ClientRequest(method, recorder.base))
        let request = try #require(recorder.requests.first)
        #expect(request.method == method.rawValue)
        #expect(request["Content-Length"] == "0")
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .delete], [0, 1, 600_000])
    func `sends its bytes`(method: HTTPMethod, count: Int) async throws {
        let recorder = Recorder()
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }
        _ = try await client.send(ClientRequest(method, recorder.base, headers: ["Content-Type": "x/y"], body: .bytes(body)))
        let request = try #require(recorder.requests.first)
        #expect(request.method == method.rawValue)
        let isWhole = request.has(body)
        #expect(isWhole)
        #expect(request["Content-Length"] == "\(count)")
        #expect(request["Content-Type"] == "x/y")
        #expect(request["Expect"] == nil)
    }

    @Test func `sends a part of a file`() async throws {
        let recorder = Recorder()
        let directory = TemporaryDirectory()
        let bytes = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
        let file = try OpenFile(path: directory.write("file", bytes))
        _ = try await client.send(ClientRequest(.put, recorder.base, body: .file(file, 1000..<400_000)))
        let isPart = recorder.requests.first?.has(bytes[1000..<400_000])
        #expect(isPart == true)
        await #expect(throws: HTTPClientError(.body)) {
            try await client.send(ClientRequest(.put, recorder.base, body: .file(file, 1000..<600_000)))
        }
    }

    @Test(arguments: [true, false])
    func `streams its body as it comes`(isLengthKnown: Bool) async throws {
        let recorder = Recorder()
        let chunks = (0..<40).map { [UInt8](repeating: UInt8($0), count: $0 * 5000) }
        let next = Locked(0)
        let stream = ClientRequestBody.stream(length: isLengthKnown ? Int64(chunks.joined().count) : nil) {
            await Task.yield()
            return next.withLock { next in
                next += 1
                return next <= chunks.count ? chunks[next - 1] : nil
            }
        }
        _ = try await client.send(ClientRequest(.post, recorder.base, body: stream))
        let request = try #require(recorder.requests.first)
        let isWhole = request.has(chunks.joined())
        #expect(isWhole)
        #expect(request["Transfer-Encoding"] == (isLengthKnown ? nil : "chunked"))
    }

    struct Broken: Error {}

    @Test(arguments: [99, 101, nil])
    func `whose streamed body fails or has another length than it said fails`(count: Int?) async throws {
        let recorder = Recorder()
        let given = Locked(false)
        let body = ClientRequestBody.stream(length: 100) {
            guard let count else { throw Broken() }
            let first = given.withLock { given in
                defer { given = true }
                return !given
            }
            return first ? [UInt8](repeating: 1, count: count) : nil
        }
        await #expect(throws: HTTPClientError(.body)) {
            try await client.send(ClientRequest(.post, recorder.base, body: body))
        }
        #expect(recorder.requests.isEmpty)
    }

    @Test func `stops to ask for the body's chunks when it is cancelled`() async throws {
        let recorder = Recorder()
        let asked = Locked(false)
        let task = Task {
            let body = ClientRequestBody.stream(length: nil) {
                asked.withLock { $0 = true }
                try await Task.sleep(for: .seconds(1000))
                return nil
            }
            return try await client.send(ClientRequest(.post, recorder.base, body: body))
        }
        try await eventually { asked.withLock { $0 } }
        task.cancel()
        await #expect(throws: HTTPClientError(.cancelled)) { try await task.value }
    }

    @Test(arguments: [
        "", "example.org", "ftp://example.org/", "file:///etc/passwd", "http://", "http:///path", "http://a b/",
        "http://h/\r\nX: y",
        "http://h/\u{0}", "gopher://h", "http://[::1", "http://h:99999/", "javascript:1",
    ])
    func `to a URL other than http or https is refused`(url: String) async {
        await #expect(throws: HTTPClientError(.url)) { try await client.send(ClientRequest(url)) }
    }

    @Test(arguments: [
        ("X", "a\r\nY: b"), ("X", "a\nb"), ("X y", "a"), ("", "a"), ("X:", "a"), ("X", "a\u{0}b"), ("Content-Length", "5"),
        ("transfer-encoding", "chunked"),
    ])
    func `with a field that could become another is refused`(name: String, value: String) async {
        let recorder = Recorder()
        await #expect(throws: HTTPClientError(.header)) {
            try await client.send(ClientRequest(recorder.base, headers: [name: value]))
        }
        #expect(recorder.server.connectionCount == 0)
    }

    @Test func `keeps the password of its URL out of the response and of errors`() async throws {
        let recorder = Recorder()
        let response = try await client.send(ClientRequest("http://ann:s3cret@127.0.0.1:\(recorder.server.port)/x"))
        #expect(recorder.requests.first?["Authorization"] == "Basic YW5uOnMzY3JldA==")
        #expect(response.url == "\(recorder.base)/x")
        var caught: HTTPClientError?
        do { _ = try await client.send(ClientRequest("http://ann:s3cret@127.0.0.1:1/secret")) } catch { caught = error }
        #expect(caught == HTTPClientError(.refused))
        #expect(caught?.description.contains("cret") == false)
    }

    @Test(arguments: [
        (ClientRange.bytes(0...9), "bytes=0-9"), (.from(5), "bytes=5-"), (.last(7), "bytes=-7"),
    ])
    func `asks for a range`(range: ClientRange, field: String) async throws {
        let recorder = Recorder()
        var request = ClientRequest(recorder.base)
        request.range = range
        _ = try await client.send(request)
        #expect(recorder.requests.first?["Range"] == field)
    }

    @Test func `goes through a Unix socket`() async throws {
        let directory = TemporaryDirectory()
        let server = LoopbackServer(unixSocketPath: directory.file("socket")) { connection in
            let request = connection.readRequest()
            connection.respond(200, [], body: Array((request?["Host"] ?? "").utf8))
        }
        var request = ClientRequest("http://carrel/x")
        request.unixSocketPath = directory.file("socket")
        let response = try await client.send(request)
        #expect(response.body == Array("carrel".utf8))
        withExtendedLifetime(server) {}
    }
}
