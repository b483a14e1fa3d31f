// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

/// A server that answers `/from/here?x` with a redirect and everything else with what it was asked.
private func redirecting(_ status: Int, to location: String) -> LoopbackServer {
    LoopbackServer { connection in
        while let request = connection.readRequest() {
            if request.target == "/from/here?x" {
                connection.respond(status, ["Location: \(location)"], body: [UInt8](repeating: 0, count: 100_000))
            } else {
                let secrets = ["Authorization", "X-Api-Key", "Accept", "Content-Type"].compactMap { request[$0] }
                let words = [request.method, request.target] + secrets + [String(decoding: request.body, as: UTF8.self)]
                connection.respond(200, [], body: Array(words.joined(separator: "|").utf8))
            }
        }
    }
}

struct `A redirect` {
    let client = HTTPClient()

    private func request(_ server: LoopbackServer, _ method: HTTPMethod = .get, hops: Int = 1) -> ClientRequest {
        var request = ClientRequest(
            method,
            "http://127.0.0.1:\(server.port)/from/here?x",
            headers: ["Authorization": "secret", "X-Api-Key": "key", "Accept": "a/b", "Content-Type": "c/d"],
            body: method == .get ? .none : .bytes(Array("body".utf8))
        )
        request.maxRedirects = hops
        return request
    }

    @Test func `is the response unless it may be followed`() async throws {
        let server = redirecting(302, to: "/to")
        let response = try await client.send(request(server, hops: 0))
        #expect(response.status == .found)
        #expect(response.headers["Location"] == "/to")
        #expect(response.body.count == 100_000)
    }

    @Test(arguments: [
        ("/to", "/to"), ("to", "/from/to"), ("../to?y", "/to?y"), ("?z", "/from/here?z"), ("./a/../b", "/from/b"),
    ])
    func `is followed to where its reference leads`(location: String, target: String) async throws {
        let server = redirecting(302, to: location)
        let response = try await client.send(request(server))
        let words = String(decoding: response.body, as: UTF8.self).split(separator: "|")
        #expect(words.dropFirst().first ?? "" == target)
        #expect(response.url == "http://127.0.0.1:\(server.port)\(target)")
    }

    @Test(arguments: [
        (301, HTTPMethod.get, "GET|/to|secret|key|a/b|c/d|"), (301, .post, "GET|/to|secret|key|a/b|"),
        (302, .post, "GET|/to|secret|key|a/b|"), (303, .post, "GET|/to|secret|key|a/b|"), (303, .put, "GET|/to|secret|key|a/b|"),
        (302, .put, "PUT|/to|secret|key|a/b|c/d|body"), (307, .post, "POST|/to|secret|key|a/b|c/d|body"),
        (308, .patch, "PATCH|/to|secret|key|a/b|c/d|body"),
    ])
    func `keeps or changes the method by its status`(status: Int, method: HTTPMethod, expected: String) async throws {
        let server = redirecting(status, to: "/to")
        let response = try await client.send(request(server, method))
        #expect(String(decoding: response.body, as: UTF8.self) == expected)
    }

    @Test func `to another origin takes no field along that may be secret`() async throws {
        let other = redirecting(200, to: "")
        let server = redirecting(307, to: "http://127.0.0.1:\(other.port)/to")
        let response = try await client.send(request(server, .post))
        #expect(String(decoding: response.body, as: UTF8.self) == "POST|/to|a/b|c/d|body")
    }

    @Test(arguments: ["ftp://h/", "file:///etc/passwd", "http://", "javascript:1", "https://[/"])
    func `to a URL other than http or https is not followed`(location: String) async throws {
        let server = redirecting(302, to: location)
        await #expect(throws: HTTPClientError(.redirect)) { try await client.send(request(server)) }
    }

    @Test func `in a circle comes to an end`() async throws {
        let server = redirecting(302, to: "/from/here?x")
        await #expect(throws: HTTPClientError(.redirect)) { try await client.send(request(server, hops: 5)) }
    }

    @Test func `does not send a streamed body again`() async throws {
        let server = redirecting(307, to: "/to")
        var request = request(server, .post)
        let isSent = Locked(false)
        request.body = .stream(length: nil) {
            isSent.withLock { isSent in
                defer { isSent = true }
                return isSent ? nil : [1, 2, 3]
            }
        }
        await #expect(throws: HTTPClientError(.redirect)) { try await client.send(request) }
    }

    @Test func `is followed for streams and downloads, whose bytes are the last response's alone`() async throws {
        let server = redirecting(302, to: "/to")
        let stream = try await client.open(request(server))
        #expect(stream.response.status == .ok)
        #expect(try await stream.next()?.starts(with: Array("GET|/to".utf8)) == true)
        let directory = TemporaryDirectory()
        let response = try await client.save(request(server), to: OutputFile(directory.file("f")))
        #expect(response.status == .ok)
        #expect(directory.read("f")?.starts(with: Array("GET|/to".utf8)) == true)
    }
}
