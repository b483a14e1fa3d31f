// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import Glibc
import Testing

/// A file to write to.
final class OutputFile: Sendable {
    let descriptor: Int32

    init(_ path: String) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    }

    deinit {
        close(descriptor)
    }
}

extension HTTPClient {
    func save(
        _ request: ClientRequest,
        to file: OutputFile,
        resumingAt offset: Int64 = 0,
        ifUnchanged validator: String? = nil
    ) async throws(HTTPClientError) -> ClientResponse {
        defer { withExtendedLifetime(file) {} }
        return try await download(request, to: file.descriptor, resumingAt: offset, ifUnchanged: validator)
    }
}

/// A server of these bytes that heeds `Range: bytes=N-`, unless it is told to ignore it.
private func rangeServer(_ bytes: [UInt8], ignoresRange: Bool = false) -> LoopbackServer {
    LoopbackServer { connection in
        while let request = connection.readRequest() {
            let first = request["Range"].flatMap { Int($0.dropFirst(6).dropLast(1)) }
            switch first {
            case .some(let first) where !ignoresRange && first >= bytes.count:
                connection.respond(416, ["Content-Range: bytes */\(bytes.count)"], body: Array("no such range".utf8))
            case .some(let first) where !ignoresRange:
                let field = "Content-Range: bytes \(first)-\(bytes.count - 1)/\(bytes.count)"
                connection.respond(206, [field], body: Array(bytes[first...]))
            default:
                connection.respond(200, [], body: bytes)
            }
        }
    }
}

struct `A download` {
    let client = HTTPClient()
    let directory = TemporaryDirectory()
    let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 13) }

    private func request(_ server: LoopbackServer, limit: Int64 = 2_000_000) -> ClientRequest {
        ClientRequest("http://127.0.0.1:\(server.port)/", maxResponseBytes: limit)
    }

    @Test func `goes straight into the file`() async throws {
        let server = rangeServer(bytes)
        let response = try await client.save(request(server), to: OutputFile(directory.file("f")))
        #expect(response.status == .ok)
        #expect(response.bytesReceived == 1_000_000)
        #expect(response.body.isEmpty)
        let isWhole = directory.read("f") == bytes
        #expect(isWhole)
    }

    @Test func `continues where it was broken off`() async throws {
        let server = rangeServer(bytes)
        directory.write("f", Array(bytes[..<400_000]))
        let file = OutputFile(directory.file("f"))
        let response = try await client.save(request(server), to: file, resumingAt: 400_000)
        #expect(response.status == .partialContent)
        #expect(response.bytesReceived == 600_000)
        let isWhole = directory.read("f") == bytes
        #expect(isWhole)
    }

    @Test func `writes nothing when the server starts over instead of continuing`() async throws {
        let server = rangeServer(bytes, ignoresRange: true)
        let path = directory.write("f", "begun")
        await #expect(throws: HTTPClientError(.range)) {
            try await client.save(request(server), to: OutputFile(path), resumingAt: 5)
        }
        #expect(directory.read("f") == Array("begun".utf8))
    }

    @Test func `writes nothing when the server answers with other bytes`() async throws {
        let server = rawServer("HTTP/1.1 206 OK\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n456789")
        let path = directory.write("f", "begun")
        await #expect(throws: HTTPClientError(.range)) {
            try await client.save(request(server), to: OutputFile(path), resumingAt: 5)
        }
        #expect(directory.read("f") == Array("begun".utf8))
    }

    @Test func `that has nothing left to get is told so`() async throws {
        let server = rangeServer(bytes)
        let path = directory.write("f", bytes)
        let response = try await client.save(request(server), to: OutputFile(path), resumingAt: 1_000_000)
        #expect(response.status == .rangeNotSatisfiable)
        #expect(response.headers["Content-Range"] == "bytes */1000000")
    }

    @Test func `keeps a refusal's words out of the file, and their beginning in the response`() async throws {
        let words = [UInt8](repeating: UInt8(ascii: "n"), count: 100_000)
        let server = LoopbackServer { connection in
            while connection.readRequest() != nil { connection.respond(403, [], body: words) }
        }
        let response = try await client.save(request(server), to: OutputFile(directory.file("f")))
        #expect(response.status == .forbidden)
        #expect(response.body.count == 64 << 10)
        #expect(directory.read("f")?.isEmpty == true)
    }

    @Test func `is refused when it is longer than the limit`() async throws {
        let server = rangeServer(bytes)
        let file = OutputFile(directory.file("f"))
        await #expect(throws: HTTPClientError(.tooLarge)) {
            try await client.save(request(server, limit: 999_999), to: file)
        }
    }

    @Test func `says so when the disk is full`() async throws {
        let server = rangeServer(bytes)
        var caught: HTTPClientError?
        do { _ = try await client.save(request(server), to: OutputFile("/dev/full")) } catch { caught = error }
        #expect(caught == HTTPClientError(.write))
        #expect(caught?.description.contains("No space left") == true)
    }

    /// A server of these bytes under an entity tag; it heeds `If-Range`, unless it is told to ignore it.
    private func versionServer(_ bytes: [UInt8], tag: String, ignoresIfRange: Bool = false) -> LoopbackServer {
        LoopbackServer { connection in
            while let request = connection.readRequest() {
                let first = request["Range"].flatMap { Int($0.dropFirst(6).dropLast(1)) }
                if let first, ignoresIfRange || request["If-Range"] == tag {
                    let field = "Content-Range: bytes \(first)-\(bytes.count - 1)/\(bytes.count)"
                    connection.respond(206, ["ETag: \(tag)", field], body: Array(bytes[first...]))
                } else {
                    connection.respond(200, ["ETag: \(tag)"], body: bytes)
                }
            }
        }
    }

    @Test func `continues the version that it has, and starts again with another one`() async throws {
        let server = versionServer(bytes, tag: "\"2\"")
        directory.write("f", Array(bytes[..<400_000]))
        let file = OutputFile(directory.file("f"))
        let same = try await client.save(request(server), to: file, resumingAt: 400_000, ifUnchanged: "\"2\"")
        #expect(same.status == .partialContent && same.bytesReceived == 600_000)
        #expect(directory.read("f") == bytes)
        directory.write("f", [UInt8](repeating: 1, count: 1_500_000))
        let other = try await client.save(request(server), to: file, resumingAt: 1_500_000, ifUnchanged: "\"1\"")
        #expect(other.status == .ok && other.bytesReceived == 1_000_000)
        #expect(directory.read("f") == bytes)
    }

    @Test func `takes no part of another version from a server that ignores If-Range`() async throws {
        let server = versionServer(bytes, tag: "\"2\"", ignoresIfRange: true)
        directory.write("f", Array(bytes[..<400_000]))
        await #expect(throws: HTTPClientError(.range)) {
            try await client.save(request(server), to: OutputFile(directory.file("f")), resumingAt: 400_000, ifUnchanged: "\"1\"")
        }
        #expect(directory.read("f") == Array(bytes[..<400_000]))
    }

    @Test func `shares a bandwidth limit with others, which can change`() async throws {
        let server = rangeServer(bytes)
        let limit = BandwidthLimit(bytesPerSecond: 500_000)
        var limited = request(server)
        limited.bandwidthLimits = [limit]
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<2 {
                group.addTask { [limited] in
                    try await client.save(limited, to: OutputFile(directory.file("f\(number)"))).bytesReceived
                }
            }
            group.addTask {
                try await Task.sleep(for: .milliseconds(1000))
                limit.bytesPerSecond = nil
                return 0
            }
            for try await count in group { #expect(count == 1_000_000 || count == 0) }
        }
        // two million bytes at half a million a second would take four seconds
        let elapsed = start.duration(to: .now)
        #expect(elapsed > .milliseconds(1000) && elapsed < .milliseconds(3000), "\(elapsed)")
        #expect(limit.bytesPerSecond == nil)
    }
}
