// SPDX-License-Identifier: Apache-2.0

import CarrelPasswordHash
import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelVault
import Testing

@Suite(.onBothDatabases) struct `A copy of an app` {
    @Test func `gets a certificate that leads to the root, and the signed time and revocations`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = TestPlayer()
        let nonce = try await player.challenge(of: test)
        let (status, answer) = try await player.send(try await player.request(nonce: nonce, at: test.clock.now), to: test)
        #expect(status == 200)
        let response = try PersonalizationResponse(answer)
        let (root, keys) = try response.trust.verified(from: nil)
        let certificate = try keys.player(response.certificate, root: root, at: test.clock.now)
        #expect(certificate.player == response.player && certificate.key == player.signing.publicKey)
        #expect(certificate.level == .passphrase && keys.environment == "live")
        #expect(response.renewAt == test.clock.now + .seconds(60 * 86_400))
        let time = try TrustedTime(response.time, keys: keys)
        #expect(time == TrustedTime(instant: test.clock.now, nonce: nonce))
        #expect(try Revocations(response.revocations, keys: keys).serials.isEmpty)
    }

    @Test func `that asks again is the same player, and gets another certificate when the first is old`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = TestPlayer()
        let first = try PersonalizationResponse(try await player.personalize(test).answer)
        let second = try PersonalizationResponse(try await player.personalize(test).answer)
        #expect(first.player == second.player && first.certificate == second.certificate)
        test.clock.advance(by: .seconds(61 * 86_400))
        let third = try PersonalizationResponse(try await player.personalize(test).answer)
        #expect(third.player == first.player && third.certificate != first.certificate)
        #expect(third.renewAt == test.clock.now + .seconds(60 * 86_400))
    }

    @Test func `uses a nonce once, within minutes, and only one of this service`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        test.clock.advance(by: .milliseconds(517))
        let player = TestPlayer()
        let nonce = try await player.challenge(of: test)
        let text = try await player.request(nonce: nonce, at: test.clock.now)
        #expect(try await player.send(text, to: test).status == 200)
        let again = try await player.send(text, to: test)
        #expect(again.status == 400 && again.answer["code"]?.string == "personalization.nonce")
        let late = try await player.challenge(of: test)
        test.clock.advance(by: .seconds(301))
        let tooLate = try await player.send(try await player.request(nonce: late, at: test.clock.now), to: test)
        #expect(tooLate.answer["code"]?.string == "personalization.nonce")
        let other = try await TestService(with: [.licensing, .editionDelivery])
        let foreign = try await player.challenge(of: other)
        let refused = try await player.send(try await player.request(nonce: foreign, at: test.clock.now), to: test)
        #expect(refused.answer["code"]?.string == "personalization.nonce")
    }

    @Test func `with keys or a fingerprint of another is refused`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = TestPlayer()
        #expect(try await player.personalize(test).status == 200)
        func code(_ change: (inout TestPlayer) -> Void) async throws -> String? {
            var copy = player
            change(&copy)
            return try await copy.personalize(test).answer["code"]?.string
        }
        #expect(try await code { $0.fingerprint[0] ^= 1 } == "personalization.fingerprint")
        #expect(try await code { $0.agreement = P256.PrivateKey() } == "personalization.key")
        #expect(
            try await code { ($0.signing, $0.agreement) = (P256.PrivateKey(), P256.PrivateKey()) }
                == "personalization.fingerprint"
        )
        #expect(
            try await code {
                $0.signing = P256.PrivateKey()
                $0.fingerprint[0] ^= 1
            } == "personalization.key"
        )
        #expect(
            try await code {
                ($0.signing, $0.agreement) = ($0.agreement, $0.signing)
                $0.fingerprint[0] ^= 1
            } == "personalization.key"
        )
        #expect(
            try await code {
                $0.agreement = $0.signing
                $0.fingerprint[0] ^= 1
            } == "personalization.key"
        )
    }

    @Test func `sends what cannot be read, and gets an error that says so`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = TestPlayer()
        let text = try await player.request(nonce: try await player.challenge(of: test), at: test.clock.now)
        var parts = text.split(separator: ".").map(String.init)
        parts[2] = Base64URL.encode([UInt8](repeating: 1, count: 64))
        for bad in ["", "a.b.c", "{}", parts.joined(separator: "."), String(repeating: "A", count: 30_000)] {
            let (status, answer) = try await player.send(bad, to: test)
            #expect(status == 400 && answer["code"]?.string == "personalization.rejected", "\(answer)")
        }
        let long = try await player.send(String(repeating: "A", count: 40_000), to: test)
        #expect(long.status == 413)
        // nothing was kept: the request still works
        #expect(try await player.send(text, to: test).status == 200)
    }

    @Test func `with a session is linked to its account and has its device slot`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery]) {
            $0.subscription.devices = DevicePolicy(limit: 1)
        }
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let token = try await test.service.accounts.issueSession(for: alice)
        let player = TestPlayer()
        #expect(try await player.personalize(test, token: token).status == 200)
        let linked = try #require(try await test.service.players.list(of: alice.id).first)
        #expect(linked.account == alice.id && linked.device != nil && linked.linkExpiresAt == linked.expiresAt)
        #expect(try await test.service.devices.list(of: alice).map(\.id) == [linked.device])
        let second = try await TestPlayer().personalize(test, token: token)
        #expect(second.status == 409 && second.answer["fault"]?.string == "device-limit")
        let bob = try await test.service.accounts.findOrCreate(named: "bob")
        let other = try await player.personalize(test, token: try await test.service.accounts.issueSession(for: bob))
        #expect(other.status == 409 && other.answer["code"]?.string == "personalization.linked")
        #expect(try await player.personalize(test, token: "cs_wrong").status == 401)
    }

    @Test func `has a device slot of its own, though the session of an app has one too`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery]) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.devices = DevicePolicy(limit: 1)
        }
        _ = try await test.service.desk.create("alice", password: "correct horse battery", by: .operator)
        let reply = try await test.send(
            .get,
            "/sign_in/?username=alice&password=correct+horse+battery&uuid=phone"
        )
        let text = String(decoding: reply.body, as: UTF8.self)
        let token = try #require(text.firstMatch(of: /<token>([^<]*)</)).1
        #expect(try await TestPlayer().personalize(test, token: String(token)).status == 200)
        let alice = try #require(try await test.service.accounts.find(named: "alice"))
        let device = try await test.service.devices.list(of: alice).first?.id
        let players = try await test.service.players.list(of: alice.id)
        #expect(players.map(\.device) == [device])
        let second = try await TestPlayer().personalize(test, token: String(token))
        #expect(second.answer["code"]?.string == "personalization.device-limit")
        // signing out does not free the slot that the player holds
        #expect(try await test.send(.get, "/sign_out/?token=\(token)").status == 200)
        #expect(try await test.service.devices.list(of: alice).first?.freedAt == nil)
    }

    private func linked(_ account: Account, _ test: TestService) async throws -> Player? {
        let players = try await test.service.players.list(of: account.id)
        return players.first
    }

    @Test func `keeps its link when it is renewed in time, and loses it when it comes too late`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let player = TestPlayer()
        _ = try await player.personalize(test, token: try await test.service.accounts.issueSession(for: alice))
        let first = try #require(try await linked(alice, test))
        #expect(first.linkExpiresAt == test.clock.now + .seconds(90 * 86_400))
        test.clock.advance(by: .seconds(61 * 86_400))
        _ = try await player.personalize(test)
        let second = try #require(try await linked(alice, test))
        #expect(second.id == first.id && second.linkExpiresAt == test.clock.now + .seconds(90 * 86_400))
        #expect(second.device == first.device)
        test.clock.advance(by: .seconds(90 * 86_400 - 1))
        _ = try await player.personalize(test)
        #expect(try await linked(alice, test) != nil)
        test.clock.advance(by: .seconds(90 * 86_400))
        #expect(try await player.personalize(test).status == 200)
        #expect(try await linked(alice, test) == nil, "the link ended")
        let entries = try await test.service.audit.list(AuditFilter()).filter { $0.subject == first.id }
        #expect(entries.filter { $0.action == "player.personalize" }.map(\.actor) == [alice.id])
        #expect(entries.filter { $0.action == "player.renew" }.map(\.actor).contains(alice.id))
    }

    @Test func `gets a certificate of another level once a day`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        var player = TestPlayer()
        let first = try PersonalizationResponse(try await player.personalize(test).answer)
        player.level = .hardware
        test.clock.advance(by: .seconds(86_399))
        #expect(try await player.personalize(test).status == 429)
        test.clock.advance(by: .seconds(1))
        let second = try PersonalizationResponse(try await player.personalize(test).answer)
        #expect(second.player == first.player && second.certificate != first.certificate)
        let keys = try second.trust.verified(from: nil)
        #expect(try keys.keys.player(second.certificate, root: keys.root, at: test.clock.now).level == .hardware)
        player.level = .passphrase
        #expect(try await player.personalize(test).status == 429)
    }

    @Test func `of an account whose password was replaced is revoked`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery]) { $0.passwordCost = .init(memory: 64, passes: 1) }
        let alice = try await test.service.desk.create("alice", password: "correct horse battery", by: .operator)
        let token = try await test.service.accounts.issueSession(for: alice)
        let player = TestPlayer()
        #expect(try await player.personalize(test, token: token).status == 200)
        try await test.service.desk.change(alice.id, .init(password: "another horse battery"), by: .operator)
        #expect(try await player.personalize(test).answer["code"]?.string == "personalization.revoked")
    }

    @Test func `without an account is refused where one is needed, and where none may be`() async throws {
        let closed = try await TestService(with: [.licensing, .editionDelivery]) { $0.players.needsAccount = true }
        #expect(try await TestPlayer().personalize(closed).answer["code"]?.string == "personalization.account")
        let small = try await TestService(with: [.licensing, .editionDelivery]) { $0.players.unlinkedLimit = 0 }
        #expect(try await TestPlayer().personalize(small).answer["code"]?.string == "personalization.full")
        let alice = try await small.service.accounts.findOrCreate(named: "alice")
        let token = try await small.service.accounts.issueSession(for: alice)
        #expect(try await TestPlayer().personalize(small, token: token).status == 200)
    }

    @Test func `of one network waits after sixty personalizations in a minute, and after as many challenges as licenses`()
        async throws
    {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        func ask(_ path: String) async throws -> Int {
            let peer = Peer.network(address: "203.0.113.9", port: 1)
            return try await Peer.$current.withValue(peer) { try await test.send(.post, path, peer: peer).status }
        }
        for _ in 0..<60 { #expect(try await ask("/v1/personalize") == 415) }
        #expect(try await ask("/v1/personalize") == 429)
        #expect(try await ask("/v1/device/code") == 429)
        for number in 0..<1200 where try await ask("/v1/personalize/challenge") != 200 { Issue.record("challenge \(number)") }
        #expect(try await ask("/v1/personalize/challenge") == 429)
        test.clock.advance(by: .seconds(2))
        #expect(try await ask("/v1/personalize/challenge") == 200)
        #expect(try await ask("/v1/personalize") == 415)
    }

    @Test func `is revoked with its account's device, suspended with its account, and forgotten with the person`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let token = try await test.service.accounts.issueSession(for: alice)
        let player = TestPlayer()
        let first = try PersonalizationResponse(try await player.personalize(test, token: token).answer)
        let serial = Hex.encode(try Certificate(der: first.certificate).serial)
        let (_, keys) = try first.trust.verified(from: nil)
        func serials() async throws -> Set<String> {
            try Revocations(try await test.service.authority.revocations(), keys: keys).serials
        }
        #expect(try await serials().isEmpty)
        try await test.service.desk.change(alice.id, .init(isSuspended: true), by: .operator)
        #expect(try await serials() == [serial])
        #expect(try await player.personalize(test).answer["code"]?.string == "personalization.suspended")
        try await test.service.desk.change(alice.id, .init(isSuspended: false), by: .operator)
        #expect(try await serials().isEmpty)
        let device = try #require(try await test.service.players.list(of: alice.id).first?.device)
        try await test.service.devices.revoke(device, of: alice, isOwner: true, by: .operator)
        #expect(try await serials() == [serial])
        let crl = try RevocationList(try await test.service.authority.certificateList())
        #expect(crl.revokes(try Certificate(der: first.certificate)))
        #expect(try await player.personalize(test).answer["code"]?.string == "personalization.revoked")
        test.clock.advance(by: .seconds(91 * 86_400))
        #expect(try await serials().isEmpty, "nothing that it was the certificate for is left")
        test.clock.advance(by: .seconds(31 * 86_400))
        while try await test.service.housekeeping.run() > 0 {}
        #expect(try await test.service.players.list(after: nil, limit: 9).isEmpty)
        var (sameSigning, sameAgreement) = (TestPlayer(), TestPlayer())
        (sameSigning.signing, sameAgreement.agreement) = (player.signing, player.agreement)
        for keys in [player, sameSigning, sameAgreement] {
            #expect(try await keys.personalize(test).answer["code"]?.string == "personalization.revoked", "keys are known")
        }
    }

    @Test func `is revoked with the session that linked it, and not with another one that was stolen`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let sessions = [
            try await test.service.accounts.issueSession(for: alice), try await test.service.accounts.issueSession(for: alice),
        ]
        var players: [String] = []
        for session in sessions { players.append(try await TestPlayer().personalized(by: test, token: session).id) }
        // by a code that a reader of the first session typed
        let byCode = try await TestPlayer().personalized(by: test)
        let code = try #require(try await byCode.linkCode(of: test).answer["user_code"]?.string)
        let session = try #require(try await test.service.accounts.session(of: sessions[0], requestID: ""))
        _ = try await test.service.links.decide(
            code,
            isApproved: true,
            for: alice,
            session: session.family,
            from: "192.0.2.1",
            requestID: ""
        )
        players.append(byCode.id)
        let bearer: HTTPFields = ["Authorization": "Bearer \(sessions[0])"]
        #expect(try await test.ask("renew_token", ["token": sessions[0]]).token.hasPrefix("cs_"))
        test.clock.advance(by: .seconds(601))
        #expect(try await test.send(.get, "/v1/players", headers: bearer).status == 401)
        let states = try await test.service.players.list(of: alice.id).reduce(into: [:]) { $0[$1.id] = $1.state }
        #expect(players.map { states[$0] } == ["revoked", "active", "revoked"])
    }

    @Test func `is suspended, resumed and revoked by staff, and revoked by its reader`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let token = try await test.service.accounts.issueSession(for: alice)
        let player = TestPlayer()
        let id = try PersonalizationResponse(try await player.personalize(test, token: token).answer).player
        func change(_ verb: String) async throws -> String? {
            let answer = try await test.send(.post, "/admin/v1/players/\(id)/\(verb)", peer: .local(userID: 0))
            return try JSON.parse(answer.body.rawSpan)["state"]?.string
        }
        let number = try await test.service.authority.revocationNumber()
        #expect(try await change("suspend") == "suspended")
        #expect(try await change("suspend") == "suspended")
        #expect(try await test.service.authority.revocationNumber() == number + 1)
        #expect(try await change("resume") == "active")
        let own: HTTPFields = ["Authorization": "Bearer \(token)"]
        let list = try await test.send(.get, "/v1/players", headers: own)
        let listed = try JSON.parse(list.body.rawSpan)
        #expect(listed["players"]?.array?.count == 1)
        #expect(try await test.send(.delete, "/v1/players/\(id)", headers: own).status == 204)
        #expect(try await player.personalize(test).answer["code"]?.string == "personalization.revoked")
        #expect(try await test.send(.post, "/admin/v1/players/none/revoke", peer: .local(userID: 0)).status == 404)
        #expect(try await test.send(.post, "/admin/v1/players/\(id)/revoke").status == 401)
    }
}

@Suite(.onBothDatabases) struct `The certificate authority` {
    @Test func `is made once for a database, however many start on it`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let first = try await test.service.authority.keys()
        let another = try await test.another()
        let second = try await another.authority.keys()
        #expect(first.trust == second.trust && first.number == 1)
        #expect(first.agreement.keys.sorted() == second.agreement.keys.sorted())
    }

    @Test(arguments: ["root", "devices", "license", "agreement", "revocation", "time"])
    func `replaces a key, and players follow`(use: String) async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = TestPlayer()
        let before = try PersonalizationResponse(try await player.personalize(test).answer)
        test.clock.advance(by: .seconds(61 * 86_400))
        let another = try await test.another()
        #expect(try await another.authority.keys().number == 1)
        let id = try await test.service.authority.rotate(use, by: .operator)
        let keys = try await test.service.authority.keys()
        #expect(keys.number == 2)
        let after = try PersonalizationResponse(try await player.personalize(test).answer)
        let (root, document) = try after.trust.verified(from: before.trust.root, notBefore: 1)
        #expect(try document.player(after.certificate, root: root, at: test.clock.now).player == before.player)
        // certificates and signatures of before are good still
        #expect(try document.player(before.certificate, root: root, at: test.clock.now).player == before.player)
        #expect(try TrustedTime(before.time, keys: document).instant < TrustedTime(after.time, keys: document).instant)
        let list = try await test.service.authority.list()
        #expect(list.filter { $0.use == use }.map(\.isCurrent) == [false, true] && list.contains { $0.id == id && $0.isCurrent })
        #expect(list.filter(\.isCurrent).count == 6)
        let shown = try await test.call(.get, "/admin/v1/pki", peer: .local(userID: 0)).json
        #expect(shown["rootFingerprint"]?.string == Hex.encode(SHA256.hash(root.der.rawSpan)))
        if use != "root" {
            #expect(throws: RightsError(.signature)) { try after.trust.verified(from: nil, notBefore: 3) }
        } else {
            #expect(before.trust.root != after.trust.root)
            let stranger = try await TestService(with: [.licensing, .editionDelivery])
            let foreign = try await stranger.service.authority.keys().trust
            #expect(throws: RightsError(.signature)) { try foreign.verified(from: before.trust.root) }
        }
        // another process learns of it
        #expect(try await another.authority.keys().number == 1)
        test.clock.advance(by: .seconds(2))
        #expect(try await another.authority.keys().number == 2)
    }

    @Test(arguments: ["root", "devices", "license", "agreement", "revocation", "time"])
    func `replaces a key again in the same second, and after its clock went back`(use: String) async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        for step in [Duration.zero, .zero, .seconds(-3600), .zero] {
            test.clock.advance(by: step)
            let id = try await test.service.authority.rotate(use, by: .operator)
            let keys = try await test.another().authority.keys()
            let newest = try await test.service.authority.list().last { $0.use == use }
            let own = try await test.service.authority.keys()
            #expect(newest?.id == id && keys.trust == own.trust)
        }
        #expect(try await test.service.authority.keys().number == 5)
    }

    @Test func `refuses to replace what it does not have`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        await #expect(throws: ServerError(.invalid, "")) {
            try await test.service.authority.rotate("tls", by: .operator)
        }
    }

    @Test func `exports its root under a passphrase, and only on its own machine`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let passphrase = Secret(Array("correct horse battery".utf8))
        let text = try await test.service.authority.exportRoot(passphrase: passphrase, by: .operator)
        let (key, certificate) = try RootExport.open(text, passphrase: passphrase)
        #expect(try Certificate(der: certificate).subjectPublicKeyInfo == key.publicKey.subjectPublicKeyInfo)
        #expect(throws: RightsError(.key)) { try RootExport.open(text, passphrase: Secret(Array("correct horse batterie".utf8))) }
        #expect(throws: RightsError(.malformed)) { try RootExport.open("{}", passphrase: passphrase) }
        let body: JSON = ["passphrase": "correct horse battery"]
        #expect(try await test.send(.post, "/admin/v1/pki/export-root", body: body).status == 401)
        let (_, key2) = try await test.service.accounts.createServiceKey(name: "x", role: .admin, by: .operator)
        let remote = try await test.send(
            .post,
            "/admin/v1/pki/export-root",
            headers: ["Authorization": "Bearer \(key2)"],
            body: body
        )
        #expect(remote.status == 403)
        let short = try await test.send(
            .post,
            "/admin/v1/pki/export-root",
            body: ["passphrase": "short"],
            peer: .local(userID: 0)
        )
        #expect(short.status == 400)
    }
}
