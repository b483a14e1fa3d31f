// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

struct `An encrypted connection` {
    @Test(arguments: [true, false])
    func `is made to a server whose authority is trusted, with HTTP/2 where it is offered`(offersHTTP2: Bool) async throws {
        let recorder = Recorder(body: "x")
        let front = try await NginxFront(to: recorder.server, allowsHTTP2: offersHTTP2)
        let response = try await front.trusting.send(ClientRequest("\(front.base)/a?b"))
        #expect(response.version == (offersHTTP2 ? "2" : "1.1"))
        #expect(response.body == Array("x".utf8))
        #expect(recorder.requests.first?.target == "/a?b")
        let old = HTTPClient(
            configuration: HTTPClientConfiguration(certificateAuthorities: front.authority, allowsHTTP2: false)
        )
        #expect(try await old.send(ClientRequest(front.base)).version == "1.1")
    }

    @Test func `is not made to a server with an untrusted authority`() async throws {
        let recorder = Recorder()
        let front = try await NginxFront(to: recorder.server)
        try await expectRefusal(HTTPClient(), front.base)
        let other = try await NginxFront(to: recorder.server)
        try await expectRefusal(other.trusting, front.base)
        #expect(recorder.requests.isEmpty)
    }

    @Test func `is not made to a server with another name`() async throws {
        let recorder = Recorder()
        let front = try await NginxFront(to: recorder.server, name: "other.test")
        try await expectRefusal(front.trusting, front.base)
        #expect(recorder.requests.isEmpty)
    }

    @Test func `is made to a server whose root the program trusts, instead of the system's and of a file`() async throws {
        let recorder = Recorder(body: "x")
        let front = try await NginxFront(to: recorder.server)
        let other = try await NginxFront(to: recorder.server)
        let (own, foreign) = (try await front.root(), try await other.root())
        for roots in [[own], [foreign, own]] {
            let client = HTTPClient(
                configuration: HTTPClientConfiguration(certificateAuthorities: other.authority, trustedRoots: roots)
            )
            let response = try await client.send(ClientRequest(front.base))
            #expect(response.body == Array("x".utf8))
        }
        let count = recorder.requests.count
        for roots in [[foreign], [Array("junk".utf8)], [[]]] {
            let client = HTTPClient(
                configuration: HTTPClientConfiguration(certificateAuthorities: front.authority, trustedRoots: roots)
            )
            try await expectRefusal(client, front.base)
        }
        #expect(recorder.requests.count == count)
    }

    @Test func `is made to another name, or to any certificate, only where a test asks for just that`() async throws {
        let recorder = Recorder(body: "x")
        let renamed = try await NginxFront(to: recorder.server, name: "other.test")
        let own = try await NginxFront(to: recorder.server)
        func client(_ authority: String?, host: Bool = false, any: Bool = false) -> HTTPClient {
            HTTPClient(
                configuration: HTTPClientConfiguration(
                    certificateAuthorities: authority,
                    acceptsOtherHostsForTesting: host,
                    acceptsAnyCertificateForTesting: any
                )
            )
        }
        #expect(try await client(renamed.authority, host: true).send(ClientRequest(renamed.base)).body == Array("x".utf8))
        #expect(try await client(nil, any: true).send(ClientRequest(own.base)).body == Array("x".utf8))
        #expect(try await client(nil, host: true, any: true).send(ClientRequest(renamed.base)).body == Array("x".utf8))
        let count = recorder.requests.count
        try await expectRefusal(client(renamed.authority), renamed.base, .otherHost)
        try await expectRefusal(client(nil, host: true), renamed.base, .untrusted)
        try await expectRefusal(client(renamed.authority, any: true), renamed.base, .otherHost)
        #expect(recorder.requests.count == count)
    }

    @Test func `is not made when the certificate has expired`() async throws {
        let recorder = Recorder()
        let front = try await NginxFront(to: recorder.server, isExpired: true)
        try await expectRefusal(front.trusting, front.base)
        #expect(recorder.requests.isEmpty)
    }

    @Test func `is not made to a server that does not encrypt, nor with an authorities' file that is none`() async throws {
        let plain = LoopbackServer { connection in
            _ = connection.read()
            connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        try await expectRefusal(HTTPClient(), "https://127.0.0.1:\(plain.port)/")
        let recorder = Recorder()
        let front = try await NginxFront(to: recorder.server)
        let directory = TemporaryDirectory()
        for file in [directory.write("none.pem", "no certificate"), directory.file("missing.pem")] {
            let client = HTTPClient(configuration: HTTPClientConfiguration(certificateAuthorities: file))
            try await expectRefusal(client, front.base)
        }
    }

    private func expectRefusal(
        _ client: HTTPClient,
        _ url: String,
        _ problem: HTTPClientError.CertificateProblem? = nil
    ) async throws {
        var caught: HTTPClientError?
        do { _ = try await client.send(ClientRequest("\(url)/path?secret")) } catch { caught = error }
        #expect(caught == HTTPClientError(.tls))
        if let problem { #expect(caught?.certificateProblem == problem) }
        #expect(caught?.description.contains("secret") == false)
    }

    @Test func `is not left by a redirect`() async throws {
        let server = rawServer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        let front = try await NginxFront(to: server)
        var request = ClientRequest(front.base)
        request.maxRedirects = 3
        await #expect(throws: HTTPClientError(.redirect)) { try await front.trusting.send(request) }
    }
}

struct `HTTP/2` {
    @Test func `carries many requests on one connection, bodies both ways`() async throws {
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() { connection.respond(200, [], body: request.body) }
        }
        let front = try await NginxFront(to: server)
        let client = front.trusting
        try await withThrowingTaskGroup { group in
            for i in 0..<40 {
                group.addTask {
                    let body = [UInt8](repeating: UInt8(i), count: 1000 + i * 5000)
                    let response = try await client.send(ClientRequest(.post, "\(front.base)/\(i)", body: .bytes(body)))
                    return response.version == "2" && response.body == body
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func `sends a body that comes in pieces`() async throws {
        let recorder = Recorder(body: "x")
        let front = try await NginxFront(to: recorder.server)
        let next = Locked(0)
        let body = ClientRequestBody.stream(length: nil) {
            try await Task.sleep(for: .milliseconds(2))
            return next.withLock { next in
                next += 1
                return next <= 50 ? [UInt8](repeating: UInt8(next), count: 7000) : nil
            }
        }
        let response = try await front.trusting.send(ClientRequest(.put, front.base, body: body))
        #expect(response.version == "2")
        let isWhole = recorder.requests.first?.has((1...50).flatMap { [UInt8](repeating: UInt8($0), count: 7000) })
        #expect(isWhole == true)
    }

    @Test func `lets others pass a stream whose consumer waits`() async throws {
        let source = Source(count: 24 << 20)
        let front = try await NginxFront(to: source.server)
        let client = front.trusting
        let slow = try await client.open(ClientRequest(front.base, maxResponseBytes: 24 << 20))
        #expect(slow.response.version == "2")
        for _ in 0..<3 {
            var quick = ClientRequest(front.base)
            quick.method = .head
            #expect(try await client.send(quick).version == "2")
        }
        var received = 0
        while let chunk = try await slow.next() { received += chunk.count }
        #expect(received == 24 << 20)
    }

    @Test func `ends one request when it is cancelled, and only that`() async throws {
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                if request.target == "/silent" { while connection.read() != nil {} }
                connection.respond(200, [], body: Array("x".utf8))
            }
        }
        let front = try await NginxFront(to: server)
        let client = front.trusting
        #expect(try await client.send(ClientRequest(front.base)).version == "2")
        let before = server.connectionCount
        let task = Task { try await client.send(ClientRequest("\(front.base)/silent")) }
        try await eventually { server.connectionCount > before }
        task.cancel()
        await #expect(throws: HTTPClientError(.cancelled)) { try await task.value }
        #expect(try await client.send(ClientRequest(front.base)).body == Array("x".utf8))
    }
}
