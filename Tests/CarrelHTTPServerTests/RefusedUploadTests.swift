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

    @Test(arguments: [2, 8, 15]) func `is answered although the client goes on sending`(mebibytes: Int) async throws {
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

    @Test func `goes on with its connection when little of it is left`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(1 << 20)\r\n\r\n")
            try await client.send(Self.piece)
            #expect(try await client.response().status == 409)
            try await client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na")
            #expect(try await client.response().text == "1")
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
