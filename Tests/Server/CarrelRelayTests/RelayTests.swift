// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelMetrics
import CarrelRelay
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelTokens
import Testing

/// A service with a relay to a license server.
struct RelayedService {
    let test: TestService
    let key: LicenseMessage.CommunicationKey

    static let local = Peer.local(userID: 0)

    init(
        _ url: String,
        with capabilities: TestService.Capabilities = [.relay, .administration],
        _ change: (inout RelaySettings) -> Void = { _ in },
        _ configure: (inout CarrelService.Settings) -> Void = { _ in }
    ) async throws {
        let id = try #require(KeyID(uuid: "11111111-2222-3333-4444-555555555555"))
        key = try LicenseMessage.CommunicationKey(id: id, secret: Secret(Array(0..<32)))
        var relay = RelaySettings(name: "fairplay", url: url, key: key)
        change(&relay)
        test = try await TestService(with: capabilities) {
            $0.relays = [relay]
            configure(&$0)
        }
    }

    func message(id: String? = "message-1", _ change: (inout LicenseMessage) -> Void = { _ in }) throws -> String {
        let entitlement = LicenseMessage.Entitlement(keys: .inline([.init(id: KeyID(label: "film"))]))
        var message = LicenseMessage(communicationKeyID: key.id, id: id, entitlement: entitlement)
        change(&message)
        return try message.write(under: key)
    }

    func send(
        _ body: [UInt8],
        _ message: String?,
        _ headers: HTTPFields = ["Content-Type": "application/octet-stream"],
        to path: String = "/v1/relay/fairplay",
        from address: String = "192.0.2.1"
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        var headers = headers
        if let message { headers["X-AxDRM-Message"] = message }
        let request = HTTPRequest(.post, path, headers: headers, body: body, peer: .network(address: address, port: 1))
        let response = await test.service.router.respond(to: request)
        return (response.status.rawValue, response.headers, try await response.body.collect(upTo: 1 << 20))
    }

    func code(_ path: String, _ server: LicenseServer) async throws -> (status: Int, code: String?, detail: String) {
        let answer = try await send([1, 2, 3], try message())
        let problem = try? JSON.parse(answer.body.rawSpan)
        return (answer.status, problem?["code"]?.string, problem?["detail"]?.string ?? "")
    }
}

struct `A relay` {
    /// An SPC is opaque: every byte, and none that could be text.
    private static let spc = [UInt8](0...255) + [0, 13, 10, 13, 10, 0xff, 0xfe, 0]

    @Test func `forwards a request byte for byte, and returns the response unchanged`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license?tenant=1") { $0.fields = ["X-Vendor-Token"] }
        let message = try relayed.message()
        let headers: HTTPFields = [
            "Content-Type": "application/x-www-form-urlencoded", "X-Vendor-Token": "abc", "Cookie": "carrel=1",
            "Authorization": "Bearer x", "X-Other": "no",
        ]
        let answer = try await relayed.send(Self.spc, message, headers)
        #expect(answer.status == 200 && answer.body == LicenseServer.answer)
        #expect(answer.headers["Content-Type"] == "application/octet-stream")
        #expect(answer.headers["X-AxDRM-Identity"] == "tenant" && answer.headers["X-AxDRM-Version"] == "7.1")
        #expect(answer.headers["Set-Cookie"] == nil && answer.headers["Server"] == nil)
        #expect(answer.headers["Cache-Control"] == "no-store")
        let request = try #require(server.request(1))
        #expect(request.body == Self.spc)
        let lines = request.head.split(separator: "\r\n").map(String.init)
        #expect(lines.first == "POST /license?tenant=1 HTTP/1.1")
        #expect(lines.contains("X-AxDRM-Message: \(message)") && lines.contains("X-Vendor-Token: abc"))
        #expect(lines.contains("Content-Type: application/x-www-form-urlencoded"))
        for name in ["cookie", "authorization", "x-other", "x-forwarded-for", "192.0.2.1"] {
            #expect(!request.head.lowercased().contains(name), "\(name)")
        }
        // the largest body, and one byte more
        let large = [UInt8](repeating: 0xa5, count: 65_536)
        #expect(try await relayed.send(large, message).status == 200)
        #expect(server.request(2)?.body == large)
        #expect(try await relayed.send(large + [1], message).status == 413)
        #expect(server.count == 2)
        await server.stop()
    }

    @Test func `returns a refusal of the license server with its text`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/denied")
        let answer = try await relayed.send(Self.spc, try relayed.message())
        #expect(answer.status == 403 && answer.body == Array("<html>no".utf8))
        #expect(answer.headers["X-AxDRM-ErrorMessage"] == "no such key")
        await server.stop()
    }

    @Test func `sends nothing without a message that is valid`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license")
        let now = relayed.test.clock.now
        let other = try LicenseMessage.CommunicationKey(id: relayed.key.id, secret: Secret([UInt8](repeating: 1, count: 32)))
        let unknown = try LicenseMessage.CommunicationKey(id: KeyID(label: "b"), secret: relayed.key.secret)
        let entitlement = LicenseMessage.Entitlement(keys: .inline([.init(id: KeyID(label: "film"))]))
        let good = try relayed.message()
        let bad: [(String, String?)] = [
            ("none", nil), ("empty", ""), ("no JWT", "abc"), ("changed", String(good.dropLast(3)) + "AAA"),
            ("of another key", try LicenseMessage(communicationKeyID: other.id, entitlement: entitlement).write(under: other)),
            ("of another id", try LicenseMessage(communicationKeyID: unknown.id, entitlement: entitlement).write(under: unknown)),
            ("over", try relayed.message { $0.expiresAt = now }),
            ("not begun", try relayed.message { $0.startsAt = now + .seconds(1) }),
            ("of a license that is over", try relayed.message { $0.entitlement.expiresAt = now }),
            ("of a license that has not begun", try relayed.message { $0.entitlement.startsAt = now + .seconds(1) }),
            (
                "for another address",
                try relayed.message { $0.entitlement.access.addresses = [AddressRange("198.51.100.7")].compactMap(\.self) }
            ),
        ]
        for (name, message) in bad {
            let answer = try await relayed.send(Self.spc, message)
            #expect(answer.status == 403, "\(name)")
            let problem = try JSON.parse(answer.body.rawSpan)
            #expect(problem["code"] == "relay.message", "\(name)")
            #expect(answer.headers["X-AxDRM-ErrorMessage"] == problem["detail"]?.string)
        }
        #expect(try await relayed.send(Self.spc, good, to: "/v1/relay/other").status == 404)
        #expect(server.count == 0)
        let here = try relayed.message {
            $0.entitlement.access.addresses = [AddressRange("192.0.2.0/24")].compactMap(\.self)
            ($0.startsAt, $0.expiresAt) = (now, now + .seconds(1))
        }
        #expect(try await relayed.send(Self.spc, here).status == 200)
        #expect(server.count == 1)
        await server.stop()
    }

    @Test(
        arguments: [
            ("/redirect", 502, "relay.answer", "redirects (status 302)"),
            ("/page", 502, "relay.answer", "HTML page (status 200)"),
            ("/untyped", 502, "relay.answer", "HTML page (status 500)"),
            ("/large", 502, "relay.answer", "longer than 64 KiB"),
            ("/stall", 504, "relay.timeout", "did not respond within"),
            ("/broken", 502, "relay.unreachable", "cannot be reached"),
        ] as [(String, Int, String, String)]
    )
    func `says what is wrong with a license server`(_ path: String, _ status: Int, _ code: String, _ detail: String) async throws
    {
        let server = try await LicenseServer()
        let relayed = try await RelayedService(server.url + path) { $0.timeout = .seconds(1) }
        let answer = try await relayed.code(path, server)
        #expect(answer.status == status && answer.code == code && answer.detail.contains(detail), "\(answer)")
        await server.stop()
    }

    @Test func `never leads to an address that its networks do not allow`() async throws {
        let server = try await LicenseServer()
        // by default an address that is neither public nor this machine's own name is refused
        let named = server.url.replacing("127.0.0.1", with: "127.0.0.2")
        for (url, networks) in [(server.url, ["10.0.0.0/8"]), (named, [])] {
            let relayed = try await RelayedService("\(url)/license") { $0.networks = networks.compactMap { AddressRange($0) } }
            let answer = try await relayed.code("", server)
            #expect(answer.status == 502 && answer.code == "relay.unreachable", "\(answer)")
            #expect(answer.detail.contains("is not allowed"), "\(answer)")
        }
        #expect(server.count == 0)
        await server.stop()
    }

    @Test func `suspends requests to a server that is down, and continues when it is back`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/busy") { $0.breaker.failures = 3 }
        for _ in 0..<3 { #expect(try await relayed.send(Self.spc, try relayed.message()).status == 503) }
        #expect(server.count == 3)
        let shed = try await relayed.send(Self.spc, try relayed.message())
        #expect(shed.status == 503 && shed.headers["Retry-After"] == "5" && server.count == 3)
        let health = try await relayed.test.call(.get, "/admin/v1/relays", peer: RelayedService.local).json["relays"]?.array?
            .first
        #expect(health?["state"] == "unavailable" && health?["failure"]?.string?.contains("503") == true)
        #expect(health?["server"]?.string == server.url && health?.description.contains("/busy") == false)
        let all = try await relayed.test.call(.get, "/admin/v1/health", peer: RelayedService.local).json
        #expect(all["relays"]?.array?.count == 1)
        relayed.test.clock.advance(by: .seconds(6))
        #expect(try await relayed.send(Self.spc, try relayed.message()).status == 503)
        #expect(server.count == 4, "one probes")
        var filter = AuditFilter()
        filter.action = "relay.unavailable"
        #expect(try await relayed.test.service.audit.list(filter).count == 1)
        let text = relayed.test.service.metrics.text()
        #expect(text.contains(#"carrel_relay_unavailable{relay="fairplay"} 1"#))
        #expect(text.contains(#"carrel_relay_requests_total{relay="fairplay",outcome="shed"} 1"#))
        await server.stop()
    }

    @Test func `records the message, the outcome and the sizes, and no content`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license")
        #expect(try await relayed.send(Self.spc, try relayed.message(id: "order-7")).status == 200)
        #expect(try await relayed.send(Self.spc, "x").status == 403)
        func entries(_ action: String) async throws -> [AuditEntry] {
            var filter = AuditFilter()
            filter.action = action
            return try await relayed.test.service.audit.list(filter)
        }
        #expect(try await entries("relay.request").map(\.reason) == ["order-7 264 B"])
        let answers = try await entries("relay.answer")
        #expect(answers.map(\.reason) == ["order-7 status 200 264 B 256 B"] && answers[0].subject == "fairplay")
        #expect(try await entries("relay.deny").map(\.reason) == ["relay.message"])
        await server.stop()
        #expect(try await relayed.send(Self.spc, try relayed.message(id: "order-8")).status == 502)
        let failed = try await entries("relay.answer").first { $0.outcome == .failed }
        #expect(failed?.reason == "order-8 relay.unreachable 264 B")
    }

    @Test func `may be used by pages of the origins that http.cors-origins names`() async throws {
        let server = try await LicenseServer()
        let page = "https://play.example.org"
        let relayed = try await RelayedService("\(server.url)/license", { _ in }) { $0.otherOrigins = OtherOrigins([page]) }
        let headers: HTTPFields = ["Origin": page, "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"]
        let answer = try await relayed.send(Self.spc, try relayed.message(), headers)
        #expect(answer.status == 200 && answer.headers["Access-Control-Allow-Origin"] == page)
        #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("X-AxDRM-Identity") == true)
        await server.stop()
    }

    // MARK: Certificates

    @Test func `caches its certificate for the time that the server allows, and at most its own`() async throws {
        let server = try await LicenseServer()
        func get(_ relayed: RelayedService) async throws -> (status: Int, body: String, life: String?) {
            let answer = try await relayed.test.send(.get, "/v1/relay/fairplay/certificate")
            return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers["Cache-Control"])
        }
        for (path, maximum, life) in [("/certificate", 3600, 100), ("/certificate", 30, 30), ("/silent", 3600, 300)] {
            let relayed = try await RelayedService("\(server.url)/license") {
                $0.certificateURL = server.url + path
                $0.certificateLife = .seconds(maximum)
            }
            let before = server.count
            let first = try await get(relayed)
            #expect(first.status == 200 && first.body == "certificate \(before + 1)" && first.life == "max-age=\(life)")
            relayed.test.clock.advance(by: .seconds(life - 1))
            let second = try await get(relayed)
            #expect(second.body == first.body && second.life == "max-age=1")
            relayed.test.clock.advance(by: .seconds(1))
            #expect(try await get(relayed).body == "certificate \(before + 2)")
            #expect(server.count == before + 2)
        }
        let fleeting = try await RelayedService("\(server.url)/license") { $0.certificateURL = "\(server.url)/fleeting" }
        let (first, second) = (try await get(fleeting), try await get(fleeting))
        #expect(first.body != second.body && first.life == "no-store")
        for (path, status) in [("/missing", 502), ("/page", 502), ("/redirect", 502)] {
            let relayed = try await RelayedService("\(server.url)/license") { $0.certificateURL = server.url + path }
            #expect(try await get(relayed).status == status)
        }
        let none = try await RelayedService("\(server.url)/license")
        #expect(try await get(none).status == 404)
        await server.stop()
    }

    // MARK: Messages

    @Test func `makes messages that it accepts, and whose key makes no grant here`() async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license", with: [.relay, .clearKey, .administration])
        let (test, path) = (relayed.test, "/admin/v1/relays/fairplay/messages")
        let kid = KeyID(label: "film")
        let entitlement: JSON = [
            "type": "entitlement_message", "version": 2, "license": ["allow_persistence": true, "vendor_rule": 1],
            "content_keys_source": ["inline": [["id": .string(kid.uuid), "usage_policy": "P"]]],
            "content_key_usage_policies": [
                ["name": "P", "playready": ["play_enablers": ["786627D8-C2A6-44BE-8F88-08AE255B01A7"]]]
            ],
        ]
        let made = try await test.call(.post, path, body: ["entitlement": entitlement], peer: RelayedService.local)
        #expect(made.status == 200)
        let message = try #require(made.json["message"]?.string)
        let payload = try #require(Base64URL.decode(message.split(separator: ".")[1]))
        #expect(try JSON.parse(payload.rawSpan)["message"] == entitlement, "with rules that only the license server knows")
        #expect(try await relayed.send(Self.spc, message).status == 200)
        test.clock.advance(by: .seconds(301))
        #expect(try await relayed.send(Self.spc, message).status == 403, "five minutes are over")
        #expect(server.count == 1)
        // the key is the relay's alone: the key store and the players' licenses do not know it
        let own = try await test.call(.post, path, body: ["entitlement": entitlement, "id": "x"], peer: RelayedService.local)
        let text = try #require(own.json["message"]?.string)
        try await store(kid, test)
        let body: JSON = ["kids": [.string(Base64URL.encode(kid.bytes))], "type": "temporary"]
        let clear = try await test.call(.post, "/v1/clear-key", headers: ["Authorization": "Bearer \(text)"], body: body)
        #expect(clear.status == 403 && clear.json["code"] == "license.token")
        let player = try await TestPlayer().personalized(by: test)
        let license = try await player.send(try await player.request(.persist, of: test, token: text), to: test)
        #expect(license.license == nil && license.problem == "license.token")
        let bad: [JSON] = [
            [:], ["entitlement": [:]], ["entitlement": entitlement, "expiresIn": 0],
            ["entitlement": entitlement, "expiresIn": 40_000_000], ["entitlement": entitlement, "x": 1],
            ["entitlement": ["type": "entitlement_message", "version": 3]], ["entitlement": entitlement, "id": "a\nb"],
        ]
        for body in bad {
            #expect(try await test.send(.post, path, body: body, peer: RelayedService.local).status == 400, "\(body)")
        }
        var filter = AuditFilter()
        filter.action = "relay.message"
        #expect(try await test.service.audit.list(filter).count == 2)
        await server.stop()
    }

    private func store(_ id: KeyID, _ test: TestService) async throws {
        let path = "/admin/v1/content-keys/\(id.hex)"
        let key: JSON = ["key": .string(String(repeating: "5a", count: 16))]
        #expect(try await test.send(.put, path, body: key, peer: RelayedService.local).status == 204)
        #expect(try await test.send(.patch, path, body: ["clearKey": true], peer: RelayedService.local).status == 204)
    }

    @Test func `is opened by staff, by shops, and by the portal that it names`() async throws {
        let server = try await LicenseServer()
        let entitlement: JSON = [
            "type": "entitlement_message", "version": 2,
            "content_keys_source": ["inline": [["id": .string(KeyID(label: "a").uuid)]]],
        ]
        let path = "/admin/v1/relays/fairplay/messages"
        func status(_ relayed: RelayedService, _ token: String?) async throws -> Int {
            let headers: HTTPFields = token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
            return try await relayed.test.send(.post, path, headers: headers, body: ["entitlement": entitlement]).status
        }
        let relayed = try await RelayedService("\(server.url)/license")
        let accounts = relayed.test.service.accounts
        let (_, shop) = try await accounts.createServiceKey(name: "shop", role: .service, by: .operator)
        let (portal, text) = try await accounts.createServiceKey(name: "portal", role: .portal, by: .operator)
        #expect(try await status(relayed, nil) == 401)
        #expect(try await status(relayed, shop) == 200)
        #expect(try await status(relayed, text) == 403, "no portal opens a relay that is not its own")
        #expect(try await relayed.test.send(.get, "/admin/v1/relays").status == 401)
        // another node of the same home, whose file names the portal
        var relay = RelaySettings(name: "fairplay", url: "\(server.url)/license", key: relayed.key)
        relay.portal = portal.id
        let node = try await relayed.test.another { $0.relays = [relay] }
        let headers: HTTPFields = ["Authorization": "Bearer \(text)", "Content-Type": "application/json"]
        let body: JSON = ["entitlement": entitlement]
        let made = await node.router.respond(to: HTTPRequest(.post, path, headers: headers, body: body.write()))
        #expect(made.status == .ok)
        // what one node made, every node accepts
        let bytes = try await made.body.collect(upTo: 1 << 16)
        let message = try #require(try JSON.parse(bytes.rawSpan)["message"]?.string)
        #expect(try await relayed.send(Self.spc, message).status == 200)
        await node.database.close()
        await server.stop()
    }

    // MARK: Published entries

    @Test(arguments: ["Streams.json", "samplelist.json"])
    func `works with a published entry whose addresses are changed`(list: String) async throws {
        let server = try await LicenseServer()
        let relayed = try await RelayedService("\(server.url)/license") { $0.certificateURL = "\(server.url)/certificate" }
        let file = try Fixtures.bytes("drm/axinom/\(list)")
        let entries = try #require(try JSON.parse(file.rawSpan).array)
        var (protected, clear) = (0, 0)
        for entry in entries {
            let text = entry["licenseToken"]?.string ?? ""
            guard !text.isEmpty else {
                let address = entry["licenseServer"]?.string ?? ""
                #expect(address.isEmpty)
                clear += 1
                continue
            }
            protected += 1
            // its own token is for Axinom's service: nothing is sent
            let before = server.count
            #expect(try await relayed.send(Self.spc, text).status == 403)
            #expect(server.count == before)
            // the same entitlement, signed for this relay
            let payload = try #require(Base64URL.decode(text.split(separator: ".")[1]))
            let entitlement = try #require(try JSON.parse(payload.rawSpan)["message"])
            let path = "/admin/v1/relays/fairplay/messages"
            let made = try await relayed.test.call(.post, path, body: ["entitlement": entitlement], peer: RelayedService.local)
            let token = try #require(made.json["message"]?.string)
            let certificate = try await relayed.test.send(.get, "/v1/relay/fairplay/certificate")
            #expect(certificate.status == 200 && !certificate.body.isEmpty)
            let answer = try await relayed.send(Self.spc, token)
            #expect(answer.status == 200 && answer.body == LicenseServer.answer)
            #expect(server.request(server.count)?.body == Self.spc)
        }
        #expect(protected > 0 && clear > 0)
        await server.stop()
    }
}
