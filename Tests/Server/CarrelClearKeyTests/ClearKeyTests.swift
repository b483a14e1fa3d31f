// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEME
import CarrelHTTP
import CarrelJSON
import CarrelMetrics
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelTokens
import Testing

extension Portal {
    static let local = Peer.local(userID: 0)
    static let path = "/v1/clear-key"

    /// A service with ClearKey, which knows the portal's key.
    static func forClearKey(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> Portal {
        try await Portal(with: [.clearKey, .administration], configure)
    }

    /// Stores a key.
    func store(_ id: KeyID, _ key: [UInt8], allowed: Bool = true, owner: String? = nil) async throws {
        var body: JSONObject = ["key": .string(Hex.encode(key))]
        body["owner"] = owner.map { .string($0) }
        let path = "/admin/v1/content-keys/\(id.hex)"
        #expect(try await test.send(.put, path, body: .object(body), peer: Self.local).status == 204)
        guard allowed else { return }
        #expect(try await test.send(.patch, path, body: ["clearKey": true], peer: Self.local).status == 204)
    }

    /// Sends a request of a player.
    func ask(
        _ ids: [KeyID],
        _ message: String?,
        _ type: String? = "temporary",
        to path: String = path,
        headers: HTTPFields = [:],
        from address: String = "192.0.2.1",
        of service: CarrelService? = nil
    ) async throws -> (status: Int, json: JSON, headers: HTTPFields) {
        var body: JSONObject = ["kids": .array(ids.map { .string(Base64URL.encode($0.bytes)) })]
        body["type"] = type.map { .string($0) }
        var headers = headers
        headers["Content-Type"] = "application/json"
        if let message { headers["Authorization"] = "Bearer \(message)" }
        let peer = Peer.network(address: address, port: 1)
        let request = HTTPRequest(.post, path, headers: headers, body: JSON.object(body).write(), peer: peer)
        let response = await (service ?? test.service).router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, (try? JSON.parse(bytes.rawSpan)) ?? .null, response.headers)
    }
}

/// The keys of a response by their ids.
private func keys(_ json: JSON) throws -> [KeyID: [UInt8]] {
    let bytes = json.write()
    let license = try ClearKeyLicense(parsing: bytes.rawSpan)
    return license.keys.reduce(into: [:]) { found, key in
        if let id = KeyID(key.id) { found[id] = key.key.withBytes { [UInt8](copying: $0) } }
    }
}

private let notAuthorized = "https://dashif.org/drm-problems/not-authorized"
private let insufficientProof = "https://dashif.org/drm-problems/insufficient-proof-of-authorization"

@Suite(.onBothDatabases) struct `A request of ClearKey` {
    private static let (film, sound, other) = (KeyID(label: "film"), KeyID(label: "sound"), KeyID(label: "other"))
    private static let key = [UInt8](100..<116)

    private static func stored(_ ids: KeyID...) -> LicenseMessage.KeySource { .stored(ids.map { .init(id: $0) }) }

    @Test func `gets the stored keys that its message names and that allow it, for both kinds of session`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, Self.key)
        try await portal.store(Self.sound, Array(Self.key.reversed()))
        try await portal.store(Self.other, Self.key, allowed: false)
        let message = try portal.message(keys: Self.stored(Self.film, Self.sound, Self.other))
        for type in ["temporary", "persistent-license"] {
            let answer = try await portal.ask([Self.film, Self.sound], message, type)
            #expect(answer.status == 200 && answer.json["type"]?.string == type)
            #expect(try keys(answer.json) == [Self.film: Self.key, Self.sound: Self.key.reversed()])
            #expect(answer.headers["Content-Type"] == "application/json" && answer.headers["Cache-Control"] == "no-store")
        }
        // some are denied: a key that does not allow it, one that the message does not name, one that is unknown
        let part = try await portal.ask([Self.other, Self.sound, KeyID(label: "unknown")], message)
        #expect(part.status == 200)
        #expect(try keys(part.json) == [Self.sound: Self.key.reversed()])
        let none = try await portal.ask([Self.other], message)
        #expect(none.status == 403 && none.json["type"]?.string == notAuthorized && none.json["code"] == "license.key")
        #expect(none.headers["Content-Type"] == "application/problem+json")
        // in X-AxDRM-Message as well; two that differ are refused
        let field = try await portal.ask([Self.film], nil, headers: ["X-AxDRM-Message": message])
        #expect(field.status == 200)
        #expect(try await portal.ask([Self.film], message, headers: ["X-AxDRM-Message": message]).status == 200)
        let two = try await portal.ask([Self.film], message, headers: ["X-AxDRM-Message": message + "x"])
        #expect(two.status == 400 && two.json["code"] == "license.token")
        // an id in the plain alphabet is answered in it
        let body: JSON = ["kids": [.string(Base64.encode(Self.film.bytes))], "type": "temporary"]
        let plain = try await portal.test.call(.post, Portal.path, headers: ["Authorization": "Bearer \(message)"], body: body)
        #expect(plain.json["keys"]?.array?.first?["k"]?.string == Base64.encode(Self.key))
    }

    @Test func `to release a license is acknowledged, also when its message has ended`() async throws {
        let portal = try await Portal.forClearKey()
        for message in [nil, "x.y.z"] {
            let answer = try await portal.ask([Self.film], message, nil)
            #expect(answer.status == 200 && answer.json == ["kids": [.string(Base64URL.encode(Self.film.bytes))]])
        }
    }

    @Test func `needs a message that is valid, or it should get another`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, Self.key)
        let message = try portal.message(keys: Self.stored(Self.film))
        let file = try Fixtures.bytes("drm/axinom/lsm-vectors-selfmade.json")
        let fixture = try JSON.parse(file.rawSpan)
        let bad = fixture["must_reject"]?.array?.compactMap { $0["jwt"]?.string } ?? []
        #expect(bad.count == 7)
        for token in [nil, "", "x", String(message.dropLast(2)) + "AA"] + bad {
            let answer = try await portal.ask([Self.film], token)
            #expect(answer.status == 403, "\(token ?? "none")")
            #expect(answer.json["type"]?.string == insufficientProof, "\(token ?? "none"): \(answer.json)")
        }
        // a key that was removed ends its messages immediately
        #expect(try await portal.ask([Self.film], message).status == 200)
        let path = "/admin/v1/communication-keys/\(portal.key.id.uuid)"
        let other = try await portal.test.another()
        #expect(try await portal.ask([Self.film], message, of: other).status == 200, "every node accepts it")
        #expect(try await portal.test.send(.delete, path, peer: Portal.local).status == 204)
        #expect(try await portal.ask([Self.film], message).json["type"]?.string == insufficientProof)
        #expect(try await portal.ask([Self.film], message, of: other).json["type"]?.string == insufficientProof)
        await other.database.close()
    }

    @Test func `is denied where a rule of its message needs a player`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, Self.key)
        let now = portal.test.clock.now
        func system(_ change: (inout LicenseMessage.SystemLicense) -> Void) -> LicenseMessage.SystemLicense {
            var made = LicenseMessage.SystemLicense()
            change(&made)
            return made
        }
        let rules: [(String, String, (inout LicenseMessage.Entitlement) -> Void)] = [
            ("reuse", "license.restricted", { $0.access.preventsReuse = true }),
            ("concurrency", "license.restricted", { $0.access.concurrencyLimit = 3 }),
            ("duration", "license.restricted", { $0.duration = 3600 }),
            ("play", "license.restricted", { $0.systems = [.fairplay: system { $0.playbackDuration = 60 }] }),
            ("end in time", "license.restricted", { $0.systems = [.fairplay: system { $0.realTimeExpiration = true }] }),
            ("no playback", "license.restricted", { $0.systems = [.widevine: system { $0.allowsPlayback = false }] }),
            ("before", "license.ended", { $0.startsAt = now + .seconds(60) }),
            ("after", "license.ended", { $0.expiresAt = now - .seconds(60) }),
            ("address", "license.address", { $0.access.addresses = [AddressRange("198.51.100.0/24")].compactMap(\.self) }),
        ]
        for (name, code, change) in rules {
            let answer = try await portal.ask([Self.film], try portal.message(keys: Self.stored(Self.film), change))
            #expect(answer.status == 403 && answer.json["code"]?.string == code, "\(name): \(answer.json)")
            #expect(answer.json["type"]?.string == notAuthorized)
        }
        // a usage policy, even one that asks for nothing
        let policy = LicenseMessage.KeySource.stored([.init(id: Self.film, policy: "SD"), .init(id: Self.sound)])
        let withPolicy = try portal.message(keys: policy) { $0.policies = [LicenseMessage.UsagePolicy(name: "SD")] }
        #expect(try await portal.ask([Self.film], withPolicy).json["code"] == "license.content")
        // unknown members, and seeds
        let unknown = try portal.signed("license", #"{"rental":1}"#, keys: Self.stored(Self.film))
        #expect(try await portal.ask([Self.film], unknown).json["code"] == "license.restricted")
        let seeds = try portal.message(keys: .licenseRequest(seedID: nil, policy: nil))
        #expect(try await portal.ask([Self.film], seeds).json["code"] == "license.key")
        // a stored license never ends, a session of now may have a message that ends
        let ends = try portal.message(keys: Self.stored(Self.film)) { $0.expiresAt = now + .seconds(60) }
        #expect(try await portal.ask([Self.film], ends).status == 200)
        #expect(try await portal.ask([Self.film], ends, "persistent-license").json["code"] == "license.restricted")
        let fleeting = try portal.message(keys: Self.stored(Self.film)) { $0.allowsPersistence = false }
        #expect(try await portal.ask([Self.film], fleeting).status == 200)
        #expect(try await portal.ask([Self.film], fleeting, "persistent-license").json["code"] == "license.not-storable")
        // rules that are met
        let allowed = try portal.message(keys: Self.stored(Self.film)) {
            $0.access.addresses = [AddressRange("192.0.2.0/24")].compactMap(\.self)
            ($0.access.concurrencyLimit, $0.access.concurrencyMode) = (1, .none)
        }
        #expect(try await portal.ask([Self.film], allowed).status == 200)
        // a key that the message brings is served only if the store has the same
        let same = try portal.message(keys: .inline([.init(id: Self.film, key: Secret(Self.key))]))
        #expect(try await portal.ask([Self.film], same).status == 200)
        let differs = try portal.message(keys: .inline([.init(id: Self.film, key: Secret(Array(0..<16)))]))
        #expect(try await portal.ask([Self.film], differs).json["code"] == "license.key")
        let inline = try portal.message(keys: .inline([.init(id: Self.other, key: Secret(Self.key))]))
        #expect(try await portal.ask([Self.other], inline).json["code"] == "license.key")
    }

    @Test func `of the published shape gets the key of version one, and nothing of version two`() async throws {
        let portal = try await Portal.forClearKey()
        let file = try Fixtures.bytes("drm/axinom/lsm-vectors-selfmade.json")
        let fixture = try JSON.parse(file.rawSpan)
        var ids: [KeyID] = []
        for key in fixture["keys"]?.array ?? [] {
            let id = try #require(KeyID(uuid: key["kid"]?.string ?? ""))
            try await portal.store(id, try #require(Hex.decode(key["key_hex"]?.string ?? "")))
            ids.append(id)
        }
        let one = try await portal.ask(ids, fixture["jwt_v1"]?.string)
        #expect(one.status == 200)
        #expect(try keys(one.json).keys.map(\.self) == [ids[0]])
        let two = try await portal.ask(ids, fixture["jwt_v2"]?.string)
        #expect(two.status == 403 && two.json["code"] == "license.restricted", "its term of play and its policies need a player")
    }

    @Test func `gets the published keys of Axinom's test vectors at the address that their players know`() async throws {
        let portal = try await Portal.forClearKey()
        let file = try Fixtures.bytes("drm/axinom/public-test-vector-facts.json")
        let facts = try JSON.parse(file.rawSpan)
        #expect(facts["clearkey_license_url"]?.string?.hasSuffix("/AcquireLicense") == true)
        let vectors = facts["vectors"]?.array ?? []
        #expect(vectors.count == 2)
        for vector in vectors {
            let id = try #require(KeyID(uuid: vector["kid"]?.string ?? ""))
            let key = try #require(Base64.decode(vector["key_base64"]?.string ?? ""))
            try await portal.store(id, key)
            let message = try portal.message(keys: Self.stored(id))
            let answer = try await portal.ask([id], nil, to: "/AcquireLicense", headers: ["X-AxDRM-Message": message])
            #expect(answer.status == 200)
            #expect(try keys(answer.json) == [id: key])
        }
    }

    @Test func `never gets the key of a title, of another portal, or with a revoked id`() async throws {
        let portal = try await Portal.forClearKey()
        let test = portal.test
        let title = KeyID(label: "urn:carrel:title:\(test.title.id)")
        try await portal.store(title, Self.key, allowed: false)
        let path = "/admin/v1/content-keys/\(title.hex)"
        let refused = try await test.call(.patch, path, body: ["clearKey": true], peer: Portal.local)
        #expect(refused.status == 403 && refused.json["detail"]?.string?.contains("title") == true)
        #expect(try await test.send(.patch, path, body: ["clearKey": false], peer: Portal.local).status == 204)
        // a key that was allowed before its id became the id of a title
        try await test.service.database.write {
            try $0.run(SQL("UPDATE content_keys SET clear_key = 1 WHERE kid = $1"), [.text(title.hex)])
        }
        #expect(try await portal.ask([title], try portal.message(keys: Self.stored(title))).json["code"] == "license.key")
        // the service's own messages are for titles
        let body: JSON = ["title": .string(test.title.id), "serviceURL": "https://localhost"]
        let token = try await test.call(.post, "/admin/v1/tokens", body: body, peer: Portal.local).json["jwt"]?.string
        #expect(token != nil)
        #expect(try await portal.ask([title], token).json["code"] == "license.restricted")

        let (owner, _) = try await test.service.accounts.createServiceKey(name: "p", role: .portal, by: .operator)
        try await portal.store(Self.other, Self.key, owner: owner.id)
        let foreign = try portal.message(keys: Self.stored(Self.other))
        #expect(try await portal.ask([Self.other], foreign).json["code"] == "license.key")

        try await portal.store(Self.film, Self.key)
        let message = try portal.message(keys: Self.stored(Self.film))
        let node = try await test.another()
        #expect(try await portal.ask([Self.film], message).status == 200)
        let revoke = "/admin/v1/content-keys/\(Self.film.hex)?revoke=true"
        #expect(try await test.send(.delete, revoke, peer: Portal.local).status == 204)
        #expect(try await portal.ask([Self.film], message).json["code"] == "license.key")
        #expect(try await portal.ask([Self.film], message, of: node).json["code"] == "license.key", "on every node")
        await node.database.close()
    }

    @Test func `gets its key after the master key was rotated`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, Self.key)
        let message = try portal.message(keys: Self.stored(Self.film))
        try await portal.test.addMasterKey(always: true)
        let rotated = try await portal.test.send(.post, "/admin/v1/master-key/rotate", peer: Portal.local)
        #expect(rotated.status == 200)
        let answer = try await portal.ask([Self.film], message)
        #expect(answer.status == 200)
        #expect(try keys(answer.json) == [Self.film: Self.key])
    }

    @Test func `may come from pages of the origins that http.cors-origins names`() async throws {
        let page = "https://play.example.org"
        let portal = try await Portal.forClearKey { $0.otherOrigins = OtherOrigins([page]) }
        try await portal.store(Self.film, Self.key)
        let message = try portal.message(keys: Self.stored(Self.film))
        for path in [Portal.path, "/AcquireLicense"] {
            let fields: HTTPFields = [
                "Origin": page, "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization, content-type, x-axdrm-message",
            ]
            let preflight = try await portal.test.send(.options, path, headers: fields)
            #expect(preflight.status == 204 && preflight.headers["Access-Control-Allow-Origin"] == page)
            #expect(preflight.headers["Access-Control-Allow-Headers"] == "authorization, content-type, x-axdrm-message")
            let origin: HTTPFields = ["Origin": page, "Sec-Fetch-Site": "cross-site"]
            for token in [message, "x"] {
                let answer = try await portal.ask([Self.film], token, to: path, headers: origin)
                #expect(answer.status == (token == message ? 200 : 403))
                #expect(answer.headers["Access-Control-Allow-Origin"] == page)
                #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("X-AxDRM-ErrorMessage") == true)
            }
            let foreign: HTTPFields = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
            let refused = try await portal.ask([Self.film], message, to: path, headers: foreign)
            #expect(refused.status == 403 && refused.headers["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func `with ten thousand keys, and others that are none, is refused with the reason`() async throws {
        let portal = try await Portal.forClearKey()
        let message = try portal.message(keys: Self.stored(Self.film))
        let ids = (0..<10_000).compactMap { KeyID(label: "\($0)") }
        let clock = ContinuousClock()
        let began = clock.now
        let many = try await portal.ask(ids, message)
        #expect(many.status == 400 && many.json["detail"]?.string?.contains("10000 keys") == true, "\(many.json)")
        #expect(clock.now - began < .seconds(1))
        for (type, body, status) in [
            ("application/json", "[]", 400), ("application/json", "{", 400),
            ("application/json", #"{"kids":["!"],"type":"temporary"}"#, 400),
            ("text/plain", "{}", 415), ("application/xml", "<a/>", 415), ("application/octet-stream", "{}", 400),
            ("application/json", String(repeating: " ", count: 600_000), 413),
        ] {
            let headers: HTTPFields = ["Content-Type": type, "Authorization": "Bearer \(message)"]
            let request = HTTPRequest(.post, Portal.path, headers: headers, body: Array(body.utf8))
            let response = await portal.test.service.router.respond(to: request)
            #expect(response.status.rawValue == status, "\(type) \(body.prefix(40))")
        }
    }

    @Test func `is in the audit log and in the metrics, without keys and messages`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, Self.key)
        let message = try portal.message(keys: Self.stored(Self.film))
        for _ in 0..<3 { #expect(try await portal.ask([Self.film, Self.other], message).status == 200) }
        #expect(try await portal.ask([Self.other], message).status == 403)
        try await portal.test.service.audit.fold.flushAll()
        try await portal.test.service.audit.group.settle()
        var filter = AuditFilter()
        filter.action = "clear-key.issue"
        let issued = try await portal.test.service.audit.list(filter)
        #expect(issued.map(\.subject) == [Self.film.hex, Self.film.hex], "repeats fold")
        #expect(issued.allSatisfy { $0.actor == portal.key.id.uuid && $0.reason.hasPrefix("temporary 1/2") })
        filter.action = "clear-key.deny"
        let denied = try await portal.test.service.audit.list(filter)
        #expect(denied.map(\.reason) == ["license.content"] && denied[0].subject == portal.key.id.uuid)
        filter.action = "content-key.clear-key"
        let change = try await portal.test.service.audit.list(filter)
        #expect(change.map(\.reason) == ["allowed"])
        let text = portal.test.service.metrics.text()
        #expect(text.contains(#"carrel_clear_key_requests_total{outcome="issued"} 3"#))
        #expect(text.contains(#"carrel_clear_key_requests_total{outcome="denied"} 1"#))
    }

    @Test func `is allowed by those that manage keys`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, Self.key, allowed: false)
        let path = "/admin/v1/content-keys/\(Self.film.hex)"
        let (_, text) = try await portal.test.service.accounts.createServiceKey(name: "p", role: .portal, by: .operator)
        let bearer: HTTPFields = ["Authorization": "Bearer \(text)"]
        #expect(try await portal.test.send(.patch, path, headers: bearer, body: ["clearKey": true]).status == 403)
        #expect(try await portal.test.send(.patch, path, body: ["clearKey": true]).status == 401)
        for body: JSON in [[:], ["clearKey": "yes"], ["clearKey": true, "key": "00"]] {
            #expect(try await portal.test.send(.patch, path, body: body, peer: Portal.local).status == 400)
        }
        let unknown = "/admin/v1/content-keys/\(Self.other.hex)"
        #expect(try await portal.test.send(.patch, unknown, body: ["clearKey": true], peer: Portal.local).status == 404)
        func listed() async throws -> JSON? {
            try await portal.test.call(.get, "/admin/v1/content-keys", peer: Portal.local).json["keys"]?.array?.first?["clearKey"]
        }
        let message = try portal.message(keys: Self.stored(Self.film))
        #expect(try await listed() == false)
        for allowed in [true, true, false] {
            let body: JSON = ["clearKey": .bool(allowed)]
            #expect(try await portal.test.send(.patch, path, body: body, peer: Portal.local).status == 204)
            #expect(try await listed() == .bool(allowed))
            #expect(try await portal.ask([Self.film], message).status == (allowed ? 200 : 403))
        }
    }
}

@Suite(.onBothDatabases) struct `The license address that all players share` {
    private static let path = "/AcquireLicense"
    private static let film = KeyID(label: "film")

    @Test func `accepts requests of both kinds by their shape, and knows four statuses`() async throws {
        let portal = try await Portal.forClearKey()
        try await portal.store(Self.film, [UInt8](100..<116))
        let message = try portal.message(keys: .stored([.init(id: Self.film)]))
        let field: HTTPFields = ["X-AxDRM-Message": message]
        let clear = try await portal.ask([Self.film], nil, to: Self.path, headers: field)
        #expect(clear.status == 200 && clear.json["keys"]?.array?.count == 1 && clear.headers["X-AxDRM-ErrorMessage"] == nil)
        // a player's request, as /v1/license accepts it, also without its media type
        for type in ["application/jose", "application/octet-stream"] {
            let player = try await TestPlayer().personalized(by: portal.test)
            let request = try await player.request(.persist, of: portal.test)
            let text = try await player.seal(request, at: portal.test.clock.now).text
            let answer = try await send(portal, Array(text.utf8), ["Content-Type": type, "X-AxDRM-Message": message])
            #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/jose")
        }
        let cases: [(String, [UInt8], HTTPFields, Int)] = [
            ("no message", try body(Self.film), [:], 403), ("nothing", [], field, 400),
            ("an SPC", [0, 0, 0, 1, 9, 9], field, 400), ("no JSON", Array("{".utf8), field, 400),
            ("no JWE", Array("eyJ.a.b.c.d".utf8), field, 400),
            ("a form", Array("spc=AAAA".utf8), ["Content-Type": "application/x-www-form-urlencoded"], 400),
            ("too long", [UInt8](repeating: 0x7b, count: 600_000), field, 400),
        ]
        for (name, bytes, headers, status) in cases {
            let answer = try await send(portal, bytes, headers)
            #expect(answer.status == status, "\(name)")
            let text = answer.headers["X-AxDRM-ErrorMessage"] ?? ""
            #expect(!text.isEmpty && text.utf8.allSatisfy { 0x20...0x7e ~= $0 }, "\(name)")
        }
    }

    private func body(_ id: KeyID) throws -> [UInt8] {
        ClearKeyRequest([id.bytes], .license(.temporary)).write()
    }

    private func send(_ portal: Portal, _ body: [UInt8], _ headers: HTTPFields) async throws -> (
        status: Int, headers: HTTPFields
    ) {
        let peer = Peer.network(address: "192.0.2.1", port: 1)
        let request = HTTPRequest(.post, Self.path, headers: headers, body: body, peer: peer)
        let response = await portal.test.service.router.respond(to: request)
        return (response.status.rawValue, response.headers)
    }
}
