// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `The secrets of tokens` {
    private static let local = Peer.local(userID: 0)

    private func made(_ test: TestService) async throws -> [String] {
        let answer = try await test.call(
            .post,
            "/admin/v1/tokens",
            body: ["title": .string(test.title.id), "redemptions": 10, "serviceURL": "https://books.example.org"],
            peer: Self.local
        )
        let bytes = Array(try #require(answer.json["bb"]?.string).utf8)
        let action = try ActionToken(parsing: bytes.rawSpan)
        return [Base64URL.encode(action.businessToken), try #require(answer.json["jwt"]?.string)]
    }

    private func redeem(_ token: String, _ test: TestService) async throws -> String? {
        let player = try await TestPlayer().personalized(by: test)
        return try await player.send(try await player.request(.persist, of: test, token: token), to: test).problem
    }

    private func rotate(_ test: TestService, atOnce: Bool) async throws -> JSON {
        let answer = try await test.call(.post, "/admin/v1/token-key/rotate\(atOnce ? "?atOnce=true" : "")", peer: Self.local)
        #expect(answer.status == 200)
        return answer.json
    }

    @Test func `are replaced, and tokens from before are valid until their end`() async throws {
        let test = try await TestService(.silence, with: .licensing)
        let before = try await made(test)
        let first = try await rotate(test, atOnce: false)
        #expect(first["key"]?.int == 2 && first["forgotten"]?.int == 0)
        let meanwhile = try await made(test)
        test.clock.advance(by: .seconds(200))
        let after = try await made(test)
        #expect(try SealedToken(after[0]).bytes[1] == 2 && SealedToken(meanwhile[0]).bytes[1] == 1)
        for token in before + meanwhile + after { #expect(try await redeem(token, test) == nil) }
        test.clock.advance(by: .seconds(TokenRequest.maxLifetime - 30))
        #expect(try await rotate(test, atOnce: false)["forgotten"]?.int == 0, "a token of the last minute could be alive")
        test.clock.advance(by: .seconds(200))
        #expect(try await rotate(test, atOnce: false)["forgotten"]?.int == 1)
    }

    @Test func `are replaced immediately, which ends all tokens`() async throws {
        let test = try await TestService(.silence, with: .licensing)
        let before = try await made(test)
        #expect(try await rotate(test, atOnce: true)["forgotten"]?.int == 1)
        for token in before { #expect(try await redeem(token, test) == "license.token") }
        for token in try await made(test) { #expect(try await redeem(token, test) == nil) }
    }

    @Test func `are replaced by those alone that may rotate keys`() async throws {
        let test = try await TestService(with: .licensing)
        let (_, text) = try await test.service.accounts.createServiceKey(name: "portal", role: .service, by: .operator)
        let answer = try await test.send(.post, "/admin/v1/token-key/rotate", headers: ["Authorization": "Bearer \(text)"])
        #expect(answer.status == 403)
    }
}
