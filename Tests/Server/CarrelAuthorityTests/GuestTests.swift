// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `A player without an account that never got a license` {
    private static let kid = KeyID(label: "film")

    private func exists(_ player: TestPlayer.Personalized, _ test: TestService) async throws -> Bool {
        do {
            return try await test.service.players.find(player.id).id == player.id
        } catch is ServerError {
            return false
        }
    }

    /// A guest that was made a second after the one before it.
    private func guest(_ test: TestService, from address: String) async throws -> TestPlayer.Personalized {
        test.clock.advance(by: .seconds(1))
        return try await TestPlayer().personalized(by: test, from: address)
    }

    private func license(_ player: TestPlayer.Personalized, _ test: TestService) async throws -> License? {
        var rules = BusinessRules(kind: .license, expiresAt: test.clock.now + .seconds(86_400))
        rules.contents = [.init(contentID: "cid:film", keyID: Self.kid, key: Secret(Array(0..<16)))]
        rules.rights = .buyToOwn
        rules.isStorable = true
        let token = Base64URL.encode(try await test.service.businessTokens.seal(rules, at: test.clock.now).bytes)
        return try await player.send(try await player.request(.persist, of: test, token: token), to: test).license
    }

    @Test func `gives way, the oldest of the larger network with the most, when there are too many`() async throws {
        let test = try await TestService(with: .licensing) { $0.players.unlinkedLimit = 4 }
        let reader = try await guest(test, from: "192.0.2.7")
        var flood: [TestPlayer.Personalized] = []
        for number in 0..<6 { flood.append(try await guest(test, from: "2001:db8:1:\(number)::1")) }
        #expect(try await exists(reader, test))
        let late = try await guest(test, from: "198.51.100.3")
        for player in [reader, late] + flood.suffix(2) { #expect(try await exists(player, test)) }
        for player in flood.prefix(4) { #expect(try await !exists(player, test)) }
        #expect(try await flood[0].linkCode(of: test).status == 403, "its certificate is worth nothing")
        #expect(try await flood[0].player.personalize(test).status == 200, "it can come back")
    }

    @Test func `gives way within one second, too`() async throws {
        let test = try await TestService(with: .licensing) { $0.players.unlinkedLimit = 3 }
        let reader = try await TestPlayer().personalized(by: test, from: "192.0.2.7")
        for _ in 0..<8 { _ = try await TestPlayer().personalized(by: test, from: "203.0.113.1") }
        #expect(try await exists(reader, test))
        let count = try await test.service.database.read { try GuestStore.count(at: test.clock.now, in: $0) }
        #expect(count == 3)
    }

    @Test func `counts no more once it has a license, an account or staff's word, and when its certificate has ended`()
        async throws
    {
        let test = try await TestService(with: .licensing) { $0.players.unlinkedLimit = 2 }
        func count() async throws -> Int {
            try await test.service.database.read { try GuestStore.count(at: test.clock.now, in: $0) }
        }
        let buyer = try await guest(test, from: "192.0.2.1")
        #expect(try await license(buyer, test) != nil)
        let revoked = try await guest(test, from: "192.0.2.1")
        _ = try await test.service.players.change(revoked.id, .revoke, by: .operator)
        let suspended = try await guest(test, from: "192.0.2.1")
        _ = try await test.service.players.change(suspended.id, .suspend, by: .operator)
        let linked = try await guest(test, from: "192.0.2.1")
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let session = try await test.service.accounts.issueSession(for: alice)
        #expect(try await linked.player.personalize(test, token: session).status == 200)
        #expect(try await count() == 0)
        let guests = [try await guest(test, from: "192.0.2.1"), try await guest(test, from: "192.0.2.1")]
        #expect(try await count() == 2)
        _ = try await guest(test, from: "192.0.2.1")
        #expect(try await !exists(guests[0], test))
        for player in [buyer, revoked, suspended, linked, guests[1]] { #expect(try await exists(player, test)) }
        test.clock.advance(by: .seconds(90 * 86_400))
        #expect(try await count() == 0)
        let late = try await guest(test, from: "192.0.2.1")
        #expect(try await exists(late, test))
        test.clock.advance(by: .seconds(31 * 86_400))
        while try await test.service.housekeeping.run() > 0 {}
        #expect(try await !exists(guests[1], test))
        #expect(try await count() == 1)
    }

    @Test func `that its reader removed is in no list, and one with a license is`() async throws {
        let test = try await TestService(with: .licensing)
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let session = try await test.service.accounts.issueSession(for: alice)
        let number = try await test.service.authority.revocationNumber()
        let bare = try await TestPlayer().personalized(by: test, token: session)
        func remove(_ player: TestPlayer.Personalized) async throws -> Int {
            let headers: HTTPFields = ["Authorization": "Bearer \(session)"]
            return try await test.send(.delete, "/v1/players/\(player.id)", headers: headers).status
        }
        #expect(try await remove(bare) == 204)
        #expect(try await test.service.players.find(bare.id).revokedAt != nil)
        #expect(try await test.service.authority.revocationNumber() == number, "the list is not signed again")
        #expect(try await license(bare, test) == nil)
        #expect(try await bare.player.personalize(test).answer["code"]?.string == "personalization.revoked")
        let reader = try await TestPlayer().personalized(by: test, token: session)
        #expect(try await license(reader, test) != nil)
        #expect(try await remove(reader) == 204)
        let listed = try await Revocations(test.service.authority.revocations(), keys: reader.keys)
        #expect(listed.players == [reader.id] && listed.serials.isEmpty)
    }

    @Test func `cannot push licenses from the list of what is revoked`() async throws {
        let test = try await TestService(with: .licensing)
        try await test.service.database.write { transaction in
            for number in 0..<5 {
                try RevokedRight.license.revoke("license-\(number)", until: nil, at: test.clock.now, in: transaction)
            }
        }
        for _ in 0..<4 {
            let player = try await guest(test, from: "192.0.2.1")
            _ = try await test.service.players.change(player.id, .revoke, by: .operator)
        }
        func listed(_ limit: Int) async throws -> (serials: Int, rights: Int) {
            let now = test.clock.now
            let found = try await test.service.database.read { try PlayerStore.revoked(at: now, limit: limit, in: $0) }
            return (found.serials.count, found.rights.count)
        }
        #expect(try await listed(6) == (4, 2), "staff revoked the players")
        #expect(try await listed(8) == (4, 4))
        #expect(try await listed(20) == (4, 5))
    }
}

@Suite(.onBothDatabases) struct `The name of a device` {
    @Test func `has no controls, separators of lines and controls of the direction`() async throws {
        let test = try await TestService(with: .licensing)
        let player = TestPlayer()
        let text = try await player.request(
            nonce: try await player.challenge(of: test),
            at: test.clock.now,
            app: "\u{202e}redaeR\u{2069}",
            name: " my\u{2028} phone\u{0085}\u{061c}\u{7} "
        )
        let answer = try await player.send(text, to: test)
        let known = try await test.service.players.find(try PersonalizationResponse(answer.answer).player)
        #expect(known.app == "redaeR" && known.name == "my phone")
    }
}
