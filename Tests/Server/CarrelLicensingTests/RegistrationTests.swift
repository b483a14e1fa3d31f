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

@Suite(.onBothDatabases) struct `A registration` {
    /// A token of registration or deregistration.
    func token(
        _ test: TestService,
        _ kind: BusinessRules.Kind = .registration,
        user: String = "alice",
        redemptions: Int = 1
    ) async throws -> String {
        var rules = BusinessRules(kind: kind, expiresAt: test.clock.now + .seconds(2 * 86_400))
        rules.user = BusinessRules.User(id: user, key: .random(count: 16))
        rules.redemptions = redemptions
        return try await test.service.businessTokens.seal(rules, at: test.clock.now).text
    }

    func send(
        _ token: String?,
        by player: TestPlayer.Personalized,
        _ session: KeyRequest.Session = .register,
        to test: TestService
    ) async throws -> (status: Int, json: JSON) {
        let (text, _) = try await player.seal(try await player.request(session, of: test, token: token), at: test.clock.now)
        return try await send(text, to: test)
    }

    func send(
        _ text: String,
        to test: TestService,
        as type: String = "application/jose"
    ) async throws -> (status: Int, json: JSON) {
        let request = HTTPRequest(
            .post,
            "/v1/registration",
            headers: ["Content-Type": type],
            body: Array(text.utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        let response = await test.service.router.respond(to: request)
        let body = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(body.rawSpan))
    }

    @Test func `joins a player to the user of its token, and a deregistration takes it away`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = try await TestPlayer().personalized(by: test)
        let text = try await token(test)
        let answer = try await send(text, by: player, to: test)
        let alice = try #require(try await test.service.accounts.find(named: "alice"))
        #expect(answer.status == 200 && answer.json["user"] == "alice" && answer.json["account"]?.string == alice.id)
        let linked = try await test.service.players.find(player.id)
        #expect(linked.account == alice.id && linked.device == answer.json["device"]?.string && linked.device != nil)
        #expect(linked.linkExpiresAt == linked.expiresAt)
        #expect(answer.json["linkExpiresAt"]?.string == linked.expiresAt.description)
        #expect(try await send(text, by: player, to: test).status == 200, "an answer that was lost")
        // a license is for the user then, and ends with the registration
        let tokens = `A token redeemed for a license`()
        let request = try await player.request(.persist, of: test, token: try await tokens.token(test))
        let license = try #require(try await player.send(request, to: test).license)
        let gone = try await send(try await token(test, .deregistration), by: player, .deregister, to: test)
        #expect(gone.status == 200 && gone.json["account"] == .null && gone.json["device"] == .null)
        let free = try await test.service.players.find(player.id)
        #expect(free.account == nil && free.device == nil && free.revokedAt == nil)
        let row = try #require(try await test.service.licenses.list(of: player.id, after: nil, limit: 10).first)
        #expect(row.endedBy == "deregistration")
        let list = try Revocations(try await test.service.authority.revocations(), keys: player.keys)
        #expect(list.licenses == [license.id])
        let again = try await send(text, by: player, to: test)
        #expect(again.json["code"] == "license.token-used", "the old token does not undo it")
        #expect(try await send(try await token(test), by: player, to: test).status == 200)
        let audited = Set(try await test.service.audit.list(AuditFilter()).filter { $0.subject == player.id }.map(\.action))
        #expect(audited.isSuperset(of: ["player.register", "player.deregister"]))
    }

    @Test func `takes a slot of the user's devices, which a deregistration frees`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery]) { $0.subscription.devices.limit = 1 }
        let (first, second) = (try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test))
        #expect(try await send(try await token(test), by: first, to: test).status == 200)
        let refused = try await token(test)
        let answer = try await send(refused, by: second, to: test)
        #expect(answer.status == 409 && answer.json["code"] == "personalization.device-limit")
        #expect(answer.json["fault"] == "device-limit")
        let leaving = try await token(test, .deregistration)
        #expect(try await send(leaving, by: first, .deregister, to: test).status == 200)
        #expect(try await send(leaving, by: first, .deregister, to: test).status == 200, "an answer that was lost")
        // slots change hands as often in a day as there are
        #expect(try await send(refused, by: second, to: test).json["code"] == "personalization.device-limit")
        test.clock.advance(by: .seconds(86_400))
        #expect(try await send(refused, by: second, to: test).status == 200, "a refusal does not use the token")
    }

    @Test func `that ends leaves the slot of a signed-in app`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let alice = try await test.service.desk.create("alice", password: "correct horse battery", by: .operator)
        let path = "/sign_in/?username=alice&password=correct+horse+battery&uuid=phone"
        let answer = String(decoding: try await test.send(.get, path).body, as: UTF8.self)
        let session = String(try #require(answer.firstMatch(of: /<token>([^<]*)</)).1)
        func slots() async throws -> Int {
            try await test.service.devices.list(of: alice).count { $0.freedAt == nil }
        }
        for change in ["deregister", "revoke"] {
            let player = try await TestPlayer().personalized(by: test, token: session)
            #expect(try await test.service.players.find(player.id).device != nil)
            #expect(try await slots() == 1)
            if change == "revoke" {
                _ = try await test.service.players.change(player.id, .revoke, by: .operator)
            } else {
                let leaving = try await token(test, .deregistration)
                #expect(try await send(leaving, by: player, .deregister, to: test).status == 200)
            }
            #expect(try await slots() == 1, "the app of the session is signed in still")
        }
    }

    @Test func `of another user, player, kind or service is refused`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let (player, other) = (try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test))
        func code(_ text: String?, _ session: KeyRequest.Session = .register) async throws -> String? {
            try await send(text, by: player, session, to: test).json["code"]?.string
        }
        #expect(try await code(nil) == "license.token")
        #expect(try await code("AAAA") == "license.token")
        #expect(try await code(try await token(test, .deregistration)) == "license.token")
        #expect(try await code(try await token(test), .deregister) == "license.token")
        let license = try await `A token redeemed for a license`().token(test)
        #expect(try await code(license) == "license.token")
        #expect(try await code(try await token(try await TestService(with: [.licensing, .editionDelivery]))) == "license.token")
        #expect(try await code(license, .persist) == "license.request")
        let text = try await token(test)
        #expect(try await send(text, by: other, to: test).status == 200)
        #expect(try await code(text) == "license.token-used")
        #expect(try await code(try await token(test, user: "bob")) == nil)
        #expect(try await code(try await token(test)) == "personalization.linked")
        #expect(try await code(try await token(test, .deregistration), .deregister) == "registration.user")
        let asLicense = try await player.request(.register, of: test, token: try await token(test))
        #expect(try await player.send(asLicense, to: test).problem == "license.request")
        let expired = try await token(test)
        test.clock.advance(by: .seconds(2 * 86_400))
        #expect(try await code(expired) == "license.token-expired")
        #expect(try await send("{}", to: test).status == 400)
        #expect(try await send("{}", to: test, as: "application/json").status == 415)
        let denied = try await test.service.audit.list(AuditFilter()).filter { $0.outcome == .refused }.map(\.action)
        #expect(Set(denied) == ["license.deny"])
        let path = "/admin/v1/players/\(player.id)/denials"
        let listed = try await test.call(.get, path, peer: .local(userID: 0)).json["denials"]?.array ?? []
        let codes = Set(listed.compactMap { $0["code"]?.string })
        #expect(codes.isSuperset(of: ["personalization.linked", "registration.user", "license.token-used"]))
    }

    @Test func `is refused to a suspended account, and without a link there is nothing to remove`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery])
        let player = try await TestPlayer().personalized(by: test)
        let leaving = try await token(test, .deregistration)
        #expect(try await send(leaving, by: player, .deregister, to: test).json["account"] == .null)
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let body: JSON = ["suspended": true]
        _ = try await test.send(.patch, "/admin/v1/accounts/\(alice.id)", body: body, peer: .local(userID: 0))
        let answer = try await send(try await token(test), by: player, to: test)
        #expect(answer.status == 403 && answer.json["code"] == "personalization.account")
    }

    @Test func `has its place in the configuration of action tokens`() async throws {
        let test = try await TestService(with: [.licensing, .editionDelivery]) {
            $0.stream.publicURL = "https://books.example.org"
        }
        let answer = try await test.send(.get, "/hms/bb/configuration")
        let body = answer.body
        let configuration = try BroadbandConfiguration(parsing: body.rawSpan)
        #expect(configuration.registration == "https://books.example.org/v1/registration")
        #expect(configuration.deregistration == configuration.registration)
    }
}
