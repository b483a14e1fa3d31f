// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `A token redeemed for a license` {
    static let kid = KeyID(label: "film")
    static let key = Secret(Array(0..<16))

    /// The text of a token for one piece of content.
    func token(
        _ test: TestService,
        kind: BusinessRules.Kind = .license,
        _ change: (inout BusinessRules) -> Void = { _ in }
    ) async throws -> String {
        var rules = BusinessRules(kind: kind, expiresAt: test.clock.now + .seconds(3600))
        rules.contents = [.init(contentID: "cid:film", keyID: Self.kid, key: Self.key)]
        rules.rights = kind == .ms3 ? .session : .buyToOwn
        rules.isStorable = kind == .license
        change(&rules)
        return try await test.service.businessTokens.seal(rules, at: test.clock.now).text
    }

    @Test func `gives its key to the player that asked, and to no other`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let request = try await player.request(.persist, of: test, token: try await token(test))
        let license = try #require(try await player.send(request, to: test).license)
        #expect(license.player == player.id && license.contentID == "cid:film" && license.terms.isStorable)
        #expect(license.sequence == 1 && license.issuedAt == test.clock.now && license.version == 1)
        let agreement = player.player.agreement
        #expect(try await license.open(Self.kid) { agreement.sharedSecret(with: $0) } == Self.key)
        let evaluation = Evaluation(
            player: player.id,
            serial: Hex.encode(player.certificate.serial),
            host: HostCapabilities(),
            time: .init(instant: test.clock.now, certainty: .signed),
            revocations: try Revocations(try await test.service.authority.revocations(), keys: player.keys)
        )
        #expect(evaluation.check(.play, LicenseRecord(license)).isGranted)
    }

    @Test func `is the same license for the same player, and refused to another`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let text = try await token(test)
        let first = try #require(
            try await player.send(try await player.request(.persist, of: test, token: text), to: test).license
        )
        test.clock.advance(by: .seconds(60))
        let second = try #require(
            try await player.send(try await player.request(.persist, of: test, token: text), to: test).license
        )
        #expect(first.id == second.id && second.issuedAt == first.issuedAt)
        let other = try await TestPlayer().personalized(by: test)
        #expect(
            try await other.send(try await other.request(.persist, of: test, token: text), to: test).problem
                == "license.token-used"
        )
        let shared = try await token(test) { $0.redemptions = 2 }
        for player in [player, other] {
            #expect(try await player.send(try await player.request(.persist, of: test, token: shared), to: test).license != nil)
        }
        let third = try await TestPlayer().personalized(by: test)
        #expect(
            try await third.send(try await third.request(.persist, of: test, token: shared), to: test).problem
                == "license.token-used"
        )
    }

    @Test func `that is forged, expired, for another device or only for a stream is refused`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        func problem(_ text: String?, _ session: KeyRequest.Session = .persist) async throws -> String? {
            try await player.send(try await player.request(session, of: test, token: text), to: test).problem
        }
        #expect(try await problem(nil) == "license.token")
        #expect(try await problem("AAAA") == "license.token")
        let foreign = try await TestService(with: [.licensing, .administration])
        #expect(try await problem(try await token(foreign)) == "license.token")
        #expect(try await problem(try await token(test, kind: .ms3)) == "license.not-storable")
        #expect(try await problem(try await token(test, kind: .ms3), .stream) == nil)
        let bound = try await token(test) { $0.deviceThumbprint = Base64URL.encode(Random.bytes(32)) }
        #expect(try await problem(bound) == "license.token-device")
        let stored = try await token(test) { $0.contents = [.init(contentID: "cid:film", keyID: KeyID(label: "unknown"))] }
        #expect(try await problem(stored) == "license.key")
        let expired = try await token(test)
        test.clock.advance(by: .seconds(3600))
        #expect(try await problem(expired) == "license.token-expired")
    }

    @Test func `takes a key from the key store where the portal gave none`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let body: JSON = ["key": "000102030405060708090a0b0c0d0e0f"]
        let path = "/admin/v1/content-keys/\(Self.kid.hex)"
        #expect(try await test.send(.put, path, body: body, peer: .local(userID: 0)).status == 204)
        #expect(try await test.send(.put, path, body: body, peer: .local(userID: 0)).status == 204)
        let other: JSON = ["key": "100102030405060708090a0b0c0d0e0f"]
        #expect(try await test.send(.put, path, body: other, peer: .local(userID: 0)).status == 409)
        #expect(try await test.send(.put, path, body: body).status == 401)
        let player = try await TestPlayer().personalized(by: test)
        let text = try await token(test) { $0.contents = [.init(contentID: "cid:film", keyID: Self.kid)] }
        let license = try #require(
            try await player.send(try await player.request(.persist, of: test, token: text), to: test).license
        )
        let agreement = player.player.agreement
        #expect(try await license.open(Self.kid) { agreement.sharedSecret(with: $0) } == Self.key)
    }

    @Test func `lifts the output rule once, by an override or an extension, and says which flags there are`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        func obligations(_ change: (inout BusinessRules) -> Void) async throws -> [Obligation] {
            let text = try await token(test, change)
            let request = try await player.request(.persist, of: test, token: text)
            return try #require(try await player.send(request, to: test).license).obligations
        }
        #expect(try await obligations { _ in }.isEmpty)
        let override = try await obligations { $0.outputControlOverride = .init(imageConstraintLevel: 3) }
        #expect(override == [Obligation(type: "wudo", parameters: ["imageConstraintLevel": 3], isCritical: true)])
        let both = try await obligations {
            let extensions = [BusinessRules.Extension(type: "wudo", isCritical: true, payload: [1])]
            ($0.outputControlOverride, $0.extensions) = (.init(imageConstraintLevel: 3), extensions)
        }
        #expect(both == [Obligation(type: "wudo", parameters: ["payload": "AQ=="], isCritical: true)])
        let flags = try await obligations { $0.outputControlFlags = 5 }
        #expect(flags == [Obligation(type: "output-control", parameters: ["flags": 5, "unknown": ""], isCritical: true)])
        let unknown = try await obligations { $0.unknownOutputBehavior = .sdOnly }
        let parameters: JSONObject = ["flags": 0, "unknown": "SDOnly"]
        #expect(unknown == [Obligation(type: "output-control", parameters: parameters, isCritical: true)])
        let allowed = try await obligations { $0.unknownOutputBehavior = .allow }
        #expect(
            allowed == [Obligation(type: "output-control", parameters: ["flags": 0, "unknown": "Allow"], isCritical: false)]
        )
    }

    @Test func `is for its content, and as a stream is not kept and renews its lease when it is repeated`() async throws {
        let test = try await TestService(with: [.licensing, .administration]) { $0.stream.concurrency = 1 }
        let player = try await TestPlayer().personalized(by: test)
        var other = try await player.request(.persist, of: test, token: try await token(test))
        other.contentID = "cid:other"
        #expect(try await player.send(other, to: test).problem == "license.content")
        other.contentID = "cid:film"
        other.nonce = try await player.player.challenge(of: test)
        #expect(try await player.send(other, to: test).license?.contentID == "cid:film")
        let text = try await token(test)
        func stream() async throws -> (license: License?, problem: String?) {
            try await player.send(try await player.request(.stream, of: test, token: text), to: test)
        }
        let first = try #require(try await stream().license)
        #expect(!first.terms.isStorable && first.sequence == 1)
        #expect(try await stream().license?.sequence == 2)
        #expect(
            try await player.send(try await player.request(.persist, of: test, token: text), to: test).problem
                == "license.token-used"
        )
        // its lease is over, and another stream of this player took the slot
        test.clock.advance(by: .seconds(360))
        let second = try await token(test)
        #expect(try await player.send(try await player.request(.stream, of: test, token: second), to: test).license != nil)
        #expect(try await stream().problem == "license.concurrency")
        test.clock.advance(by: .seconds(360))
        #expect(try await stream().license?.id == first.id)
    }

    @Test func `takes the slots of its account, of the player's account, or of the player alone`() async throws {
        let test = try await TestService(with: [.licensing, .administration]) { $0.stream.concurrency = 1 }
        func stream(_ player: TestPlayer.Personalized, account: String? = nil) async throws -> String? {
            let text = try await token(test, kind: .ms3) { $0.account = account }
            return try await player.send(try await player.request(.stream, of: test, token: text), to: test).problem
        }
        var players: [TestPlayer.Personalized] = []
        for _ in 0..<4 { players.append(try await TestPlayer().personalized(by: test)) }
        #expect(try await stream(players[0]) == nil)
        #expect(try await stream(players[1]) == nil)
        #expect(try await stream(players[0]) == "license.concurrency")
        let alice = try await test.service.accounts.findOrCreate(named: "alice").id
        let bob = try await test.service.accounts.findOrCreate(named: "bob").id
        #expect(try await stream(players[2], account: alice) == nil)
        #expect(try await stream(players[3], account: alice) == "license.concurrency")
        #expect(try await stream(players[3], account: bob) == nil, "a refusal links no device")
        let unlimited = try await TestService(with: [.licensing, .administration]) { $0.stream.concurrency = 0 }
        let player = try await TestPlayer().personalized(by: unlimited)
        for _ in 0..<5 {
            let text = try await token(unlimited, kind: .ms3)
            #expect(
                try await player.send(try await player.request(.stream, of: unlimited, token: text), to: unlimited).license != nil
            )
        }
    }

    @Test func `carries the terms and the rules of the portal`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let end = test.clock.now + .seconds(86_400)
        let text = try await token(test) {
            $0.rights = .rental(periodEnd: end, playDuration: 7200)
            $0.extensions = [.init(type: "wudo", isCritical: false, payload: [0, 0, 0, 0])]
            $0.unknownOutputBehavior = .disallow
            $0.cookie = "order-1001"
        }
        let license = try #require(
            try await player.send(try await player.request(.persist, of: test, token: text), to: test).license
        )
        #expect(license.terms.notAfter == end && license.terms.playbackSeconds == 7200)
        #expect(
            license.obligations.map(\.type) == ["wudo", "output-control"]
                && license.obligations.map(\.isCritical) == [true, true]
        )
        let records = try await test.service.licenses.redemptions(cookie: "order-1001", start: 0, count: 32)
        #expect(records.map(\.license) == [license.id] && records.map(\.player) == [player.id])
    }
}

@Suite(.onBothDatabases) struct `A request for a license` {
    let tokens = `A token redeemed for a license`()

    @Test func `counts its nonce once, and is bound to its answer`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let request = try await player.request(.persist, of: test, token: try await tokens.token(test))
        #expect(try await player.send(request, to: test).license != nil)
        #expect(try await player.send(request, to: test).problem == "license.nonce")
        var old = try await player.request(.persist, of: test, token: try await tokens.token(test))
        old.versions = [99]
        #expect(try await player.send(old, to: test).problem == "license.version")
    }

    @Test func `of a stolen certificate, without one or after it ended is refused`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let thief = TestPlayer.Personalized(
            player: TestPlayer(),
            id: player.id,
            certificate: player.certificate,
            keys: player.keys
        )
        let stolen = try await thief.request(.persist, of: test, token: try await tokens.token(test))
        #expect(try await thief.send(stolen, to: test).problem == "license.request")
        let other = try await TestService(with: [.licensing, .administration])
        let stranger = try await TestPlayer().personalized(by: other)
        let foreign = TestPlayer.Personalized(
            player: stranger.player,
            id: stranger.id,
            certificate: stranger.certificate,
            keys: player.keys
        )
        let unknown = try await foreign.request(.persist, of: test, token: try await tokens.token(test))
        #expect(try await foreign.send(unknown, to: test).problem == "license.not-personalized")
        test.clock.advance(by: .seconds(91 * 86_400))
        let late = try await player.request(.persist, of: test, token: try await tokens.token(test))
        #expect(try await player.send(late, to: test).problem == "license.not-personalized")
    }

    @Test func `that was altered anywhere is refused, and leaves nothing stored`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let request = try await player.request(.persist, of: test, token: try await tokens.token(test))
        let (text, _) = try await player.seal(request, at: test.clock.now)
        let bytes = Array(text.utf8)
        for place in stride(from: 0, to: bytes.count, by: bytes.count / 60) {
            var altered = bytes
            altered[place] = altered[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let (status, _) = try await player.send(String(decoding: altered, as: UTF8.self), to: test)
            #expect(status == 400 || status == 403, "place \(place): \(status)")
        }
        for bad in ["", "{}", "a.b.c", String(repeating: "A", count: 30_000)] {
            #expect(try await player.send(bad, to: test).status == 400)
        }
        #expect(try await player.send(String(repeating: "A", count: 40_000), to: test).status == 413)
        #expect(try await test.service.licenses.list(of: nil, after: nil, limit: 10).isEmpty)
        #expect(try await player.send(text, to: test).status == 200)
    }

    @Test func `of a suspended or revoked player is denied, and the denial is in the audit log`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        _ = try await test.service.players.change(player.id, .suspend, by: .operator)
        let request = try await player.request(.persist, of: test, token: try await tokens.token(test))
        #expect(try await player.send(request, to: test).problem == "personalization.suspended")
        var filter = AuditFilter()
        filter.action = "license.deny"
        #expect(try await test.service.audit.list(filter).map(\.reason) == ["personalization.suspended"])
        _ = try await test.service.players.change(player.id, .resume, by: .operator)
        #expect(try await player.send(request, to: test).license != nil, "a denied request does not use its nonce")
    }
}

@Suite(.onBothDatabases) struct `A license that was issued` {
    let tokens = `A token redeemed for a license`()

    @Test func `is renewed under a larger number, given back once, and not renewed then`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let issue = try await player.request(.persist, of: test, token: try await tokens.token(test))
        let first = try #require(try await player.send(issue, to: test).license)
        func again(_ session: KeyRequest.Session, _ sequence: Int, by who: TestPlayer.Personalized? = nil) async throws
            -> (license: License?, problem: String?)
        {
            let who = who ?? player
            var request = try await who.request(session, of: test)
            (request.license, request.sequence, request.plays) = (first.id, sequence, 4)
            return try await who.send(request, to: test)
        }
        #expect(try await again(.renew, 1).license?.sequence == 2)
        #expect(try await again(.renew, 1).license?.sequence == 3, "an answer that was lost can be asked for again")
        #expect(try await again(.renew, 4).problem == "license.sequence")
        let other = try await TestPlayer().personalized(by: test)
        #expect(try await again(.renew, 1, by: other).problem == "license.unknown")
        let released = try #require(try await again(.release, 3).license)
        #expect(released.keys.isEmpty)
        #expect(try await again(.release, 3).license != nil, "a release can be repeated")
        #expect(try await again(.renew, 3).problem == "license.ended")
        let audited = try await test.service.audit.list(AuditFilter()).filter { $0.subject == first.id }.map(\.action)
        #expect(Set(audited) == ["license.issue", "license.renew", "license.release"])
        let row = try #require(try await test.service.licenses.list(of: player.id, after: nil, limit: 10).first)
        #expect(row.endedBy == "release" && row.plays == 4)
    }

    @Test func `adds a few entries to the audit log however often it is renewed, repeated and given back`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        func actions() async throws -> [String] {
            try await test.service.audit.fold.flushAll()
            return try await test.service.audit.list(AuditFilter()).filter { $0.action.hasPrefix("license.") }.map {
                "\($0.action) \($0.unfolded.count)"
            }
        }
        let persist = try await tokens.token(test)
        var stored: License?
        for _ in 0..<5 {
            stored = try await player.send(try await player.request(.persist, of: test, token: persist), to: test).license
        }
        let license = try #require(stored)
        #expect(try await actions() == ["license.issue 1"])
        func again(_ session: KeyRequest.Session) async throws -> License? {
            var request = try await player.request(session, of: test)
            (request.license, request.sequence) = (license.id, 1)
            return try await player.send(request, to: test).license
        }
        for _ in 0..<12 { #expect(try await again(.renew) != nil) }
        #expect(try await actions().sorted() == ["license.issue 1", "license.renew 1", "license.renew 11"])
        for _ in 0..<6 { #expect(try await again(.release) != nil) }
        #expect(try await actions().filter { $0.hasPrefix("license.release") } == ["license.release 1"])
        test.clock.advance(by: .seconds(61))
        let stream = try await tokens.token(test, kind: .ms3)
        for _ in 0..<8 {
            #expect(
                try await player.send(try await player.request(.stream, of: test, token: stream), to: test).license != nil
            )
        }
        let count = try await actions().count { $0.hasPrefix("license.issue") }
        #expect(count == 4, "the stored one, the stream, and two for its repeats")
    }

    @Test func `is renewed under another key of the service, and can be read`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let issue = try await player.request(.persist, of: test, token: try await tokens.token(test))
        let first = try #require(try await player.send(issue, to: test).license)
        test.clock.advance(by: .seconds(86_400))
        _ = try await test.service.authority.rotate("license", by: .operator)
        test.clock.advance(by: .seconds(2))
        var renewal = try await player.request(.renew, of: test)
        (renewal.license, renewal.sequence) = (first.id, 1)
        let keys = try await test.service.authority.keys()
        let now = TestPlayer.Personalized(
            player: player.player,
            id: player.id,
            certificate: player.certificate,
            keys: keys.document
        )
        let renewed = try #require(try await now.send(renewal, to: test).license)
        #expect(renewed.issuedAt == first.issuedAt && renewed.signedAt == test.clock.now)
    }

    @Test func `of a rental is not renewed after its period`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let end = test.clock.now + .seconds(600)
        let token = try await tokens.token(test) { $0.rights = .rental(periodEnd: end, playDuration: 60) }
        let rental = try #require(
            try await player.send(try await player.request(.persist, of: test, token: token), to: test).license
        )
        for (step, problem) in [(599, nil), (1, "license.ended")] as [(Int, String?)] {
            test.clock.advance(by: .seconds(step))
            var renewal = try await player.request(.renew, of: test)
            (renewal.license, renewal.sequence) = (rental.id, 1)
            #expect(try await player.send(renewal, to: test).problem == problem)
        }
    }

    @Test func `as a stream is over with its lease`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        let stream = try #require(
            try await player.send(try await player.request(.stream, of: test, token: token), to: test).license
        )
        test.clock.advance(by: .seconds(360))
        var renewal = try await player.request(.renew, of: test)
        (renewal.license, renewal.sequence) = (stream.id, 1)
        #expect(try await player.send(renewal, to: test).problem == "license.ended")
        // with its token it begins again, until that ends
        #expect(try await player.send(try await player.request(.stream, of: test, token: token), to: test).license != nil)
    }

    @Test func `is issued once, however many redeem its token at the same time`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let token = try await tokens.token(test)
        var players: [TestPlayer.Personalized] = []
        for _ in 0..<8 { players.append(try await TestPlayer().personalized(by: test)) }
        let count = try await withThrowingTaskGroup(of: Bool.self) { group in
            for player in players {
                let request = try await player.request(.persist, of: test, token: token)
                group.addTask { try await player.send(request, to: test).license != nil }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 1)
    }

    @Test func `is revoked by staff, and players learn of it with the list`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let issue = try await player.request(.persist, of: test, token: try await tokens.token(test))
        let license = try #require(try await player.send(issue, to: test).license)
        let answer = try await test.call(.post, "/admin/v1/licenses/\(license.id)/revoke", peer: .local(userID: 0))
        #expect(answer.status == 200 && answer.json["endedBy"] == "staff")
        let list = try Revocations(try await test.service.authority.revocations(), keys: player.keys)
        #expect(list.licenses == [license.id] && list.number == 1)
        let listed = try await test.call(.get, "/admin/v1/licenses?player=\(player.id)", peer: .local(userID: 0))
        #expect(listed.json["licenses"]?.array?.count == 1)
        #expect(try await test.send(.get, "/admin/v1/licenses").status == 401)
        #expect(try await test.send(.post, "/admin/v1/licenses/none/revoke", peer: .local(userID: 0)).status == 404)
    }

    @Test func `as a stream holds a slot until its lease ends, and one more is refused`() async throws {
        let test = try await TestService(with: [.licensing, .administration]) { $0.stream.concurrency = 2 }
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let session = try await test.service.accounts.issueSession(for: alice)
        var players: [TestPlayer.Personalized] = []
        for _ in 0..<3 { players.append(try await TestPlayer().personalized(by: test, token: session)) }
        func stream(_ player: TestPlayer.Personalized) async throws -> (license: License?, problem: String?) {
            try await player.send(
                try await player.request(.stream, of: test, token: try await tokens.token(test, kind: .ms3)),
                to: test
            )
        }
        let first = try #require(try await stream(players[0]).license)
        #expect(first.terms.leaseSeconds == 360 && first.heartbeat == 300 && first.session == first.id && !first.terms.isStorable)
        #expect(try await stream(players[1]).license != nil)
        #expect(try await stream(players[2]).problem == "license.concurrency")
        test.clock.advance(by: .seconds(300))
        var renewal = try await players[0].request(.renew, of: test)
        (renewal.license, renewal.sequence) = (first.id, 1)
        let renewed = try #require(try await players[0].send(renewal, to: test).license)
        #expect(renewed.issuedAt == test.clock.now && renewed.sequence == 2)
        test.clock.advance(by: .seconds(60))
        // the second one's lease has ended
        #expect(try await stream(players[2]).license != nil)
        #expect(try await stream(players[1]).problem == "license.concurrency")
        var release = try await players[0].request(.release, of: test)
        release.license = first.id
        _ = try await players[0].send(release, to: test)
        #expect(try await stream(players[1]).license != nil)
    }

    @Test func `keeps its key when the master key is replaced`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let issue = try await player.request(.persist, of: test, token: try await tokens.token(test))
        let license = try #require(try await player.send(issue, to: test).license)
        for _ in 0..<2 {
            // on PostgreSQL a key is added first, as other nodes need it too
            if case .postgres = Engine.current {
                #expect(try await test.send(.post, "/admin/v1/master-key/add", body: [:], peer: .local(userID: 0)).status == 200)
            }
            #expect(try await test.call(.post, "/admin/v1/master-key/rotate", peer: .local(userID: 0)).status == 200)
        }
        var renewal = try await player.request(.renew, of: test)
        (renewal.license, renewal.sequence) = (license.id, 1)
        let (renewed, agreement) = (try #require(try await player.send(renewal, to: test).license), player.player.agreement)
        let opened = try await renewed.open(`A token redeemed for a license`.kid) { agreement.sharedSecret(with: $0) }
        #expect(opened == `A token redeemed for a license`.key)
    }
}
