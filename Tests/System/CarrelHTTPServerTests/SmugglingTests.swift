// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import Testing

/// Requests that two programs could read in two ways, as raw bytes over a real socket.
@Suite(.serialized) struct `A dubious request` {
    static func routes(_ router: inout Router) {
        router.on(.get, "{path...}") { request, parameters in .text("reached:\(parameters["path"])") }
        router.on(.post, "{path...}", acceptsChunks: true) { request, _ in
            .text("reached:\(String(decoding: try await request.body.collect(upTo: 1000), as: UTF8.self))")
        }
    }

    /// Sends the bytes and gives everything that comes until the server closes.
    static func send(_ request: String) async throws -> String {
        var all = ""
        try await withServer(routes) { server in
            let client = try server.client()
            try await client.send(request)
            all = String(decoding: try await client.receiveAll(), as: UTF8.self)
        }
        return all
    }

    static let framing = [
        "two lengths": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        "two equal lengths": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
        "a list of lengths": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4, 4\r\n\r\nabcd",
        "a signed length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +4\r\n\r\nabcd",
        "a negative length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -4\r\n\r\nabcd",
        "a hexadecimal length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x4\r\n\r\nabcd",
        "a length with a space": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4 4\r\n\r\nabcd",
        "an empty length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n\r\nabcd",
        "a length beyond numbers": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nabcd",
        "length and coding":
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "coding and length":
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an unknown coding": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "identity": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "a list of codings": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "chunked twice":
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "chunked then identity":
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "a quoted coding": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
        "a coding with a control character":
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
        "chunked in HTTP/1.0": "POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "a space before the colon": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "a space before a length's colon": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length : 4\r\n\r\nabcd",
        "a fractional length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4.0\r\n\r\nabcd",
        "an exponential length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4e0\r\n\r\nabcd",
        "a length with a letter": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4x\r\n\r\nabcd",
        "a quoted length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \"4\"\r\n\r\nabcd",
        "a length with a blank behind": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4 \r\n\r\nabcd",
        "a length with a tab": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\t\r\n\r\nabcd",
        "a length in other digits": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ４\r\n\r\nabcd",
        "a length of one digit too many":
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551616\r\n\r\nabcd",
        "a folded length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n 4\r\n\r\nabcd",
        "a length folded behind its digits": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n 4\r\n\r\nabcd",
        "a folded name": "POST / HTTP/1.1\r\nHost: localhost\r\nContent: 5\r\n -Length\r\n\r\nabcde",
        "a name folded by a tab": "POST / HTTP/1.1\r\nHost: localhost\r\nContent: 5\r\n\t-Length\r\n\r\nabcde",
        "a name folded twice": "POST / HTTP/1.1\r\nHost: localhost\r\nContent: 5\r\n -Len\r\n gth\r\n\r\nabcde",
        "a folded coding": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "a folded name of the coding": "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer: chunked\r\n -Encoding\r\n\r\n0\r\n\r\n",
        "a NUL behind a length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\u{0}5\r\n\r\nabcd",
        "a NUL before a length": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \u{0}4\r\n\r\nabcd",
        "a NUL behind the coding":
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\u{0}, gzip\r\n\r\n0\r\n\r\n",
    ]

    @Test(arguments: framing.keys.sorted())
    func `with doubtful framing is refused and nothing after it is read`(name: String) async throws {
        let all = try await Self.send(try #require(Self.framing[name]))
        #expect(all.hasPrefix("HTTP/1.1 4"), "\(all)")
        #expect(!all.contains("reached") && !all.contains("smuggled"), "\(all)")
        #expect(all.components(of: "HTTP/1.1 ") == 1, "\(all)")
        #expect(all.components(of: "X-Request-Id: ") == 1, "our own answer: \(all)")
    }

    static let heads = [
        "no host": "GET / HTTP/1.1\r\n\r\n",
        "two hosts": "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "an empty host": "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "a host with a user": "GET / HTTP/1.1\r\nHost: a@localhost\r\n\r\n",
        "a host with a path": "GET / HTTP/1.1\r\nHost: localhost/a\r\n\r\n",
        "a host with a long port": "GET / HTTP/1.1\r\nHost: localhost:1234567\r\n\r\n",
        "a host with a worded port": "GET / HTTP/1.1\r\nHost: localhost:a\r\n\r\n",
        "a broken IPv6 host": "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        "a host in absolute form": "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an asterisk": "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an authority as target": "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a method with braces": "G{}T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a method with a colon": "GE:T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a long method": String(repeating: "A", count: 33) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a field name with a space": "GET / HTTP/1.1\r\nHost: localhost\r\nA b: c\r\n\r\n",
        "a field name with a brace": "GET / HTTP/1.1\r\nHost: localhost\r\nA{b: c\r\n\r\n",
        "a field value with a control character": "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\u{1}c\r\n\r\n",
        "a field value with DEL": "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\u{7f}c\r\n\r\n",
        "a field without a name": "GET / HTTP/1.1\r\nHost: localhost\r\n: c\r\n\r\n",
        "a first field without a name": "GET / HTTP/1.1\r\n: c\r\nHost: localhost\r\n\r\n",
        "a field without a colon": "GET / HTTP/1.1\r\nHost: localhost\r\nabc\r\n\r\n",
        "a folded value": "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n",
        "a folded value of blanks": "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n \r\n\r\n",
        "a folded value before another": "GET / HTTP/1.1\r\nA: b\r\n \r\nHost: localhost\r\n\r\n",
        "a forged client": "GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded: 203.0.113.9\r\n -For\r\n\r\n",
        "a line that begins with a blank": "GET / HTTP/1.1\r\n A: b\r\nHost: localhost\r\n\r\n",
        "a NUL in a value": "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\u{0}c\r\n\r\n",
        "a NUL at the end of a value": "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\u{0}\r\n\r\n",
        "a NUL in a value before another field": "GET / HTTP/1.1\r\nA: b\u{0}c\r\nHost: localhost\r\n\r\n",
        "a NUL in a name": "GET / HTTP/1.1\r\nHost: localhost\r\nA\u{0}B: c\r\n\r\n",
        "a NUL in an empty value": "GET / HTTP/1.1\r\nHost: localhost\r\nA: \u{0}b\r\n\r\n",
        "a NUL in the host": "GET / HTTP/1.1\r\nHost: localhost\u{0}.evil.example\r\n\r\n",
        "a line that begins with a NUL": "GET / HTTP/1.1\r\nHost: localhost\r\n\u{0}A: b\r\nC: d\r\n\r\n",
        "a line of a NUL": "GET / HTTP/1.1\r\nHost: localhost\r\n\u{0}\r\n\r\n",
        "bare line feeds": "GET /a HTTP/1.1\nHost: localhost\n\n",
        "a bare line feed behind the request line": "GET /a HTTP/1.1\nHost: localhost\r\n\r\n",
        "a bare line feed behind a field": "GET /a HTTP/1.1\r\nHost: localhost\nA: b\r\n\r\n",
        "a bare line feed behind the last field": "GET /a HTTP/1.1\r\nHost: localhost\n\r\n",
        "a bare line feed at the end": "GET /a HTTP/1.1\r\nHost: localhost\r\n\n",
        "a bare carriage return in a value": "GET /a HTTP/1.1\r\nHost: localhost\r\nA: b\rc\r\n\r\n",
        "a NUL in the method": "GE\u{0}T /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a NUL in the target": "GET /a\u{0}b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a NUL behind the target": "GET /a\u{0} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a NUL in the query": "GET /a?b=c\u{0}d HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "two blanks before the target": "GET  /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "two blanks behind the target": "GET /a  HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a blank in the target": "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a tab behind the target": "GET /a\t HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an expectation": "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\na",
    ]

    @Test(arguments: heads.keys.sorted())
    func `with a doubtful header is refused and the connection ends`(name: String) async throws {
        let all = try await Self.send(try #require(Self.heads[name]) + "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(all.hasPrefix("HTTP/1.1 4"), "\(all)")
        #expect(!all.contains("reached"), "\(all)")
        #expect(all.components(of: "HTTP/1.1 ") == 1, "\(all)")
    }

    @Test func `that arrives byte by byte among others is refused for its length alone`() async throws {
        try await withServer(Self.routes) { server in
            let (slow, other) = (try server.client(), try server.client())
            try await slow.send("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Le")
            try await other.send("POST /b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4x\r\n\r\n")
            #expect(try await other.response().status == 400)
            try await slow.send("ngth: 4\r\n\r\nabcd")
            #expect(try await slow.response().text == "reached:abcd")
        }
    }

    @Test(arguments: ["HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/3.0"])
    func `of another version is refused`(version: String) async throws {
        let all = try await Self.send("GET / \(version)\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(!all.contains("reached"), "\(all)")
    }

    static let targets = [
        "/../secret", "/a/../../secret", "/%2e%2e/secret", "/%2E%2e%2fsecret", "/a%2f..%2fsecret", "/..%5csecret", "/a/%2e/b",
        "/a\\b",
        "/a%00.mp3", "/%00", "/a%0d%0aX-Injected:1", "/%ff", "/%c0%ae%c0%ae/secret", "/%e0%80%ae", "/%", "/%1", "/%zz",
        "/a%u002e", "/é",
        "/a#b", "/a?b=%zz", "/a?%00%ff", "/.%00./x", "/a/..;/b%2f",
    ]

    @Test(arguments: targets)
    func `for a doubtful target is refused`(target: String) async throws {
        let all = try await Self.send(
            "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        #expect(all.hasPrefix("HTTP/1.1 400 "), "\(all)")
        #expect(!all.contains("reached") && !all.contains("Injected:"), "\(all)")
    }

    @Test(arguments: [
        ("/a%2541", "a%41"), ("/a+b", "a+b"), ("/%C3%A6", "æ"), ("/a;b=c", "a;b=c"), ("/a%20b?x=%2e%2e", "a b"), ("//a", "/a"),
    ])
    func `is not one that only looks strange`(target: String, path: String) async throws {
        try await withServer(Self.routes) { server in
            let response = try await server.get(target)
            #expect(response.text == "reached:\(path)")
        }
    }

    @Test(arguments: [
        ("evil.example", 421), ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost", 200),
        ("LOCALHOST:81", 200),
        ("127.0.0.1:9", 200), ("[::1]", 200), ("127.0.0.2", 421), ("books.example", 200), ("0", 421), ("2130706433", 421),
        ("10.0.0.1", 421),
    ])
    func `for a host that is not served here is misdirected`(host: String, status: Int) async throws {
        var configuration = ServerConfiguration()
        configuration.allowedHosts = ["Books.example"]
        try await withServer(Self.routes, configuration: configuration) { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try await client.response().status == status)
        }
    }

    // Empty lines before a request are to be ignored (RFC 9112 §2.2). A NUL before a bare line feed leaves the same two zeros in the
    // library's buffer as CRLF: a strict proxy in front refuses it. When a newer version of the library does too, this test says so.
    @Test(arguments: [
        "\r\n\r\nGET /a HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /a HTTP/1.1\r\nHost: localhost\r\nX: a\u{0}\nY: b\r\n\r\n",
    ])
    func `of these kinds passes all the same`(request: String) async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send(request)
            #expect(try await client.response().text == "reached:a")
        }
    }

    @Test func `that is not HTTP at all ends the connection`() async throws {
        for junk in ["\u{16}\u{3}\u{1}\u{0}junk\r\n\r\n", "hello\r\n\r\n", String(repeating: "A", count: 100_000), "GET\r\n\r\n"]
        {
            let all = try await Self.send(junk)
            #expect(!all.contains("reached"))
        }
    }

    @Test func `with a header that is too large is refused`() async throws {
        let all = try await Self.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 20_000))\r\n\r\n")
        #expect(all.hasPrefix("HTTP/1.1 431 ") || all.hasPrefix("HTTP/1.1 413 "), "\(all.prefix(200))")
    }
}

@Suite(.serialized) struct `A body in chunks` {
    static func routes(_ router: inout Router) {
        router.on(.post, "upload", acceptsChunks: true) { request, _ in
            .text("\(try await request.body.collect(upTo: 1000).count)")
        }
        router.on(.post, "other") { request, _ in .text("\(try await request.body.collect(upTo: 1000).count)") }
    }

    @Test func `is taken by routes for uploads, and nothing after it is read`() async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send(
                "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                    + "POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na"
            )
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(
                all.hasPrefix("HTTP/1.1 200 ") && all.hasSuffix("\r\n\r\n3") && all.components(of: "HTTP/1.1 ") == 1,
                "\(all)"
            )
            #expect(all.contains("Connection: close"))
        }
    }

    @Test(arguments: ["/other", "/nowhere"]) func `is answered with 411 by all other routes`(path: String) async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send(
                "POST \(path) HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            )
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(all.hasPrefix("HTTP/1.1 411 ") && all.contains("http.length-required") && all.contains("Connection: close"))
        }
    }

    // A size line, an extension and data that end in a bare line feed pass in the library. Whatever they hide is not read as a request.
    @Test(arguments: [
        "3\nabc\r\n0\r\n\r\n", "3;a\nb\r\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabc\r\n0\n\n",
        "3;\u{0}\r\nabc\r\n0\r\n\r\n",
    ])
    func `with doubtful parts begins no other request`(body: String) async throws {
        try await withServer(Self.routes) { server in
            let client = try server.client()
            try await client.send(
                "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
                    + "POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na"
            )
            let all = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(all.components(of: "HTTP/1.1 ") == 1, "\(all)")
        }
    }
}

extension String {
    /// How often a text occurs.
    func components(of text: String) -> Int { ranges(of: text).count }
}
