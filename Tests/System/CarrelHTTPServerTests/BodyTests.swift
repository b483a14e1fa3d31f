// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Testing

@Suite(.serialized) struct `A response's body` {
    struct Broken: Error {}

    static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// Gives `bytes`, as many as the caller takes per call but not more than `step`.
    final class Source: BodySource, @unchecked Sendable {  // read by one thread
        private var at = 0
        private let step: Int
        private let end: Int
        private let failsAt: Int?

        init(step: Int = .max, end: Int, failsAt: Int? = nil) {
            self.step = step
            self.end = end
            self.failsAt = failsAt
        }

        func read(into out: inout OutputRawSpan) throws {
            if let failsAt, at >= failsAt { throw Broken() }
            let count = min(step, out.freeCapacity, end - at)
            for i in at..<at + count { out.append(bytes[i]) }
            at += count
        }
    }

    @Test(arguments: [0, 1, 80_000, 131_072, 131_073, 3_000_000], [true, false])
    func `is pulled with a length and without`(count: Int, hasLength: Bool) async throws {
        try await withServer({ router in
            router.on(.get, "pull") { _, _ in
                HTTPResponse(body: .pull(length: hasLength ? count : nil, Source(step: 50_000, end: count)))
            }
        }) { server in
            let response = try await server.get("/pull")
            #expect(response.body == Array(Self.bytes[..<count]))
            #expect(response["content-length"] == (hasLength ? String(count) : nil))
            let log = try await server.log(1)
            #expect(log.first?.bytes == count)
        }
    }

    @Test(arguments: [0, 1, 100_000, 3_000_000], [true, false])
    func `is streamed from a task, which waits for a slow client`(count: Int, hasLength: Bool) async throws {
        let most = Locked(0)
        try await withServer({ router in
            router.on(.get, "stream") { _, _ in
                HTTPResponse(
                    body: .stream(length: hasLength ? count : nil) { writer in
                        var at = 0
                        while at < count {
                            let next = min(count, at + 33_333)
                            try await writer.write(Array(Self.bytes[at..<next]))
                            at = next
                            most.withLock { $0 = at }
                            if at % 3 == 0 { await Task.yield() }
                        }
                    }
                )
            }
        }) { server in
            let client = try server.client(receiveBuffer: 4096)
            try await client.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try await client.response()
            #expect(response.body == Array(Self.bytes[..<count]))
            #expect(response["content-length"] == (hasLength ? String(count) : nil))
            try await eventually("the producer ends") { most.withLock { $0 } == count }
            // The connection stays open.
            try await client.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.response().body.count == count)
        }
    }

    @Test func `holds little while the client does not read, and ends when it goes`() async throws {
        let (written, ended) = (Locked(0), Locked(false))
        try await withServer({ router in
            router.on(.get, "endless") { _, _ in
                HTTPResponse(
                    body: .stream(length: nil) { writer in
                        do {
                            while true {
                                try await writer.write([UInt8](repeating: 1, count: 65536))
                                written.withLock { $0 += 65536 }
                            }
                        } catch {
                            ended.withLock { $0 = true }
                            throw error
                        }
                    }
                )
            }
        }) { server in
            let client = try server.client(receiveBuffer: 4096)
            try await client.send("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try await client.receive()
            var last = -1
            try await eventually("the producer waits") {
                let now = written.withLock { $0 }
                defer { last = now }
                try await Task.sleep(for: .milliseconds(100))
                return now == last
            }
            #expect(written.withLock { $0 } < 16 << 20)
            client.reset()
            try await eventually("the producer hears of it") { ended.withLock { $0 } }
        }
    }

    @Test(arguments: ["pull", "stream", "pull-chunked", "stream-chunked", "short", "short-stream"])
    func `that fails in the middle cuts the connection, so that it is not taken for complete`(kind: String) async throws {
        try await withServer({ router in
            router.on(.get, "fails") { _, _ in
                let count = 2_000_000
                return switch kind {
                case "pull": HTTPResponse(body: .pull(length: count, Source(end: count, failsAt: 1_000_000)))
                case "pull-chunked": HTTPResponse(body: .pull(length: nil, Source(end: count, failsAt: 1_000_000)))
                case "short": HTTPResponse(body: .pull(length: count, Source(end: 1_000_000)))
                default:
                    HTTPResponse(
                        body: .stream(length: kind == "stream-chunked" ? nil : count) { writer in
                            for _ in 0..<10 { try await writer.write([UInt8](repeating: 1, count: 100_000)) }
                            if kind != "short-stream" { throw Broken() }
                        }
                    )
                }
            }
        }) { server in
            let client = try server.client()
            try await client.send("GET /fails HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await #expect(throws: RawClient.Failure.self) { try await client.response() }
            let log = try await server.log(1)
            #expect(log.first?.isWhole == false)
        }
    }

    @Test(arguments: [true, false])
    func `that fits a buffer and fails is an error that can be understood`(isShort: Bool) async throws {
        let seen = Locked<[String]>([])
        try await withServer({ router in
            router.unexpectedError = { error, _ in seen.withLock { $0.append("\(error)") } }
            router.on(.get, "fails") { _, _ in
                HTTPResponse(body: .pull(length: 80_000, Source(end: 40_000, failsAt: isShort ? nil : 40_000)))
            }
        }) { server in
            let response = try await server.get("/fails")
            #expect(response.status == 500 && response.text.contains("http.internal"))
            #expect(seen.withLock { $0.count } == 1)
            let log = try await server.log(1)
            #expect(log.first?.status == .internalServerError)
        }
    }

    @Test(arguments: [nil, "bytes=0-9", "bytes=100-", "bytes=-5", "bytes=0-0,50-59,-10"] as [String?])
    func `is a file or a part of it`(range: String?) async throws {
        let folder = TemporaryDirectory()
        let file = try OpenFile(path: folder.write("file", Self.bytes))
        try await withServer({ router in
            router.on(.get, "file") { request, _ in .serving(Representation(file, contentType: "a/b"), for: request) }
        }) { server in
            let fields = range.map { "Range: \($0)\r\n" } ?? ""
            let response = try await server.get("/file", fields)
            #expect(response["content-length"] == String(response.body.count))
            let head = try await server.get("/file", fields, method: "HEAD")
            #expect(head.status == response.status && head["content-range"] == response["content-range"])
            #expect(
                response["content-type"]?.hasPrefix("multipart") == true || head["content-length"] == response["content-length"]
            )
            switch range {
            case nil: #expect(response.body == Self.bytes && response.status == 200)
            case "bytes=0-9": #expect(response.body == Array(Self.bytes[..<10]) && response.status == 206)
            case "bytes=100-": #expect(response.body == Array(Self.bytes[100...]))
            case "bytes=-5": #expect(response.body == Array(Self.bytes.suffix(5)))
            default:
                #expect(response["content-type"]?.hasPrefix("multipart/byteranges") == true && response.status == 206)
                let end = Self.bytes.count
                for (text, part) in [("0-0", 0..<1), ("50-59", 50..<60), ("\(end - 10)-\(end - 1)", end - 10..<end)] {
                    let expected = Array("bytes \(text)/\(end)\r\n\r\n".utf8) + Self.bytes[part] + Array("\r\n--".utf8)
                    #expect(response.body.indices.contains { response.body[$0...].starts(with: expected) }, "\(part)")
                }
            }
            let etag = try #require(response["etag"])
            let again = try await server.get("/file", "If-None-Match: \(etag)\r\n")
            #expect(again.status == 304 && again.body.isEmpty && again["etag"] == etag)
        }
    }

    @Test func `is compressed where that is allowed, wanted and of use`() async throws {
        let text = String(repeating: "#EXTINF:10.005,\nsegment.ts\n", count: 500)
        try await withServer({ router in
            router.on(.get, "list") { request, _ in
                .serving(
                    Representation(Array(text.utf8), contentType: "text/plain", etag: "\"a\""),
                    for: request,
                    isCompressible: true
                )
            }
            router.on(.get, "secret") { request, _ in
                .serving(Representation(Array(text.utf8), contentType: "text/plain"), for: request)
            }
            router.on(.get, "small") { _, _ in .text("small") }
        }) { server in
            let plain = try await server.get("/list")
            #expect(plain.text == text && plain["content-encoding"] == nil && plain["vary"] == "Accept-Encoding")
            #expect(plain["etag"] == "\"a\"" && plain["accept-ranges"] == "bytes")
            let gzip = "Accept-Encoding: gzip\r\n"
            let small = try await server.get("/list", gzip)
            #expect(
                small["content-encoding"] == "gzip" && small["vary"] == "Accept-Encoding"
                    && small.body.count < text.utf8.count / 10
            )
            #expect(small["etag"] == "W/\"a\"" && small["accept-ranges"] == nil && small.body.starts(with: [0x1f, 0x8b, 8]))
            #expect(try await Self.gunzip(small.body) == text)
            let head = try await server.get("/list", gzip, method: "HEAD")
            #expect(head["content-length"] == small["content-length"] && head["content-encoding"] == "gzip")
            let same = try await server.get("/list", gzip + "If-None-Match: W/\"a\"\r\n")
            #expect(same.status == 304 && same["vary"] == "Accept-Encoding")
            let part = try await server.get("/list", gzip + "Range: bytes=0-9\r\n")
            #expect(part.status == 206 && part["content-encoding"] == nil && part.body.count == 10)
            let secret = try await server.get("/secret", gzip)
            #expect(secret["content-encoding"] == nil && secret["vary"] == nil)
            let tiny = try await server.get("/small", gzip)
            #expect(tiny["content-encoding"] == nil)
        }
    }

    static func gunzip(_ bytes: [UInt8]) async throws -> String {
        let result = try await runProcess(["gzip", "-dc"], input: bytes)
        return String(decoding: result.output, as: UTF8.self)
    }
}
