// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `A list of licenses` {
    private let tokens = `A token redeemed for a license`()
    private let local = Peer.local(userID: 0)

    /// A player of an account with a license, and the reader's session.
    private func reader(_ test: TestService, _ name: String) async throws -> (
        account: Account, session: HTTPFields, player: TestPlayer.Personalized, license: String
    ) {
        let account = try await test.service.accounts.findOrCreate(named: name)
        let token = try await test.service.accounts.issueSession(for: account)
        let player = try await TestPlayer().personalized(by: test, token: token)
        let text = try await tokens.token(test, kind: .ms3) { $0.cookie = "order of \(name)" }
        let license = try #require(
            try await player.send(try await player.request(.stream, of: test, token: text), to: test).license
        )
        return (account, ["Authorization": "Bearer \(token)"], player, license.id)
    }

    private func ids(_ json: JSON, _ list: String, _ member: String) -> [String] {
        (json[list]?.array ?? []).compactMap { $0[member]?.string }
    }

    @Test func `shows readers their own, page by page`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let alice = try await reader(test, "alice")
        _ = try await reader(test, "bob")
        let own = try await test.call(.get, "/v1/licenses", headers: alice.session)
        #expect(own.status == 200 && ids(own.json, "licenses", "id") == [alice.license])
        #expect(try await test.call(.get, "/v1/licenses").status == 401)
        test.clock.advance(by: .seconds(1))
        let text = try await tokens.token(test, kind: .ms3)
        let second = try await alice.player.send(
            try await alice.player.request(.stream, of: test, token: text),
            to: test
        )
        let first = try await test.call(.get, "/v1/licenses?limit=1", headers: alice.session).json
        #expect(ids(first, "licenses", "id") == [alice.license])
        let next = try #require(first["next"]?.string)
        let rest = try await test.call(.get, "/v1/licenses?after=\(next)", headers: alice.session).json
        #expect(ids(rest, "licenses", "id") == [second.license?.id])
    }

    @Test func `of an unknown player is none, and one of a player without records is empty`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        for path in ["players/%/redemptions", "players/%/denials", "licenses?player=%"] {
            let known = try await test.call(.get, "/admin/v1/\(path.replacing("%", with: player.id))", peer: local)
            #expect(known.status == 200 && known.json.object?.count == 1)
            let unknown = try await test.call(.get, "/admin/v1/\(path.replacing("%", with: "none"))", peer: local)
            #expect(unknown.status == 404 && unknown.json["detail"] == "there is no such player")
        }
        // redemptions outlive a player without an account, whose row and licenses go with its certificate
        let text = try await tokens.token(test) { $0.expiresAt = test.clock.now + .seconds(400 * 86_400) }
        let request = try await player.request(.persist, of: test, token: text)
        #expect(try await player.send(request, to: test).license != nil)
        test.clock.advance(by: .seconds(190 * 86_400))
        while try await test.service.housekeeping.run() > 0 {}
        #expect(try await test.call(.get, "/admin/v1/players/\(player.id)", peer: local).status == 404)
        #expect(try await test.call(.get, "/admin/v1/players/\(player.id)/redemptions", peer: local).status == 200)
        #expect(try await test.call(.get, "/admin/v1/licenses?player=\(player.id)", peer: local).status == 404)
    }

    @Test func `shows staff a player's redemptions and denials, and an account's streams`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let alice = try await reader(test, "alice")
        let bob = try await reader(test, "bob")
        let path = "/admin/v1/players/\(alice.player.id)"
        let redeemed = try await test.call(.get, "\(path)/redemptions", peer: local).json
        #expect(ids(redeemed, "redemptions", "license") == [alice.license])
        #expect(ids(redeemed, "redemptions", "cookie") == ["order of alice"])
        for player in [alice.player, bob.player] {
            var request = try await player.request(.renew, of: test)
            (request.license, request.sequence) = ("none", 1)
            #expect(try await player.send(request, to: test).problem == "license.unknown")
        }
        test.clock.advance(by: .seconds(120))
        let end = test.clock.now + .seconds(1)
        let expired = try await tokens.token(test) { $0.expiresAt = end }
        test.clock.advance(by: .seconds(2))
        let late = try await alice.player.request(.persist, of: test, token: expired)
        #expect(try await alice.player.send(late, to: test).problem == "license.token-expired")
        let denials = try await test.call(.get, "\(path)/denials", peer: local).json
        #expect(
            ids(denials, "denials", "code") == ["license.token-expired", "license.unknown"],
            "the newest first, and only its own"
        )
        #expect(ids(denials, "denials", "explanation").allSatisfy { !$0.contains("no explanation") })
        let streams = try await test.call(.get, "/admin/v1/accounts/\(alice.account.id)/streams", peer: local).json
        #expect(streams == ["held": 1, "limit": 3, "retryAfter": .null])
        for path in ["\(path)/redemptions", "\(path)/denials", "/admin/v1/accounts/\(alice.account.id)/streams"] {
            #expect(try await test.call(.get, path).status == 401, "\(path)")
            #expect(try await test.call(.get, path, headers: alice.session).status == 401, "\(path)")
        }
    }
}
