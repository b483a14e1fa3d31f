// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Testing

struct `The addresses of a request` {
    let client = HTTPClient()

    private func request(_ url: String, _ rule: AddressRule?) -> ClientRequest {
        var request = ClientRequest(url)
        request.addresses = rule
        return request
    }

    @Test func `are the client's, unless the request has a rule of its own`() async throws {
        let recorder = Recorder()
        let careful = HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly))
        await #expect(throws: HTTPClientError(.address)) { try await careful.send(request(recorder.base, nil)) }
        await #expect(throws: HTTPClientError(.address)) { try await client.send(request(recorder.base, .publicOnly)) }
        await #expect(throws: HTTPClientError(.address)) { try await client.send(request(recorder.base, .only { _ in false })) }
        #expect(recorder.server.connectionCount == 0)
        #expect(try await careful.send(request(recorder.base, .any)).status == .ok)
        #expect(try await client.send(request(recorder.base, nil)).status == .ok)
        #expect(try await client.send(request(recorder.base, .only { $0 == [127, 0, 0, 1] })).status == .ok)
    }

    @Test func `hold for Unix sockets`() async throws {
        for rule in [AddressRule.publicOnly, .publicExcept(originsOf: ["http://example.org/"]), .only { _ in true }] {
            var request = request("http://example.org/", rule)
            request.unixSocketPath = "/run/carrel.sock"
            await #expect(throws: HTTPClientError(.address)) { try await client.send(request) }
        }
    }

    @Test func `are judged on a connection that another request left open`() async throws {
        let recorder = Recorder(body: "private")
        for host in ["127.0.0.1", "localhost"] {
            let (before, sent) = (recorder.server.connectionCount, recorder.requests.count)
            let url = "http://\(host):\(recorder.server.port)/"
            #expect(try await client.send(request(url, .any)).status == .ok)
            #expect(recorder.server.connectionCount == before + 1)
            for rule in [AddressRule.publicOnly, .only { $0.count == 16 }, .publicExcept(originsOf: ["http://127.0.0.1:1/"])] {
                await #expect(throws: HTTPClientError(.address)) { try await client.send(request(url, rule)) }
            }
            #expect(recorder.server.connectionCount == before + 1, "no other connection was made")
            #expect(recorder.requests.count == sent + 1, "no other request was sent")
            #expect(try await client.send(request(url, .any)).status == .ok)
        }
    }

    @Test func `lead to an allowed address of the host although another one is open`() async throws {
        func server(_ address: String, _ port: UInt16) -> HTTPServer {
            var router = Router()
            router.on(.post, "{path...}") { request, _ in
                let body = try await request.body.collect(upTo: 100)
                return .bytes(Array("\(address) ".utf8) + body, type: "text/plain")
            }
            var configuration = ServerConfiguration()
            configuration.listeners = [.tcp(address: address, port: port)]
            return HTTPServer(configuration: configuration, router: router)
        }
        let four = server("127.0.0.1", 0)
        let port = try #require(try four.start().first?.port)
        let six = server("::1", port)
        guard (try? six.start()) != nil else { try Test.cancel("this machine has no IPv6 loopback, or its port is taken") }
        func text(_ rule: AddressRule) async throws -> String {
            var request = ClientRequest(.post, "http://localhost:\(port)/", body: .bytes(Array("body".utf8)))
            request.addresses = rule
            return String(decoding: try await client.send(request).body, as: UTF8.self)
        }
        for _ in 1...3 {
            #expect(try await text(.only { $0.count == 16 }) == "::1 body")
            #expect(try await text(.only { $0.count == 4 }) == "127.0.0.1 body")
        }
        await four.shutdown(grace: .zero)
        await six.shutdown(grace: .zero)
    }

    @Test func `are judged on a connection that requests share`() async throws {
        let isOver = Locked(false)
        let back = LoopbackServer { connection in
            while connection.readRequest() != nil {
                connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
                while !isOver.withLock({ $0 }) { _ = connection.waitToRead(milliseconds: 10) }
                connection.write("2\r\ncd\r\n0\r\n\r\n")
            }
        }
        let front = try await NginxFront(to: back)
        let client = front.trusting
        let stream = try await client.open(request(front.base, .any))
        #expect(stream.response.version == "2")
        #expect(try await stream.next() == Array("ab".utf8))
        await #expect(throws: HTTPClientError(.address)) { try await client.send(request(front.base, .publicOnly)) }
        #expect(back.connectionCount == 1, "the refused request was not passed on")
        isOver.withLock { $0 = true }
        // the others continue
        var rest: [UInt8] = []
        while let more = try await stream.next() { rest += more }
        #expect(rest == Array("cd".utf8))
    }

    @Test func `are all for the origins that the caller names, however they are written`() async throws {
        let recorder = Recorder(body: "named")
        let port = recorder.server.port
        for name in ["http://127.0.0.1:\(port)/other/path?x", "HTTP://user:word@127.0.0.1:\(port)", "http://2130706433:\(port)"] {
            let response = try await client.send(request("\(recorder.base)/a", .publicExcept(originsOf: ["http://x/", name])))
            #expect(response.body == Array("named".utf8), "\(name)")
        }
        let (count, sent) = (recorder.server.connectionCount, recorder.requests.count)
        for name in [
            "http://localhost:\(port)/", "https://127.0.0.1:\(port)/", "http://127.0.0.1/",
            "http://127.0.0.1:\(port)@example.org/",
            "127.0.0.1:\(port)", "//127.0.0.1:\(port)/", "", "http://127.0.0.1.:\(port)/",
        ] {
            await #expect(throws: HTTPClientError(.address), "\(name)") {
                try await client.send(request("\(recorder.base)/a", .publicExcept(originsOf: [name])))
            }
        }
        #expect(recorder.server.connectionCount == count && recorder.requests.count == sent)
    }

    @Test func `are judged again after a redirect`() async throws {
        let inner = Recorder(body: "inner")
        let (innerPort, location) = (inner.server.port, Locked(""))
        let origin = LoopbackServer { connection in
            while let request = connection.readRequest() {
                if request.target == "/start" {
                    connection.respond(302, ["Location: \(location.withLock { $0 })"])
                } else {
                    connection.respond(200, [], body: Array("origin".utf8))
                }
            }
        }
        var request = request(
            "http://127.0.0.1:\(origin.port)/start",
            .publicExcept(originsOf: ["http://127.0.0.1:\(origin.port)/"])
        )
        request.maxRedirects = 3
        for own in ["/end", "http://127.0.0.1:\(origin.port)/end"] {
            location.withLock { $0 = own }
            #expect(try await client.send(request).body == Array("origin".utf8))
        }
        for foreign in [
            "http://127.0.0.1:\(innerPort)/", "http://localhost:\(origin.port)/end", "http://[::1]:\(origin.port)/end",
            "http://169.254.169.254/latest/meta-data/", "http://0x7f000001:\(innerPort)/", "//127.0.0.1:\(innerPort)/",
        ] {
            location.withLock { $0 = foreign }
            await #expect(throws: HTTPClientError(.address), "\(foreign)") { try await client.send(request) }
            await #expect(throws: HTTPClientError(.address), "\(foreign)") { try await client.open(request) }
        }
        #expect(inner.server.connectionCount == 0)
        location.withLock { $0 = "http://127.0.0.1:\(innerPort)/" }
        request.addresses = .any
        #expect(try await client.send(request).body == Array("inner".utf8))
        // and now a connection to it is open
        request.addresses = .publicExcept(originsOf: ["http://127.0.0.1:\(origin.port)/"])
        await #expect(throws: HTTPClientError(.address)) { try await client.send(request) }
        #expect(inner.requests.count == 1)
    }

    private func check(_ own: String, _ rule: AddressRule, refusedAt other: String, _ otherRule: AddressRule) async throws {
        let response = try await client.send(request("\(own)/allowed", rule))
        #expect(response.status == .ok)
        await #expect(throws: HTTPClientError(.address)) { try await client.send(request("\(other)/refused", otherRule)) }
    }

    @Test func `belong to each request when requests with many rules run together`() async throws {
        let (one, two) = (Recorder(body: "one"), Recorder(body: "two"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let (own, other) = number % 2 == 0 ? (one, two) : (two, one)
                let rule = AddressRule.publicExcept(originsOf: [own.base])
                group.addTask {
                    try await check(own.base, rule, refusedAt: other.base, number % 3 == 0 ? .publicOnly : rule)
                }
            }
            try await group.waitForAll()
        }
        for recorder in [one, two] {
            #expect(recorder.requests.map(\.target) == [String](repeating: "/allowed", count: 100))
        }
    }
}

struct `A redirect to plain http` {
    @Test func `of another origin is refused where the request wants that`() async throws {
        let client = HTTPClient()
        let other = Recorder(body: "other")
        let location = Locked("/end")
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let fields = request.target == "/start" ? ["Location: \(location.withLock { $0 })"] : []
                connection.respond(fields.isEmpty ? 200 : 307, fields)
            }
        }
        var request = ClientRequest("http://127.0.0.1:\(server.port)/start")
        request.maxRedirects = 2
        request.allowsPlainRedirects = false
        #expect(try await client.send(request).status == .ok, "the origin stays the one that was asked")
        location.withLock { $0 = other.base }
        await #expect(throws: HTTPClientError(.redirect)) { try await client.send(request) }
        #expect(other.server.connectionCount == 0)
        request.allowsPlainRedirects = true
        #expect(try await client.send(request).body == Array("other".utf8))
    }

    @Test(arguments: [true, false]) func `is refused from https, whatever the request wants`(allows: Bool) async throws {
        let other = Recorder(body: "other")
        let back = Recorder(status: 302, fields: ["Location: \(other.base)/"])
        let front = try await NginxFront(to: back.server)
        var request = ClientRequest(front.base)
        request.maxRedirects = 2
        request.allowsPlainRedirects = allows
        await #expect(throws: HTTPClientError(.redirect)) { try await front.trusting.send(request) }
        #expect(back.requests.count == 1 && other.server.connectionCount == 0)
    }
}
