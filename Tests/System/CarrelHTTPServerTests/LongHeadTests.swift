// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMetrics
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelHTTPServer

/// Heads that do not fit into a connection's memory.
@Suite(.serialized) struct `A request whose head is too long` {
    /// A head that is refused, by its name.
    struct Kind: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let text: String

        init(_ name: String, _ target: String = "/a", _ fields: String = "", method: String = "GET", body: String = "") {
            testDescription = name
            text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\(body)"
        }
    }

    private static func query(_ count: Int, _ separator: String = "&") -> String {
        "/a?" + (0..<count).map { "x\($0)=y" }.joined(separator: separator)
    }

    private static let fields = (0..<600).map { "X\($0): y\r\n" }.joined()
    private static let cookies = "Cookie: " + (0..<600).map { "x\($0)=y" }.joined(separator: "; ") + "\r\n"

    static let kinds =
        [151, 200, 230, 300, 600, 1000, 1200].map { Kind("\($0) parameters", query($0)) }
        + [14_000, 14_100, 14_200, 14_240].map { Kind("a target of \($0) bytes", "/" + String(repeating: "a", count: $0)) }
        + [
            Kind("100 parameters and as many empty ones", query(100, "&&")),
            Kind("300 parameters and a body", query(300), "Content-Length: 5\r\n", method: "POST", body: "abcde"),
            Kind(
                "300 parameters and a body that is awaited",
                query(300),
                "Content-Length: 5\r\nExpect: 100-continue\r\n",
                method: "POST"
            ),
            Kind("300 parameters for HEAD", query(300), method: "HEAD"),
            Kind("300 empty parameters", "/a?" + String(repeating: "&", count: 300)),
            Kind("600 fields", "/a", fields),
            Kind("600 cookies", "/a", cookies),
            Kind("300 parameters and 600 fields", query(300), fields),
            Kind(
                "150 parameters and 180 cookies",
                query(150),
                "Cookie: " + (0..<180).map { "x\($0)=y" }.joined(separator: "; ") + "\r\n"
            ),
        ]

    static func routes(_ router: inout Router) {
        router.on(.get, "a") { request, _ in .text("\(request.query.all("x").count)") }
        router.on(.post, "a") { request, _ in .text("\(try await request.body.collect(upTo: 1000).count)") }
        // The head of its response is longer than what a request leaves at least.
        router.on(.get, "wordy") { request, _ in
            var response =
                request.query["body"] == nil ? HTTPResponse.text("wordy") : HTTPResponse(body: .stream(length: nil) { _ in })
            response.headers["X-Words"] = String(repeating: "w", count: 2000)
            return response
        }
    }

    @Test(arguments: kinds) func `is refused with 414 or 431`(kind: Kind) async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send(kind.text)
            let status = try await client.response(toHead: kind.text.hasPrefix("HEAD")).status
            #expect([414, 431].contains(status), "\(status)")
            _ = try await server.log(1)
            try await eventually("no request is left") { server.metrics.text().contains("carrel_http_requests_in_flight 0\n") }
        }
    }

    @Test func `has its fault named`() async throws {
        try await withServer(Self.routes) { server in
            let query = try await server.get(Self.query(151))
            #expect(
                query.status == 414 && query.text.contains(#""code":"request.uri-too-long""#) && query["connection"] == "close"
            )
            let target = try await server.get("/" + String(repeating: "a", count: 14_000))
            #expect(target.status == 414 && target.text.contains(#""code":"request.uri-too-long""#))
            let field = try await server.get("/a", "X-Long: \(String(repeating: "a", count: 13_700))\r\n")
            #expect(field.status == 431 && field.text.contains(#""code":"request.fields-too-large""#))
            let log = try await server.log(3)
            #expect(log.map(\.status) == [.uriTooLong, .uriTooLong, .headerFieldsTooLarge] && log.allSatisfy { $0.isWhole })
        }
    }

    @Test func `may have 150 parameters and 13.5 KiB`() async throws {
        try await withServer(Self.routes) { server in
            let most = "/a?" + (0..<150).map { "x=\($0)" }.joined(separator: "&")
            #expect(try await server.get(most).text == "150")
            let long = try await server.get("/a?x=" + String(repeating: "a", count: 13_500))
            #expect(long.status == 200)
        }
    }

    @Test func `gets the response whose head does not fit either`() async throws {
        try await withServer(Self.routes) { server in
            let pad = String(repeating: "a", count: 12_800)
            let short = try await server.get("/wordy?pad=\(pad)")
            #expect(short.status == 200 && short.text == "wordy" && short["x-words"]?.count == 2000)
            // A body that is still to be made cannot be sent past the library.
            let stream = try await server.get("/wordy?body=&pad=\(pad)")
            #expect(stream.status == 500)
            let log = try await server.log(2)
            #expect(log.allSatisfy { $0.isWhole })
        }
    }

    /// Clients that wait, each with a status, and clients that leave as soon as they have sent: libmicrohttpd gives some of those up without
    /// a word, and the next refusal used to ask for the heads of all, freed ones too.
    @Test func `leaves nothing if its client leaves`() async throws {
        let isLong = unsafe getenv("CARREL_LONG") != nil || getenv("CARREL_SANITIZER") != nil
        let count = isLong ? 100_000 : 3000
        try await withServer(Self.routes, workers: 2) { server in
            let statuses = Locked<[Int: Int]>([:])
            let texts =
                Self.kinds.map { Array($0.text.utf8) } + [
                    Array("GET /\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8),
                    Array("GET /a HTTP/1.1\r\nX-Long: \(String(repeating: "a", count: 15_000))\r\n\r\n".utf8),
                    Array("GET /a?b HTTP/1.1\r\nHost: loc".utf8),
                ]
            let threads = BlockingThreadPool(name: "crowd", count: 8)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<8 {
                    group.addTask {
                        try await threads.run {
                            for i in stride(from: part, to: count, by: 8) {
                                // Only heads that the library reads whole are sure of an answer.
                                let waits = i / 8 % 2 == 0
                                let text = texts[(i / 16) % (waits ? Self.kinds.count : texts.count)]
                                let status = Self.exchange(server.port, text, waits: waits)
                                if waits { statuses.withLock { $0[status, default: 0] += 1 } }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let seen = statuses.withLock { $0 }
            #expect(Set(seen.keys) == [414, 431] && seen.values.reduce(0, +) >= count / 2, "\(seen)")
            #expect(try await server.get("/a").status == 200)
            try await eventually("no request is left") { server.metrics.text().contains("carrel_http_requests_in_flight 0\n") }
            try await eventually("no connection is left") { server.metrics.text().contains("carrel_http_connections 0\n") }
        }
    }

    /// Sends all of it on a connection of its own; the status of the response, or 0.
    private static func exchange(_ port: UInt16, _ text: [UInt8], waits: Bool) -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0, unsafe send(descriptor, text, text.count, Int32(MSG_NOSIGNAL)) > 0, waits else { return 0 }
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&wait, 1, 10_000) > 0 else { return 0 }
        var answer = [UInt8](repeating: 0, count: 12)
        let received = unsafe recv(descriptor, &answer, 12, 0)
        return received == 12 ? Int(String(decoding: answer[9...], as: UTF8.self)) ?? 0 : 0
    }
}
