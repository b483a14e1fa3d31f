// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

@Suite(.onBothDatabases)
struct `Streaming of orders` {
    @Test func `a playlist is the same on every request of its kind`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        for query in ["", "?offline=true", "?offline=true&mediaPlaylist=true", "?mediaPlaylist=true", "?format=packed"] {
            let first = try await test.playlist(order, query: query).text
            test.clock.set(test.clock.now + .milliseconds(1000))
            #expect(try await test.playlist(order, query: query).text == first)
            #expect(first.hasPrefix("#EXTM3U\n"))
        }
    }

    @Test func `offline names the key by the scheme that apps intercept, and swapping it back gives the key`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let online = try await test.playlist(order)
        let offline = try await test.playlist(order, query: "?offline=true")
        #expect(online.key.hasPrefix("http://localhost/v1/stream/hls/\(order.id)/"))
        #expect(offline.key.hasPrefix("offline://"))
        #expect(offline.key.replacing("offline://", with: "http://") == online.key)
        #expect(offline.segments == online.segments)
        let wrapped = try await test.playlist(order, query: "?offline=true&mediaPlaylist=true")
        #expect(wrapped.text.contains("#EXT-X-STREAM-INF:"))
        #expect(wrapped.text.contains("CODECS=\"mp4a.40.34\""))
        #expect(wrapped.segments == ["/v1/stream/hls/\(order.id)/playlist.m3u8?offline=true"])
        #expect(wrapped.text.contains("chapters.json"))
    }

    @Test func `segments decrypt under the order's key to what was ingested`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let playlist = try await test.playlist(order, query: "?format=packed")
        #expect(playlist.segments.count == 60)
        let key = try await test.key(of: playlist.key)
        var stream: [UInt8] = []
        for (number, path) in playlist.segments.enumerated() {
            let answer = try await test.send(.get, path)
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Type"] == "audio/mpeg")
            stream += try decrypt(answer.body, key: key, number: number).dropFirst(73)
        }
        #expect(stream == SilentMP3.frames(600 * 44_100 / 1152))
    }

    @Test func `the response with a key has the end of the order`() async throws {
        let test = try await TestService(.silence, with: .listening)
        func end(_ order: Order) async throws -> String? {
            let answer = try await test.send(.get, test.path(of: try await test.playlist(order, query: "?offline=true").key))
            #expect(answer.status == 200 && answer.body.count == 16 && answer.headers["X-Carrel-Key-Rotation"] == "0")
            return answer.headers["X-Carrel-Order-End"]
        }
        #expect(try await end(try await test.order()) == nil)
        let until = test.clock.now + .seconds(86_400)
        let loan = try await test.order(
            Orders.Request(account: "alice", titleID: test.title.id, kind: .loan, end: until)
        )
        #expect(try await end(loan) == until.description)
    }

    @Test func `every order has a key of its own`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let (first, second) = (try await test.playlist(try await test.order()), try await test.playlist(try await test.order()))
        #expect(try await test.key(of: first.key) != (try await test.key(of: second.key)))
    }

    @Test func `a range of a segment is that range of it`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let path = try await test.playlist(try await test.order()).segments[3]
        let whole = try await test.send(.get, path)
        for range in ["bytes=0-0", "bytes=100-999", "bytes=70000-", "bytes=-17"] {
            let answer = try await test.send(.get, path, headers: ["Range": range])
            #expect(answer.status == 206)
            let text = try #require(answer.headers["Content-Range"])
            let numbers = text.dropFirst(6).split(whereSeparator: { $0 == "-" || $0 == "/" }).compactMap { Int($0) }
            #expect(answer.body == Array(whole.body[numbers[0]...numbers[1]]))
            #expect(numbers[2] == whole.body.count)
        }
        let parts = try await test.send(.get, path, headers: ["Range": "bytes=5-9,100-102,0-1"])
        #expect(parts.status == 206)
        #expect(parts.headers["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
        for part in [5..<10, 100..<103, 0..<2] {
            let expected = Array("/\(whole.body.count)\r\n\r\n".utf8) + whole.body[part] + Array("\r\n--".utf8)
            #expect(parts.body.indices.contains { parts.body[$0...].starts(with: expected) }, "\(part)")
        }
        #expect(try await test.send(.get, path, headers: ["Range": "bytes=9999999-"]).status == 416)
        let head = try await test.send(.head, path)
        #expect(head.headers["Content-Type"] == "video/mp2t")
    }

    @Test func `tickets are for one order and one purpose, and die`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let (order, other) = (try await test.order(), try await test.order())
        let playlist = try await test.playlist(order)
        let stranger = playlist.segments[0].replacing(order.id, with: other.id)
        #expect(try await test.call(.get, stranger).json["code"] == "ticket.invalid")
        let asKey = playlist.segments[0].replacing("/0.ts", with: "/0.key")
        #expect(try await test.send(.get, asKey).status == 403)
        test.clock.set(test.clock.now + .milliseconds(31 * 3_600_000))
        #expect(try await test.send(.get, playlist.segments[0]).status == 403)
        #expect(try await test.send(.get, try await test.playlist(order).segments[0]).status == 200)
    }

    @Test(arguments: ["revoke", "return"])
    func `an order that has ended stops immediately, whatever its tickets contain`(verb: String) async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        #expect(try await test.send(.get, playlist.segments[1]).status == 200)
        _ = try await test.call(.post, "/v1/orders/\(order.id)/\(verb)", peer: .local(userID: 0))
        let reason = JSON.string(verb == "revoke" ? "revoked" : "returned")
        for path in [playlist.segments[2], test.path(of: playlist.key), "/v1/stream/hls/\(order.id)/playlist.m3u8"] {
            let answer = try await test.call(.get, path)
            #expect(answer.status == 403)
            #expect(answer.json["reason"] == reason)
        }
    }

    @Test func `a loan lives from its start to its end, to the millisecond`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let (start, end) = (test.clock.now + .milliseconds(60_000), test.clock.now + .milliseconds(120_000))
        let order = try await test.order(.init(account: "alice", titleID: test.title.id, kind: .loan, start: start, end: end))
        let path = "/v1/stream/hls/\(order.id)/playlist.m3u8"
        #expect(try await test.call(.get, path).json["reason"] == "not-started")
        test.clock.set(start)
        #expect(try await test.send(.get, path).status == 200)
        let playlist = try await test.playlist(order)
        test.clock.set(end - .milliseconds(1))
        #expect(try await test.send(.get, playlist.segments[0]).status == 200)
        test.clock.set(end)
        let answer = try await test.call(.get, playlist.segments[0])
        #expect(answer.json["reason"] == "expired")
        #expect(answer.json["endedAt"]?.string == end.description)
    }

    @Test func `more listeners than the limit are told when to come back`() async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.concurrency = 1 }
        let playlist = try await test.playlist(try await test.order())
        let path = test.path(of: playlist.key)
        let (home, away) = (Peer.network(address: "192.0.2.1", port: 1), Peer.network(address: "198.51.100.1", port: 1))
        for player in ["mpv", "ffplay", "vlc", "chromium"] {
            #expect(try await test.send(.get, path, headers: ["User-Agent": player], peer: home).status == 200)
        }
        let refused = try await test.send(.get, path, headers: ["User-Agent": "mpv"], peer: away)
        #expect(refused.status == 403)
        #expect(refused.headers["Retry-After"] == "120")
        let problem = try JSON.parse(refused.body.rawSpan)
        #expect(problem["reason"] == "concurrency" && problem["limit"] == 1 && problem["retryAfter"] == 120)
        #expect(try await test.send(.get, playlist.segments[0], peer: home).status == 200)
    }

    @Test func `a state query is not listening`() async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.concurrency = 1 }
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let key = test.path(of: playlist.key)
        for path in [key, playlist.segments[0]] {
            #expect(try await test.send(.head, path, peer: .network(address: "198.51.100.1", port: 1)).status == 200)
        }
        #expect(try await test.call(.get, "/v1/orders/\(order.id)", peer: .local(userID: 0)).json["state"] == "ready")
        #expect(try await test.send(.get, key).status == 200, "the other took no place")
        #expect(try await test.call(.get, "/v1/orders/\(order.id)", peer: .local(userID: 0)).json["state"] == "active")
    }

    @Test func `an order id that never was looks like one that is not yours`() async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.access = .session }
        let order = try await test.order()
        let never = "106d9ba0-125c-4b44-a410-2889d53f42bd"
        for file in [
            "playlist.m3u8", "chapters.json", "cover", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA/0.key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA/0.ts",
        ] {
            let unknown = try await test.call(.get, "/v1/stream/hls/\(never)/\(file)")
            #expect(unknown.status == 401 && unknown.json["code"] == "request.unauthenticated", "\(file)")
            #expect(try await test.call(.get, "/v1/stream/hls/\(order.id)/\(file)") == unknown)
        }
        for list in ["latest", "history"] {
            let unknown = try await test.call(.get, "/v2/states/\(list)/\(never)")
            #expect(unknown.status == 401)
            #expect(try await test.call(.get, "/v2/states/\(list)/\(order.id)") == unknown)
        }
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let token = try await test.service.accounts.issueSession(for: account)
        let bearer = try await test.send(
            .get,
            "/v1/stream/hls/\(order.id)/playlist.m3u8",
            headers: ["Authorization": "Bearer \(token)"]
        )
        #expect(bearer.status == 200)
        let cookie = try await test.send(
            .get,
            "/v1/stream/hls/\(order.id)/playlist.m3u8",
            headers: ["Cookie": "carrel_session=\(token)"]
        )
        #expect(cookie.status == 200)
        let mallory = try await test.service.accounts.findOrCreate(named: "mallory")
        let other = try await test.service.accounts.issueSession(for: mallory)
        let stolen = try await test.send(
            .get,
            "/v1/stream/hls/\(order.id)/playlist.m3u8",
            headers: ["Authorization": "Bearer \(other)"]
        )
        #expect(stolen.status == 404)
        let made = try await test.send(
            .get,
            "/v1/stream/hls/\(never)/playlist.m3u8",
            headers: ["Authorization": "Bearer \(other)"]
        )
        #expect(made.status == 404 && made.body == stolen.body)
    }

    @Test func `apps write parameters in their own way`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let order = try await test.order()
        let expected = try await test.playlist(order, query: "?offline=true").text
        #expect(expected.contains("offline://"))
        for query in ["offline=1", "offline", "Offline=true", "OFFLINE=True", "offline=yes", "offline=&format=ts"] {
            #expect(try await test.playlist(order, query: "?\(query)").text == expected, "\(query)")
        }
        let wrapped = try await test.playlist(order, query: "?offline=true&mediaPlaylist=true").text
        #expect(try await test.playlist(order, query: "?Offline=1&MEDIAPLAYLIST").text == wrapped)
        for query in ["offline=false", "offline=0", "offline=no"] {
            #expect(try await !test.playlist(order, query: "?\(query)").text.contains("offline://"), "\(query)")
        }
    }

    @Test func `a revoked order shows neither chapters nor cover, one that has ended by itself still does`() async throws {
        let test = try await TestService(.silence, with: .listening)
        let end = test.clock.now + .seconds(60)
        let loan = try await test.order(.init(account: "alice", titleID: test.title.id, kind: .loan, end: end))
        let (revoked, cancelled) = (try await test.order(), try await test.order())
        _ = try await test.service.orders.revoke(revoked.id)
        #expect(try await test.send(.post, "/v1/orders/\(cancelled.id)/cancel", peer: .local(userID: 0)).status == 200)
        test.clock.set(end)
        for file in ["chapters.json", "cover"] {
            for (order, reason) in [(revoked, "revoked"), (cancelled, "cancelled")] {
                let answer = try await test.call(.get, "/v1/stream/hls/\(order.id)/\(file)")
                #expect(answer.status == 403 && answer.json["reason"]?.string == reason)
            }
        }
        #expect(try await test.send(.get, "/v1/stream/hls/\(loan.id)/chapters.json").status == 200)
    }

    @Test func `keys rotate every configured number of segments`() async throws {
        let test = try await TestService(.silence, with: .listening) { $0.stream.keyRotation = 25 }
        let order = try await test.order()
        let text = try await test.playlist(order, query: "?format=packed").text
        let lines = text.split(separator: "\n")
        let keys = lines.filter { $0.hasPrefix("#EXT-X-KEY") }.map { $0.split(separator: "\"")[1] }
        #expect(keys.count == 3)
        var bytes: Set<[UInt8]> = []
        for key in keys { bytes.insert(try await test.key(of: String(key))) }
        #expect(bytes.count == 3)
        let playlist = try await test.playlist(order, query: "?format=packed")
        let last = try await test.send(.get, playlist.segments[50])
        let plain = try decrypt(last.body, key: try await test.key(of: String(keys[2])), number: 50)
        #expect(plain.prefix(3) == Array("ID3".utf8)[...])
        #expect(try await test.send(.get, test.path(of: String(keys[2])).replacing("/2.key", with: "/3.key")).status == 404)
    }

    @Test(arguments: ["0.tss", "00.ts", "60.ts", "-1.ts", "0", ".ts", "0.ts.ts", "9999999999.ts"])
    func `a file that is not there is not found`(file: String) async throws {
        let test = try await TestService(.silence, with: .listening)
        let path = try await test.playlist(try await test.order()).segments[0]
        let status = try await test.send(.get, path.replacing("/0.ts", with: "/\(file)")).status
        #expect(status == 404)
    }
}

/// A segment's plain bytes: the IV is its number (RFC 8216 §5.2).
func decrypt(_ bytes: [UInt8], key: [UInt8], number: Int) throws -> [UInt8] {
    var iv = [UInt8](repeating: 0, count: 8)
    iv.append(bigEndian: UInt64(number))
    var decryptor: AESCBCDecryptor? = try AESCBCDecryptor(key: Secret(key), iv: iv)
    let head = try [UInt8](rawCapacity: bytes.count + 16) { try decryptor?.update(bytes.rawSpan, into: &$0) }
    return head + (try [UInt8](rawCapacity: 16) { try decryptor.take()?.finish(into: &$0) })
}
