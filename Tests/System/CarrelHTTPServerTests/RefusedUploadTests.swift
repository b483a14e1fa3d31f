// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import Testing

/// Uploads whose answer is known before their end. Each client sends all of its body, then reads.
@Suite(.serialized) struct `An upload that is refused on its way` {
    static func routes(_ router: inout Router) {
        router.on(.post, "upload", acceptsChunks: true) { request, _ in
            var count = 0
            while count < 100_000, let chunk = try await request.body.next() { count += chunk.count }
            throw HTTPError(.conflict, "upload.known", "this is known")
        }
        router.on(.post, "small") { request, _ in .text("\(try await request.body.collect(upTo: 1000).count)") }
    }

    static let piece = [UInt8](repeating: 65, count: 1 << 20)

    @Test(arguments: [2, 8, 15]) func `is answered although the client continues sending`(mebibytes: Int) async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(mebibytes << 20)\r\n\r\n")
            for _ in 0..<mebibytes { try await client.send(Self.piece) }
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(all.hasPrefix("HTTP/1.1 409 ") && all.contains("upload.known") && all.contains("Connection: close"), "\(all)")
            let log = try await server.log(1)
            #expect(log.first?.status == .conflict && log.first?.isWhole == true)
        }
    }

    @Test func `is answered in chunks, too`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<8 { try await client.send(Array("100000\r\n".utf8) + Self.piece + [13, 10]) }
            try await client.send("0\r\n\r\n")
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(all.hasPrefix("HTTP/1.1 409 ") && all.contains("upload.known"), "\(all)")
        }
    }

    @Test func `is answered where its length is refused before it comes`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(8 << 20)\r\n\r\n")
            for _ in 0..<8 { try await client.send(Self.piece) }
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(
                all.hasPrefix("HTTP/1.1 413 ") && all.contains(#""code":"request.too-large","alias":"http.bodyTooLarge""#),
                "\(all)"
            )
        }
    }

    @Test func `keeps its connection when little of it is left`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(1 << 20)\r\n\r\n")
            try await client.send(Self.piece)
            #expect(try await client.response().status == 409)
            try await client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na")
            #expect(try await client.response().text == "1")
        }
    }

    /// More clients than the server used to hear out at a time: the others were reset while they sent, and lost the response.
    @Test(arguments: [
        ("/none", "", 404), ("/small", "", 413), ("/small", "Transfer-Encoding: chunked\r\n", 411),
        ("/small?" + String(repeating: "&", count: 200), "", 414),
    ])
    func `is answered for each of 150 clients concurrently`(target: String, field: String, status: Int) async throws {
        var configuration = patient
        configuration.connectionsPerNetwork = 0
        try await withServer(Self.routes, configuration: configuration) { server in
            let length = field.hasPrefix("Transfer") ? "" : "Content-Length: \(2 << 20)\r\n"
            let head = "POST \(target) HTTP/1.1\r\nHost: localhost\r\n\(field)\(length)\r\n"
            let clients = try (0..<150).map { _ in try server.client() }
            try await Self.each(clients) { try await $0.send(head) }
            let piece = Array(Self.piece.prefix(150_000))
            _ = try await server.log(150)
            try await Self.each(clients) { client in
                try await client.send(piece)
                let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
                #expect(all.hasPrefix("HTTP/1.1 \(status) "), "\(all.prefix(100))")
            }
        }
    }

    private static func each(_ clients: [RawClient], _ body: @escaping @Sendable (RawClient) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients { group.addTask { try await body(client) } }
            try await group.waitForAll()
        }
    }

    /// The library responds by itself, before the target has ended.
    @Test func `is answered if it is a target without end`() async throws {
        try await withServer(Self.routes) { server in
            let clients = try (0..<20).map { _ in try server.client() }
            for client in clients { try await client.send("GET /" + String(repeating: "a", count: 20_000)) }
            try await Task.sleep(for: .milliseconds(300))
            for client in clients {
                try await client.send([UInt8](repeating: 97, count: 180_000))
                let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
                #expect(all.hasPrefix("HTTP/1.1 414 "), "\(all.prefix(100))")
            }
        }
    }

    @Test func `does not keep a client that never stops`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(1 << 40)\r\n\r\n")
            await #expect(throws: RawClient.Failure.self) {
                for _ in 0..<1000 { try await client.send(Self.piece) }
            }
        }
    }
}
