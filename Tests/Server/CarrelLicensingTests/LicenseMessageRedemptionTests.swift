// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
import CarrelJSON
import CarrelLicensing
import CarrelOrders
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

extension Portal {
    func redeem(
        _ message: String,
        by player: TestPlayer.Personalized,
        as session: KeyRequest.Session = .persist,
        _ change: (inout KeyRequest) -> Void = { _ in }
    ) async throws -> (license: License?, problem: String?) {
        var request = try await player.request(session, of: test, token: message)
        change(&request)
        return try await player.send(request, to: test)
    }
}

@Suite(.onBothDatabases) struct `A license message that is redeemed` {
    @Test(arguments: [
        #""license":{"allow_persistence":true,"expiration_date":"2040-01-01T00:00:00Z"}"#,
        #""license":{"allow_persistence":true,"widevine":{"rental_duration":60}}"#, #""license":{},"new":1"#,
    ])
    func `is refused with a member that may restrict, and that this service does not know`(member: String) async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        func redeem(_ member: String) async throws -> String? {
            let kid = KeyID(label: "sd").uuid
            let payload =
                #"{"version":1,"com_key_id":"\#(portal.key.id.uuid)","message":{"type":"entitlement_message","version":2,"#
                + #""content_keys_source":{"inline":[{"id":"\#(kid)"}]},\#(member)}}"#
            let unsigned = TypedJWS.Unsigned(LicenseMessage.kind, payload: Array(payload.utf8))
            let text = unsigned.signed(HMACSHA256(key: portal.key.secret).authenticate(unsigned.input.rawSpan))
            return try await portal.redeem(text, by: player).problem
        }
        #expect(try await redeem(member) == "license.restricted")
        // without it, the message is understood: the key is not in the key store
        #expect(try await redeem(#""license":{"allow_persistence":true,"widevine":{"allow_renewal":false}}"#) == "license.key")
    }

    @Test func `gives its keys, for its time, to any player that it does not refuse`() async throws {
        let portal = try await Portal()
        let now = portal.test.clock.now
        let (first, second) = (
            try await TestPlayer().personalized(by: portal.test), try await TestPlayer().personalized(by: portal.test)
        )
        let text = try portal.message {
            ($0.startsAt, $0.expiresAt, $0.duration) = (now + .seconds(10), now + .seconds(7200), 3600)
            var system = LicenseMessage.SystemLicense()
            (system.playbackDuration, system.duration) = (600, 1800)
            $0.systems = [.fairplay: system]
            $0.session = ["order": "A-1001"]
        }
        let license = try #require(try await portal.redeem(text, by: first).license)
        #expect(license.terms.notBefore == now + .seconds(10) && license.terms.notAfter == now + .seconds(1800))
        #expect(license.terms.playbackSeconds == 600 && license.terms.isStorable)
        #expect(license.contentID == Portal.contents[0].id.contentID)
        let agreement = first.player.agreement
        for content in Portal.contents {
            #expect(try await license.open(content.id) { agreement.sharedSecret(with: $0) } == content.key)
        }
        #expect(try await portal.redeem(text, by: first).license?.id == license.id)
        #expect(try await portal.redeem(text, by: second).license != nil)
        let records = try await portal.test.service.licenses.redemptions(cookie: nil, start: 0, count: 10)
        #expect(records.count == 2 && records.allSatisfy { $0.cookie == nil }, "a session may name a person: it is not kept")
        // a content id is the player's to choose: a message has none
        let named = try await portal.redeem(try portal.message(id: "n"), by: first) { $0.contentID = "cid:film" }
        #expect(named.license?.contentID == "cid:film")
        let unlisted = try await portal.redeem(text, by: first) { $0.keyIDs = [KeyID(label: "other")] }
        #expect(unlisted.problem == "license.content")
        #expect(try await portal.redeem(text, by: first, as: .stream).license?.leaseUntilIsSet == true, "a stream beside it")
    }

    @Test func `may be used again when its license is over, unless it says that it is for one`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let other = try await TestPlayer().personalized(by: portal.test)
        let text = try portal.message { $0.duration = 100 }
        let first = try #require(try await portal.redeem(text, by: player).license)
        portal.test.clock.advance(by: .seconds(100))
        let second = try #require(try await portal.redeem(text, by: player).license)
        #expect(second.id != first.id && second.terms.notAfter == portal.test.clock.now + .seconds(100))
        var release = try await player.request(.release, of: portal.test)
        release.license = second.id
        #expect(try await player.send(release, to: portal.test).license != nil)
        let third = try #require(try await portal.redeem(text, by: player).license)
        #expect(try await portal.test.service.licenses.list(of: player.id, after: nil, limit: 10).map(\.id) == [third.id])
        _ = try await portal.test.service.licenses.revoke(third.id, by: .operator)
        #expect(try await portal.redeem(text, by: player).problem == "license.ended", "what staff revoked stays revoked")
        let once = try portal.message(id: "once") { $0.access.preventsReuse = true }
        let license = try #require(try await portal.redeem(once, by: player).license)
        #expect(try await portal.redeem(once, by: player).license?.id == license.id, "an answer that was lost")
        #expect(try await portal.redeem(once, by: other).problem == "license.token-used")
        // several grants may share an id if each is reusable
        let (long, short) = (try portal.message(id: "a") { $0.duration = 9 }, try portal.message(id: "a") { $0.duration = 5 })
        let ends = [try await portal.redeem(long, by: player), try await portal.redeem(short, by: player)]
        #expect(ends.map { $0.license?.terms.notAfter } == [9, 5].map { portal.test.clock.now + .seconds($0) })
        // the same id in another message for one license is the same message
        let twin = try portal.message(id: "once") { ($0.access.preventsReuse, $0.duration) = (true, 5) }
        #expect(try await portal.redeem(twin, by: other).problem == "license.token-used")
    }

    @Test func `has its restrictions enforced, and is denied for those that cannot be`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        func problem(_ session: KeyRequest.Session = .persist, _ change: (inout LicenseMessage.Entitlement) -> Void) async throws
            -> String?
        {
            try await portal.redeem(try portal.message(id: Random.uuid(), change), by: player, as: session).problem
        }
        #expect(try await problem { $0.access.addresses = ["192.0.2.0/24"].compactMap { AddressRange($0) } } == nil)
        #expect(
            try await problem { $0.access.addresses = ["198.51.100.1"].compactMap { AddressRange($0) } } == "license.address"
        )
        #expect(try await problem { $0.allowsPersistence = false } == "license.not-storable")
        #expect(try await problem(.stream) { $0.allowsPersistence = false } == nil)
        #expect(
            try await problem {
                var system = LicenseMessage.SystemLicense()
                system.allowsPlayback = false
                $0.systems = [.widevine: system]
            } == "license.restricted"
        )
        #expect(try await problem { $0.expiresAt = portal.test.clock.now } == "license.ended")
        let seeds = try portal.message(keys: .licenseRequest(seedID: "seed", policy: nil))
        #expect(try await portal.redeem(seeds, by: player).problem == "license.key")
        let stored = try portal.message(keys: .stored([.init(id: KeyID(label: "stored"))]))
        #expect(try await portal.redeem(stored, by: player).problem == "license.key")
        let path = "/admin/v1/content-keys/\(KeyID(label: "stored").hex)"
        let body: JSON = ["key": "000102030405060708090a0b0c0d0e0f"]
        _ = try await portal.test.send(.put, path, body: body, peer: .local(userID: 0))
        #expect(try await portal.redeem(stored, by: player).license?.keys.count == 1)
        // a list of devices of another system is not known here
        let foreign = try portal.signed(
            "license_server",
            #"{"access_control":{"allowed_widevine_devices":["a"]},"return_license_request_info":true}"#
        )
        #expect(try await portal.redeem(foreign, by: player).problem == "license.restricted")
        // nor is a rule of a policy
        for (rules, count) in [(#""hdcp":"HDCP_NONE""#, 2), (#""watermark":"x""#, 1)] {
            let policies = #"[{"name":"SD"},{"name":"HD","widevine":{\#(rules)}}]"#
            let text = try portal.signed("content_key_usage_policies", policies, keys: .inline(Portal.contents))
            #expect(try await portal.redeem(text, by: player).license?.keys.count == count, "\(rules)")
        }
        // a client without an address is at none of those that are allowed
        let bound = try portal.message(id: "bound") {
            $0.access.addresses = ["0.0.0.0/0", "::/0"].compactMap { AddressRange($0) }
        }
        let (sealed, _) = try await player.seal(
            try await player.request(.persist, of: portal.test, token: bound),
            at: portal.test.clock.now
        )
        let local = HTTPRequest(
            .post,
            "/v1/license",
            headers: ["Content-Type": "application/jose"],
            body: Array(sealed.utf8),
            peer: .local(userID: 0)
        )
        #expect(await portal.test.service.router.respond(to: local).status == .forbidden)
        #expect(try await portal.redeem(bound, by: player).license != nil)
    }

    @Test func `counts the devices that play concurrently, if it has a limit`() async throws {
        let portal = try await Portal()
        var players: [TestPlayer.Personalized] = []
        for _ in 0..<3 { players.append(try await TestPlayer().personalized(by: portal.test)) }
        let text = try portal.message { $0.access.concurrencyLimit = 2 }
        for player in players[..<2] { #expect(try await portal.redeem(text, by: player, as: .stream).license != nil) }
        #expect(try await portal.redeem(text, by: players[2], as: .stream).problem == "license.concurrency")
        #expect(try await portal.redeem(text, by: players[0], as: .stream).license != nil, "its own slot")
        portal.test.clock.advance(by: .seconds(360))
        #expect(try await portal.redeem(text, by: players[2], as: .stream).license != nil)
        let evicting = try portal.message(id: "e") { ($0.access.concurrencyLimit, $0.access.concurrencyMode) = (1, .evictOldest) }
        let first = try #require(try await portal.redeem(evicting, by: players[0], as: .stream).license)
        #expect(try await portal.redeem(evicting, by: players[1], as: .stream).license != nil)
        var renewal = try await players[0].request(.renew, of: portal.test)
        (renewal.license, renewal.sequence) = (first.id, 1)
        #expect(try await players[0].send(renewal, to: portal.test).problem == "license.ended")
        for mode in [LicenseMessage.AccessControl.ConcurrencyMode.blockNewDevice, .evictOldest] {
            let none = try portal.message(id: "none \(mode)") {
                ($0.access.concurrencyLimit, $0.access.concurrencyMode) = (0, mode)
            }
            #expect(try await portal.redeem(none, by: players[0], as: .stream).problem == "license.concurrency")
        }
    }

    /// Rules of a policy, and what a player must do to meet them.
    static let rules: [(@Sendable (inout LicenseMessage.SystemPolicy) -> Void, Obligation.Kind?)] = [
        ({ $0.hdcp = "TYPE0" }, .outputProtection), ({ $0.allowsAVAdapter = false }, .outputProtection),
        ({ $0.copyControl = "COPY_NEVER" }, .noAnalogueOutput),
        ({ $0.outputLevels = ["analog_video_opl": 150] }, .noAnalogueOutput),
        ({ $0.outputLevels = ["uncompressed_digital_video_opl": 250] }, .outputProtection),
        ({ $0.allowsAirPlay = false }, nil), ({ $0.deviceSecurityLevel = "SW_SECURE_CRYPTO" }, nil),
        ({ $0.minDeviceSecurityLevel = 150 }, nil), ({ $0.outputLevels = ["analog_video_opl": 100] }, nil),
        ({ $0.hdcp = "HDCP_NONE" }, nil),
        ({ $0.copyControl = "COPY_FREE" }, nil),
    ]

    @Test(arguments: rules.indices)
    func `leaves out a key whose policy the player does not meet`(index: Int) async throws {
        let (change, needed) = Self.rules[index]
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        func message(_ keys: ArraySlice<LicenseMessage.ContentKey>) throws -> String {
            try portal.message(id: Random.uuid(), keys: .inline(Array(keys))) {
                var policy = LicenseMessage.UsagePolicy(name: "HD")
                var rules = LicenseMessage.SystemPolicy()
                change(&rules)
                policy.systems = [.playready: rules]
                $0.policies = [LicenseMessage.UsagePolicy(name: "SD"), policy]
            }
        }
        let both = try #require(try await portal.redeem(try message(Portal.contents[...]), by: player).license)
        #expect(both.keys.map(\.id) == (needed == nil ? Portal.contents : [Portal.contents[0]]).map(\.id))
        #expect(both.keys.map(\.policy) == ["SD", "HD"].prefix(both.keys.count).map { $0 }, "each key has the name of its rule")
        let alone = try await portal.redeem(try message(Portal.contents[1...]), by: player)
        #expect(alone.problem == (needed == nil ? nil : "license.restricted"))
        guard let needed else { return }
        let able = try await portal.redeem(try message(Portal.contents[...]), by: player) { $0.capabilities = [needed.rawValue] }
        #expect(able.license?.keys.count == 2 && able.license?.obligations == [Obligation(needed, isCritical: true)])
    }

    @Test func `of hardware levels or outputs that nothing here has gives no key`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        for change in [
            { $0.deviceSecurityLevel = "HW_SECURE_ALL" }, { $0.minDeviceSecurityLevel = 2000 },
            { $0.playEnablers = ["786627D8-C2A6-44BE-8F88-08AE255B01A7"] },
        ] as [(inout LicenseMessage.SystemPolicy) -> Void] {
            let text = try portal.message(id: Random.uuid(), keys: .inline([Portal.contents[1]])) {
                var policy = LicenseMessage.UsagePolicy(name: "HD")
                var rules = LicenseMessage.SystemPolicy()
                change(&rules)
                policy.systems = [.widevine: rules]
                $0.policies = [policy]
            }
            let answer = try await portal.redeem(text, by: player) { $0.capabilities = Obligation.Kind.allCases.map(\.rawValue) }
            #expect(answer.problem == "license.restricted")
        }
    }

    @Test func `may come in a header, the same or alone`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        func send(_ token: String?, _ header: String) async throws -> (status: Int, problem: String?) {
            let request = try await player.request(.persist, of: portal.test, token: token)
            let (text, _) = try await player.seal(request, at: portal.test.clock.now)
            let sent = HTTPRequest(
                .post,
                "/v1/license",
                headers: ["Content-Type": "application/jose", "X-AxDRM-Message": header],
                body: Array(text.utf8),
                peer: .network(address: "192.0.2.1", port: 1)
            )
            let response = await portal.test.service.router.respond(to: sent)
            let body = try await response.body.collect(upTo: 1 << 20)
            return (response.status.rawValue, try? JSON.parse(body.rawSpan)["code"]?.string)
        }
        let text = try portal.message()
        #expect(try await send(nil, text).status == 200)
        #expect(try await send(text, text).status == 200)
        let different = try await send(text, try portal.message(id: "other"))
        #expect(different.status == 400 && different.problem == "license.token")
        #expect(try await send(nil, "a.b.c").problem == "license.token")
        #expect(try await send(nil, "").problem == "license.token")
    }

    @Test func `counts as this service's own only under its own key`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let session: JSON = [
            "carrel": ["title": .string(portal.test.title.id), "account": "x", "redemptions": 1]
        ]
        let keys = LicenseMessage.KeySource.inline([.init(id: KeyID(label: "a"), key: Secret(Array(0..<16)))])
        let text = try portal.message(keys: keys) { $0.session = session }
        let license = try #require(try await portal.redeem(text, by: player).license)
        #expect(license.keys.map(\.id) == [KeyID(label: "a")] && license.contentID == KeyID(label: "a").contentID)
        let seeds = try portal.message(id: "00112233445566778899aabbccddeeff", keys: .licenseRequest(seedID: nil, policy: nil)) {
            $0.session = session
        }
        #expect(try await portal.redeem(seeds, by: player).problem == "license.key")
        #expect(try await portal.test.service.orders.list(.init()).isEmpty)
    }

    @Test func `of the published shape is taken, and every bad one refused`() async throws {
        let file = try Fixtures.bytes("drm/axinom/lsm-vectors-selfmade.json")
        let fixture = try JSON.parse(file.rawSpan)
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let one = try #require(try await portal.redeem(fixture["jwt_v1"]?.string ?? "", by: player).license)
        let key = fixture["keys"]?.array?.first
        let agreement = player.player.agreement
        let opened = try await one.open(one.keys[0].id) { agreement.sharedSecret(with: $0) }
        #expect(one.keys.map(\.id.uuid) == [key?["kid"]?.string])
        #expect(opened == Hex.decode(key?["key_hex"]?.string ?? "").map { Secret($0) })
        // its second key needs hardware
        let two = try #require(try await portal.redeem(fixture["jwt_v2"]?.string ?? "", by: player).license)
        #expect(two.keys.map(\.id.uuid) == [key?["kid"]?.string] && two.terms.playbackSeconds == 172_800)
        let bad = fixture["must_reject"]?.array ?? []
        #expect(bad.count == 7)
        for element in bad {
            let answer = try await portal.redeem(element["jwt"]?.string ?? "", by: player)
            #expect(answer.problem?.hasPrefix("license.token") == true, "\(element["why"]?.string ?? ""): \(answer)")
        }
    }
}

extension License {
    fileprivate var leaseUntilIsSet: Bool { terms.leaseSeconds != nil && session == id }
}

struct `A communication key` {
    @Test func `is added once, in either form, and never replaced`() async throws {
        let portal = try await Portal()
        let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        #expect(try await portal.add(hex) == 204, "the same key again")
        #expect(try await portal.add("ff" + hex.dropFirst(2)) == 409)
        #expect(try await portal.add(hex, as: "21111111-2222-3333-4444-555555555555") == 204)
        for bad in ["", "00", hex + "00", "not a key"] {
            #expect(try await portal.add(bad, as: "31111111-2222-3333-4444-555555555555") == 400)
        }
        #expect(try await portal.add(hex, as: "key-1") == 400)
        let path = "/admin/v1/communication-keys/41111111-2222-3333-4444-555555555555"
        #expect(try await portal.test.send(.put, path, body: ["key": .string(hex)]).status == 401)
        // the key of an unknown id is not guessed
        let player = try await TestPlayer().personalized(by: portal.test)
        let key = try LicenseMessage.CommunicationKey(id: KeyID(label: "unknown"), secret: Secret(Array(0..<32)))
        let text = try LicenseMessage(
            communicationKeyID: key.id,
            entitlement: .init(keys: .inline([Portal.contents[0]].map { .init(id: $0.id, key: $0.key) }))
        ).write(under: key)
        #expect(try await portal.redeem(text, by: player).problem == "license.token")
    }

    @Test func `is listed and removed, by those that manage keys`() async throws {
        let portal = try await Portal()
        let (path, local) = ("/admin/v1/communication-keys", Peer.local(userID: 0))
        func list() async throws -> [JSON] {
            try await portal.test.call(.get, path, peer: local).json["keys"]?.array ?? []
        }
        let listed = try await list()
        #expect(listed.count == 2 && listed[0]["isOwn"] == true && listed[1]["isOwn"] == false)
        #expect(listed[1]["id"]?.string == portal.key.id.uuid)
        #expect(listed.allSatisfy { $0.object?.count == 4 }, "no key")
        let own = try #require(listed[0]["id"]?.string)
        #expect(try await portal.test.send(.delete, "\(path)/\(own)", peer: local).status == 409)
        let (_, text) = try await portal.test.service.accounts.createServiceKey(name: "p", role: .service, by: .operator)
        let portals: HTTPFields = ["Authorization": "Bearer \(text)"]
        let key: JSON = ["key": .string(String(repeating: "00", count: 32))]
        let fresh = "\(path)/51111111-2222-3333-4444-555555555555"
        #expect(try await portal.test.send(.put, fresh, headers: portals, body: key).status == 403)
        #expect(try await portal.test.send(.get, path, headers: portals).status == 403)
        #expect(try await portal.test.send(.delete, "\(path)/\(portal.key.id.uuid)", headers: portals).status == 403)
        let player = try await TestPlayer().personalized(by: portal.test)
        #expect(try await portal.redeem(try portal.message(), by: player).license != nil)
        #expect(try await portal.test.send(.delete, "\(path)/\(portal.key.id.uuid)", peer: local).status == 204)
        #expect(try await portal.redeem(try portal.message(), by: player).problem == "license.token")
        #expect(try await portal.test.send(.delete, "\(path)/\(portal.key.id.uuid)", peer: local).status == 404)
        #expect(try await list().count == 1)
        #expect(try await portal.add(String(repeating: "00", count: 32)) == 204, "its id is free again")
    }

    @Test func `stays when the master key is replaced`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let own = try await portal.test.call(
            .post,
            "/admin/v1/tokens",
            body: ["title": .string(portal.test.title.id), "serviceURL": "http://127.0.0.1"],
            peer: .local(userID: 0)
        )
        #expect(try await portal.test.call(.post, "/admin/v1/master-key/rotate", peer: .local(userID: 0)).status == 200)
        #expect(try await portal.redeem(try portal.message(), by: player).license != nil)
        #expect(try await portal.redeem(own.json["jwt"]?.string ?? "", by: player).license != nil)
        // another process has the same key of its own
        let other = try await portal.test.another()
        let body: JSON = ["title": .string(portal.test.title.id), "serviceURL": "http://127.0.0.1"]
        let asked = HTTPRequest(
            .post,
            "/admin/v1/tokens",
            headers: ["Content-Type": "application/json"],
            body: body.write(),
            peer: .local(userID: 0)
        )
        let response = await other.router.respond(to: asked)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        let message = try #require(try JSON.parse(bytes.rawSpan)["jwt"]?.string)
        #expect(try await portal.redeem(message, by: player).license != nil)
    }
}
