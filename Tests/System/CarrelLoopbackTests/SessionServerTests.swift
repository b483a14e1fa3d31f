// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelLoopback
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `A session server` {
    /// The distinguishing parts of a problem: all but the name of the request.
    private func problem(_ response: ClientResponse) -> String {
        let text = String(decoding: response.body, as: UTF8.self)
        let fields = response.headers.filter { $0.name != "X-Request-Id" && $0.name != "Date" && $0.name != "Content-Length" }
        let words = text.split(separator: ",").filter { !$0.contains("requestId") }
        return "\(response.status) \(fields.map { "\($0.name): \($0.value)" }.sorted()) \(words)"
    }

    @Test func `hands the request over with the path below the token`() async throws {
        try await TestSessions.run { sessions in
            let seen = Locked<SessionRequest?>(nil)
            let session = sessions.add { request in
                seen.withLock { $0 = request }
                let body = try await request.http.body.collect(upTo: 100)
                return .bytes(body, type: "text/plain", status: .created)
            }
            let request = ClientRequest(.put, session.base + "a%20b/c/?x=1&y=%26", headers: ["X-One": "1"], body: .bytes([1, 2]))
            let response = try await sessions.client.send(request)
            #expect(response.status == .created && response.body == [1, 2])
            let got = try #require(seen.withLock { $0 })
            #expect(got.kind == "media" && got.path == ["a b", "c", ""])
            #expect(got.http.method == .put && got.http.query["x"] == "1" && got.http.query["y"] == "&")
            #expect(got.http.headers["X-One"] == "1")
            guard case .network("127.0.0.1", let port) = got.http.peer, port > 0 else {
                Issue.record("\(got.http.peer)")
                return
            }
            #expect(try await sessions.get(String(session.base.dropLast())).status == .created)
            #expect(seen.withLock { $0 }?.path == [])
        }
    }

    @Test func `makes responses of what a session throws, and streams bodies whose length is not known`() async throws {
        try await TestSessions.run { sessions in
            let session = sessions.add { request in
                guard request.path == ["stream"] else { throw HTTPError(.notFound, "http.notFound", "there is nothing here") }
                return HTTPResponse(
                    .ok,
                    headers: ["Accept-Ranges": "none", "Content-Type": "video/mp2t"],
                    body: .stream(length: nil) { writer in
                        for number in 0..<100 { try await writer.write([UInt8](repeating: UInt8(number), count: 10_000)) }
                    }
                )
            }
            #expect(try await sessions.get(session.base + "none").status == .notFound)
            let response = try await sessions.get(session.base + "stream")
            #expect(response.headers["Transfer-Encoding"] == "chunked" && response.headers["Accept-Ranges"] == "none")
            #expect(response.body == (0..<100).flatMap { [UInt8](repeating: UInt8($0), count: 10_000) })
        }
    }

    @Test func `has sessions that come and go while it runs, each with a token of its own`() async throws {
        try await TestSessions.run { sessions in
            let (one, two) = (sessions.add(), sessions.add())
            #expect(one.token.text.utf8.count == 43 && one.token.text != two.token.text)
            let first = try await sessions.get(one.base + "a")
            #expect(first.body == Array("media a".utf8))
            #expect(try await sessions.get(two.base + "a").status == .ok)
            sessions.server.remove(one.session)
            #expect(try await sessions.get(one.base + "a").status == .forbidden)
            #expect(try await sessions.get(two.base + "a").status == .ok)
            let three = sessions.add()
            #expect(try await sessions.get(three.base + "a").status == .ok)
            sessions.server.remove(one.session)
            #expect((one.count, two.count, three.count) == (1, 2, 1))
        }
    }

    @Test func `refuses everything without the right token alike`() async throws {
        try await TestSessions.run { sessions in
            let (own, other, gone) = (sessions.add(), sessions.add("other"), sessions.add())
            sessions.server.remove(gone.session)
            let (token, origin) = (own.token.text, sessions.origin)
            let expected = problem(try await sessions.get("\(origin)/media/\(SessionToken().text)/a"))
            #expect(expected.hasPrefix("403 ") && expected.contains("loopback.token"))
            let paths = [
                "", "media", "media/", "media//a", "media/\(token.dropLast())/a", "media/\(token)x/a", "media/a/\(token)",
                "media/\(token.uppercased())/a", "media/\(token)%00", "none/\(token)/a", "other/\(token)/a",
                "media/\(other.token.text)/a", "media/\(gone.token.text)/a", "\(token)/media/a", "none", "assets/x",
                "media/\(gone.token.text)/",
            ]
            for path in paths {
                guard !path.hasSuffix("%00") else {
                    // refused as malformed before, with a token and without one
                    #expect(try await sessions.get("\(origin)/\(path)").status == .badRequest)
                    continue
                }
                #expect(problem(try await sessions.get("\(origin)/\(path)")) == expected, "\(path)")
                for method in [.post, .put, .delete, .options, .patch, HTTPMethod(rawValue: "BREW")] as [HTTPMethod] {
                    let response = try await sessions.get("\(origin)/\(path)", ["Content-Type": "text/plain"], method: method)
                    #expect(problem(response) == expected, "\(method) \(path)")
                }
                #expect(try await sessions.get("\(origin)/\(path)", method: .head).status == .forbidden)
            }
            #expect(own.count == 0 && other.count == 0 && gone.count == 0)
        }
    }

    @Test func `answers for its own host and port alone`() async throws {
        try await TestSessions.run { sessions in
            let (session, port) = (sessions.add(), sessions.port)
            for host in ["127.0.0.1:\(port)", "localhost:\(port)", "LOCALHOST:\(port)"] {
                #expect(try await sessions.get(session.base, ["Host": host]).status == .ok, "\(host)")
            }
            let foreign = [
                "evil.example", "evil.example:\(port)", "127.0.0.1", "localhost", "localhost:\(port ^ 1)", "127.0.0.1:\(port)0",
                "127.0.0.1:0\(port)", "[::1]:\(port)", "127.0.0.2:\(port)", "localhost.:\(port)", "localhost:",
                "127.0.0.1.evil.example:\(port)", "0.0.0.0:\(port)",
            ]
            let count = session.count
            for host in foreign {
                let status = try await sessions.get(session.base, ["Host": host]).status
                #expect(status == .misdirectedRequest || status == .badRequest, "\(host): \(status)")
                let stranger = try await sessions.get("\(sessions.origin)/media/x/", ["Host": host]).status
                #expect(stranger == status, "\(host)")
            }
            let raw = try RawClient(port: port)
            try await raw.send("GET /media/\(session.token.text)/ HTTP/1.0\r\n\r\n")
            #expect(try await raw.response().status == 421)
            #expect(session.count == count)
        }
    }

    @Test func `refuses pages of other origins, unless their area is open to them`() async throws {
        try await TestSessions.run { sessions in
            let (closed, open) = (sessions.add(), sessions.add("open", allowsOtherOrigins: true))
            let foreign: [HTTPFields] = [
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "anything"],
                ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
                ["Origin": "https://127.0.0.1:\(sessions.port)"], ["Origin": "http://localhost:\(sessions.port)"],
                ["Origin": sessions.origin, "Sec-Fetch-Site": "cross-site"],
            ]
            for fields in foreign {
                for method in [HTTPMethod.get, .post, .options] {
                    let response = try await sessions.get(closed.base, fields, method: method)
                    #expect(response.status == .forbidden, "\(method) \(fields)")
                    #expect(response.headers["Access-Control-Allow-Origin"] == nil)
                    #expect(try await sessions.get(open.base, fields, method: method).status == .ok, "\(method) \(fields)")
                }
                // a page that does not know the token learns nothing
                let guess = try await sessions.get("\(sessions.origin)/media/\(SessionToken().text)/", fields)
                #expect(String(decoding: guess.body, as: UTF8.self).contains("loopback.token"))
            }
            #expect(closed.count == 0)
            for fields in [["Sec-Fetch-Site": "same-origin", "Origin": sessions.origin], ["Sec-Fetch-Site": "none"]]
                as [HTTPFields]
            {
                #expect(try await sessions.get(closed.base, fields).status == .ok)
            }
        }
    }

    @Test func `takes a token in a header field where a session wants that`() async throws {
        try await TestSessions.run { sessions in
            let (inPath, inHeader) = (sessions.add(), sessions.add("file", at: .header))
            let url = "\(sessions.origin)/file/a/b"
            for scheme in ["Bearer", "bearer"] {
                let response = try await sessions.get(url, ["Authorization": "\(scheme) \(inHeader.token.text)"])
                #expect(response.body == Array("file a,b".utf8))
            }
            #expect(
                try await sessions.get("\(sessions.origin)/file", ["Authorization": "Bearer \(inHeader.token.text)"]).status
                    == .ok
            )
            let count = inHeader.count
            for field in [
                "", "Bearer", "Bearer ", inHeader.token.text, "Basic \(inHeader.token.text)", "Bearer \(inPath.token.text)",
            ] {
                #expect(try await sessions.get(url, ["Authorization": field]).status == .forbidden, "\(field)")
            }
            #expect(try await sessions.get(url).status == .forbidden)
            #expect(try await sessions.get(inHeader.base + "a").status == .forbidden, "not in the path")
            let other = try await sessions.get("\(sessions.origin)/media/a", ["Authorization": "Bearer \(inPath.token.text)"])
            #expect(other.status == .forbidden, "not in a field where it belongs in the path")
            #expect(inHeader.count == count && inPath.count == 0)
            // a field that means nothing here changes nothing
            #expect(try await sessions.get(inPath.base, ["Authorization": "Bearer x"]).status == .ok)
        }
    }

    @Test func `gives every process of the user what needs no token`() async throws {
        var configuration = SessionServer.Configuration()
        configuration.open["assets"] = { .bytes(Array($0.path.joined().utf8), type: "text/plain") }
        try await TestSessions.run(configuration) { sessions in
            let asset = try await sessions.get("\(sessions.origin)/assets/x")
            #expect(asset.body == [UInt8(ascii: "x")])
            #expect(try await sessions.get("\(sessions.origin)/asset/x").status == .forbidden)
            #expect(try await sessions.get("\(sessions.origin)/assets/x", ["Host": "evil.example"]).status == .misdirectedRequest)
        }
    }

    @Test func `closes connections over its limit`() async throws {
        var configuration = SessionServer.Configuration()
        configuration.connectionLimit = 3
        try await TestSessions.run(configuration) { sessions in
            let session = sessions.add()
            let request = "GET /media/\(session.token.text)/ HTTP/1.1\r\nHost: 127.0.0.1:\(sessions.port)\r\n\r\n"
            var clients: [RawClient] = []
            for _ in 0..<3 {
                let client = try RawClient(port: sessions.port)
                try await client.send(request)
                #expect(try await client.response().status == 200)
                clients.append(client)
            }
            let extra = try RawClient(port: sessions.port)
            try? await extra.send(request)
            await #expect(throws: (any Error).self) { try await extra.response() }
            for client in clients {
                try await client.send(request)
                #expect(try await client.response().status == 200)
            }
        }
    }

    @Test func `streams two hundred sessions side by side`() async throws {
        var configuration = SessionServer.Configuration()
        configuration.connectionLimit = 400
        try await TestSessions.run(configuration) { sessions in
            let client = HTTPClient(configuration: HTTPClientConfiguration(maxConnectionsPerHost: 400, maxConnections: 400))
            let all = (0..<200).map { number in
                sessions.add { _ in
                    .init(
                        .ok,
                        body: .stream(length: nil) { writer in
                            for _ in 0..<16 {
                                try await writer.write([UInt8](repeating: UInt8(number), count: 65_536))
                                await Task.yield()
                            }
                        }
                    )
                }
            }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for (number, session) in all.enumerated() {
                    group.addTask {
                        let body = try await client.send(ClientRequest(session.base)).body
                        return body.count == 1 << 20
                            && stride(from: 0, to: body.count, by: 4093).allSatisfy { body[$0] == UInt8(number) }
                    }
                }
                for try await isWhole in group where !isWhole { Issue.record("a response is of another session, or not whole") }
            }
            for session in all { try await eventually { sessions.server.runningCount(of: session.session) == 0 } }
        }
    }
}
