// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import CarrelTesting
import Testing

@Suite(.onBothDatabases) struct `A packager` {
    private static let cpix = "/v1/cpix"
    private static let speke2: HTTPFields = ["X-Speke-Version": "2.0"]

    @Test func `gets new keys, and the same ones when it repeats its request`() async throws {
        let packager = try await Packager()
        let first = try await packager.send()
        #expect(first.status == 200 && first.headers["Content-Type"] == "application/xml; charset=utf-8")
        #expect(first.headers["Cache-Control"] == "no-store")
        let keys = try Packager.keys(first.body)
        #expect(Set(keys.keys) == Set(Packager.kids) && Set(keys.values).count == 2 && keys.values.allSatisfy { $0.count == 32 })
        for path in [Self.cpix, "/speke/v2/copyProtection", "/speke/v1/copyProtection"] {
            let again = try await packager.send(path, authorization: packager.basic, fields: Self.speke2)
            #expect(try again.status == 200 && Packager.keys(again.body) == keys)
        }
        let stored = try await packager.stored()
        #expect(
            stored.count == 2 && stored.allSatisfy { $0["content"] == "film" && $0["owner"] == .null && $0["clearKey"] == false }
        )
    }

    @Test func `has the fields of its version of SPEKE in each response`() async throws {
        let packager = try await Packager()
        let one = try await packager.send("/speke/v1/copyProtection")
        #expect(one.headers["Speke-User-Agent"]?.hasPrefix("Carrel") == true && one.headers["X-Speke-Version"] == nil)
        let two = try await packager.send("/speke/v2/copyProtection", fields: Self.speke2)
        #expect(two.headers["X-Speke-User-Agent"]?.hasPrefix("Carrel") == true && two.headers["X-Speke-Version"] == "2.0")
        for path in [Self.cpix, "/speke/v1/copyProtection", "/speke/v2/copyProtection"] {
            let alive = try await packager.send("\(path)/heartbeat")
            #expect(alive.status == 200 && String(decoding: alive.body, as: UTF8.self) == "{\"statusMessage\":\"alive\"}")
            #expect(try await packager.send("\(path)/heartbeat", authorization: "Bearer x").status == 401)
        }
        for version in ["3.0", "1.0", ""] {
            let refused = try await packager.send("/speke/v2/copyProtection", fields: ["X-Speke-Version": version])
            #expect(refused.status == 400 && refused.headers["X-Speke-Version"] == "2.0")
            #expect(String(decoding: refused.body, as: UTF8.self) == "Unsupported SPEKE version\n")
        }
        #expect(try await packager.stored().count == 2)
    }

    @Test(arguments: [("/speke/v1/copyProtection", "Speke-User-Agent"), ("/speke/v2/copyProtection", "X-Speke-User-Agent")])
    func `that follows SPEKE gets each refusal as a text with its fields`(path: String, agent: String) async throws {
        let packager = try await Packager()
        func expect(
            _ status: Int,
            _ answer: (status: Int, headers: HTTPFields, body: [UInt8]),
            at place: SourceLocation = #_sourceLocation
        ) {
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == status && !text.hasPrefix("{") && text.count > 2, "\(text)", sourceLocation: place)
            #expect(answer.headers["Content-Type"] == "text/plain; charset=utf-8", sourceLocation: place)
            #expect(answer.headers[agent]?.hasPrefix("Carrel") == true, sourceLocation: place)
            #expect((answer.headers["X-Speke-Version"] == "2.0") == path.contains("v2"), sourceLocation: place)
        }
        let stranger = try await packager.send(path, authorization: "Bearer x", fields: Self.speke2)
        expect(401, stranger)
        #expect(stranger.headers["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
        expect(401, try await packager.send("\(path)/heartbeat", authorization: "Bearer x", fields: Self.speke2))
        expect(403, try await packager.send(path, fields: Self.speke2, peer: Packager.remote))
        for type in ["application/json", "application/x-www-form-urlencoded"] {
            expect(415, try await packager.send(path, fields: ["X-Speke-Version": "2.0", "Content-Type": type]))
        }
        let long = Array((String(repeating: " ", count: 4 << 20) + "<a/>").utf8)
        expect(413, try await packager.send(path, body: long, fields: Self.speke2))
        // SPEKE 1 names the content in another attribute
        func request(_ content: String) -> [UInt8] {
            let text = String(decoding: Packager.request(content), as: UTF8.self)
            return Array(text.replacing(" contentId=", with: " id=\"\(content)\" contentId=").utf8)
        }
        #expect(try await packager.send(path, body: request("film"), fields: Self.speke2).status == 200)
        expect(409, try await packager.send(path, body: request("another film"), fields: Self.speke2))
        let role = try await Packager(.portal)
        expect(403, try await role.send(path, fields: Self.speke2))
    }

    @Test func `waits after 600 requests in a minute from one network`() async throws {
        let packager = try await Packager()
        func heartbeat(_ path: String = Self.cpix, from address: String = "192.0.2.1") async throws -> (Int, String?) {
            let peer = Peer.network(address: address, port: 1)
            let answer = try await packager.send("\(path)/heartbeat", scheme: "https", host: "books.example.org", peer: peer)
            return (answer.status, answer.headers["Retry-After"])
        }
        for number in 0..<600 where try await heartbeat().0 != 200 { Issue.record("request \(number)") }
        let refused = try await heartbeat()
        #expect(refused.0 == 429 && refused.1 == "1")
        #expect(try await heartbeat("/speke/v2/copyProtection").0 == 429, "all protocols are counted together")
        let late = try await packager.send(scheme: "https", host: "books.example.org", peer: Packager.remote)
        #expect(late.status == 429 && String(decoding: late.body, as: UTF8.self).contains("content-key.throttled"))
        #expect(try await heartbeat(from: "198.51.100.1").0 == 200)
        #expect(try await packager.send().status == 200, "this machine has no limit")
        packager.test.clock.advance(by: .seconds(1))
        #expect(try await heartbeat().0 == 200)
    }

    @Test func `with too many namespaces is refused before a key is stored`() async throws {
        let packager = try await Packager()
        let elements = (0..<100).map { "<x xmlns=\"urn:\($0)\"/>" }.joined()
        let text = String(decoding: Packager.request(), as: UTF8.self).replacing("</CPIX>", with: "\(elements)</CPIX>")
        let refused = try await packager.send(body: Array(text.utf8))
        #expect(refused.status == 413 && String(decoding: refused.body, as: UTF8.self).contains("cpix.too-large"))
        #expect(try await packager.stored().isEmpty)
    }

    @Test func `gets the same keys from several nodes concurrently`() async throws {
        let packager = try await Packager()
        var nodes = [packager.test.service]
        for _ in 0..<3 { nodes.append(try await packager.test.another()) }
        let answers = try await withThrowingTaskGroup(of: [KeyID: String].self) { group in
            for node in nodes + nodes {
                group.addTask {
                    let answer = try await packager.send(to: node)
                    #expect(answer.status == 200)
                    return try Packager.keys(answer.body)
                }
            }
            var answers: Set<[KeyID: String]> = []
            for try await keys in group { answers.insert(keys) }
            return answers
        }
        #expect(answers.count == 1)
        #expect(try await packager.stored().count == 2)
    }

    @Test func `gets a key only for the content that it was created for`() async throws {
        let packager = try await Packager()
        #expect(try await packager.send().status == 200)
        let other = try await packager.send(body: Packager.request("another film"))
        #expect(other.status == 409 && !String(decoding: other.body, as: UTF8.self).contains("PlainValue"))
        let speke = try await packager.send(
            "/speke/v2/copyProtection",
            body: Packager.request("another film"),
            fields: Self.speke2
        )
        #expect(speke.status == 409 && speke.headers["X-Speke-Version"] == "2.0")
        // a key that was added by its id alone, with and without an owner
        let portal = try await packager.test.service.accounts.createServiceKey(name: "p", role: .portal, by: .operator).key.id
        for (number, owner) in [nil, portal].enumerated() {
            let id = KeyID(label: "added \(number)")
            var body: JSONObject = ["key": .string(String(repeating: "5a", count: 16))]
            body["owner"] = owner.map { .string($0) }
            let path = "/admin/v1/content-keys/\(id.hex)"
            #expect(try await packager.test.send(.put, path, body: .object(body), peer: Packager.local).status == 204)
            #expect(try await packager.send(body: Packager.request(kids: [id])).status == 409)
        }
        // nothing of a request that is refused in part is stored
        let fresh = KeyID(label: "fresh")
        #expect(try await packager.send(body: Packager.request("another film", kids: [fresh, Packager.kids[0]])).status == 409)
        #expect(try await packager.stored().count == 4)
    }

    @Test func `gets a key that was imported for its content, also one with an owner`() async throws {
        let packager = try await Packager()
        let portal = try await packager.test.service.accounts.createServiceKey(name: "p", role: .portal, by: .operator).key.id
        for (number, owner) in [nil, portal].enumerated() {
            let id = KeyID(label: "imported \(number)")
            let key = String(repeating: "0\(number + 1)", count: 16)
            var body: JSONObject = ["key": .string(key), "content": "film"]
            body["owner"] = owner.map { .string($0) }
            let path = "/admin/v1/content-keys/\(id.hex)"
            for _ in 0..<2 {
                #expect(try await packager.test.send(.put, path, body: .object(body), peer: Packager.local).status == 204)
            }
            let answer = try await packager.send(body: Packager.request(kids: [id]))
            #expect(try Packager.keys(answer.body) == [id: key])
            body["content"] = "another film"
            #expect(try await packager.test.send(.put, path, body: .object(body), peer: Packager.local).status == 409)
            #expect(
                try await packager.stored().first { $0["kid"] == .string(id.hex) }?["owner"] == owner.map { .string($0) } ?? .null
            )
        }
    }

    @Test func `never gets the key of a title, nor chooses one`() async throws {
        let packager = try await Packager(.packager, .silence)
        let content = TitleContent.id(ofTitle: packager.test.title.id)
        for contentID in [content, "film"] {
            let refused = try await packager.send(body: Packager.request(contentID, kids: [KeyID(label: content)]))
            #expect(refused.status == 403)
        }
        // nor does it get keys for the content of a title, by any id
        let other = KeyID(label: "other")
        for contentID in [content, "URN:Carrel:x"] {
            #expect(try await packager.send(body: Packager.request(contentID, kids: [other])).status == 403)
            let key: JSON = ["key": .string(String(repeating: "5a", count: 16)), "content": .string(contentID)]
            let path = "/admin/v1/content-keys/\(other.hex)"
            #expect(try await packager.test.send(.put, path, body: key, peer: Packager.local).status == 403)
        }
        #expect(try await packager.stored().isEmpty)
        let path = "/admin/v1/content-keys/\(KeyID(label: content).hex)"
        var body: JSONObject = ["key": .string(String(repeating: "5a", count: 16)), "content": "film"]
        #expect(try await packager.test.send(.put, path, body: .object(body), peer: Packager.local).status == 403)
        body["content"] = nil
        #expect(try await packager.test.send(.put, path, body: .object(body), peer: Packager.local).status == 204)
        #expect(try await packager.send(body: Packager.request(content, kids: [KeyID(label: content)])).status == 403)
    }

    @Test func `gets no key whose id was revoked`() async throws {
        let packager = try await Packager()
        #expect(try await packager.send().status == 200)
        let path = "/admin/v1/content-keys/\(Packager.kids[0].hex)?revoke=true"
        #expect(try await packager.test.send(.delete, path, peer: Packager.local).status == 204)
        let refused = try await packager.send()
        #expect(refused.status == 409 && String(decoding: refused.body, as: UTF8.self).contains("was revoked"))
        #expect(try await packager.send(body: Packager.request(kids: [Packager.kids[1]])).status == 200)
    }

    @Test func `gets its keys after the master key was rotated`() async throws {
        let packager = try await Packager()
        let keys = try Packager.keys(try await packager.send().body)
        try await packager.test.addMasterKey()
        #expect(try await packager.test.send(.post, "/admin/v1/master-key/rotate", peer: Packager.local).status == 200)
        let row = SQL("SELECT COUNT(*) FROM content_keys WHERE master_version = 2")
        #expect(try await packager.test.service.database.read { try $0.row(row, [])?.integer(0) } == 2)
        #expect(try Packager.keys(try await packager.send().body) == keys)
    }

    @Test func `is in the audit log, without a key`() async throws {
        let packager = try await Packager()
        let keys = try Packager.keys(try await packager.send().body)
        _ = try await packager.send()
        let log = try await packager.test.call(.get, "/admin/v1/audit?limit=100", peer: Packager.local).json
        let entries = (log["entries"]?.array ?? []).filter { $0["actor"] == .string(packager.id) }
        #expect(entries.count { $0["action"] == "content-key.create" && $0["reason"] == "film" } == 2)
        #expect(entries.count { $0["action"] == "content-key.send" && $0["subject"] == "film" && $0["reason"] == "2 keys" } == 2)
        for key in keys.values {
            let base64 = Base64.encode(Hex.decode(key) ?? [])
            #expect(!log.description.contains(key) && !log.description.contains(base64))
        }
    }

    @Test func `is served over TLS and on this machine alone`() async throws {
        let packager = try await Packager()
        for (scheme, host, peer, status) in [
            ("http", "localhost", Packager.loopback, 200), ("http", "books.example.org", Packager.loopback, 403),
            ("http", "localhost", Packager.remote, 403), ("https", "books.example.org", Packager.remote, 200),
        ] {
            #expect(try await packager.send(scheme: scheme, host: host, peer: peer).status == status)
        }
        // a proxy on this machine speaks for another client
        for field in ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"] {
            let refused = try await packager.send(fields: [field: "for=192.0.2.1"])
            #expect(refused.status == 403 && String(decoding: refused.body, as: UTF8.self).contains("request.tls"))
        }
        // with a proxy in front, a loopback address proves nothing
        let proxied = try await Packager { $0.stream.publicURL = "https://books.example.org" }
        let refused = try await proxied.send()
        #expect(refused.status == 403 && String(decoding: refused.body, as: UTF8.self).contains("request.tls"))
        #expect(try await proxied.send(scheme: "https", host: "books.example.org").status == 200)
    }

    @Test(arguments: Role.allCases.filter { $0.isForKeys && $0 != .packager })
    func `alone gets keys: another role does not`(role: Role) async throws {
        let packager = try await Packager(role)
        for authorization in [packager.bearer, packager.basic] {
            #expect(try await packager.send(authorization: authorization).status == 403)
        }
        #expect(try await packager.stored().isEmpty)
    }

    @Test func `must prove its key, and may do nothing else`() async throws {
        let packager = try await Packager()
        let other = try await packager.test.service.accounts.createServiceKey(name: "other", role: .packager, by: .operator)
        let foreign = "Basic \(Base64.encode(Array("\(other.key.id):\(packager.key)".utf8)))"
        for authorization in ["", "Bearer x", "Basic eDp5", foreign] {
            let refused = try await packager.send(authorization: authorization)
            #expect(refused.status == 401 && refused.headers["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
        }
        // neither the operator nor staff
        let unproven = HTTPRequest(
            .post,
            Self.cpix,
            headers: ["Content-Type": "application/xml"],
            body: Packager.request(),
            peer: Packager.local
        )
        #expect(await packager.test.service.router.respond(to: unproven).status == .unauthorized)
        for path in ["content-keys", "accounts", "titles", "licenses", "audit", "health", "service-keys"] {
            let status = try await packager.test.send(.get, "/admin/v1/\(path)", headers: ["Authorization": packager.bearer])
                .status
            #expect(status == 403, "\(path)")
        }
        try await packager.test.service.accounts.revokeServiceKey(packager.id)
        #expect(try await packager.send().status == 401)
    }

    @Test(arguments: [
        ("", 400, "cpix.malformed"), ("<a/>", 400, "cpix.malformed"), ("<!DOCTYPE a []><a/>", 400, "DOCTYPE"),
        (String(repeating: " ", count: 4 << 20) + "<a/>", 413, "http"),
    ])
    func `with a bad request is refused with the reason`(body: String, status: Int, reason: String) async throws {
        let packager = try await Packager()
        let refused = try await packager.send(body: Array(body.utf8))
        #expect(refused.status == status && String(decoding: refused.body, as: UTF8.self).contains(reason))
        let many = (0...1000).map { KeyID(label: "\($0)") }
        let large = try await packager.send(body: Packager.request(kids: many))
        #expect(large.status == 413 && String(decoding: large.body, as: UTF8.self).contains("more than 1000 content keys"))
        #expect(try await packager.stored().isEmpty)
    }
}
