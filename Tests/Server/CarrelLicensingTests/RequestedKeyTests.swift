// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `A request that names keys` {
    private static let ids = ["audio", "sd", "hd"].map { KeyID(label: $0) }

    /// A token for content with three keys.
    private func token(_ test: TestService) async throws -> String {
        var rules = BusinessRules(kind: .license, expiresAt: test.clock.now + .seconds(86_400))
        rules.contents = Self.ids.map { .init(contentID: "cid:film", keyID: $0, key: Secret(Array(0..<16))) }
        rules.rights = .buyToOwn
        rules.isStorable = true
        return try await test.service.businessTokens.seal(rules, at: test.clock.now).text
    }

    private func problem(
        _ player: TestPlayer.Personalized,
        _ request: KeyRequest,
        to test: TestService
    ) async throws -> (status: Int, problem: JSON) {
        let sealed = try await player.seal(request, at: test.clock.now)
        let (status, problem) = try await test.post(sealed.text, to: "/v1/license")
        return (status, problem)
    }

    @Test func `gets these keys alone, and a repeat gets others of the same license`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let token = try await token(test)
        func redeem(_ ids: [KeyID]) async throws -> (license: License?, problem: String?) {
            var request = try await player.request(.persist, of: test, token: token)
            request.keyIDs = ids
            return try await player.send(request, to: test)
        }
        let first = try #require(try await redeem([Self.ids[1]]).license)
        #expect(first.keys.map(\.id) == [Self.ids[1]])
        // unknown ids are left out
        let second = try #require(try await redeem([Self.ids[0], KeyID(label: "other"), Self.ids[2]]).license)
        #expect(second.id == first.id && second.keys.map(\.id) == [Self.ids[0], Self.ids[2]])
        #expect(try await redeem([]).license?.keys.count == 3)
        // a renewal has the requested keys, too
        var renewal = try await player.request(.renew, of: test)
        (renewal.license, renewal.sequence, renewal.keyIDs) = (first.id, first.sequence, [Self.ids[2]])
        #expect(try await player.send(renewal, to: test).license?.keys.map(\.id) == [Self.ids[2]])
    }

    @Test func `of which the license has none is denied with their number, and redeems nothing`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let token = try await token(test)
        var request = try await player.request(.persist, of: test, token: token)
        request.keyIDs = [KeyID(label: "one"), KeyID(label: "two")]
        let (status, problem) = try await problem(player, request, to: test)
        #expect(status == 404 && problem["code"] == "license.key")
        #expect(problem["detail"]?.string == "the license has none of the 2 requested keys")
        let issued = try await test.service.licenses.list(of: player.id, after: nil, limit: 10)
        #expect(issued.isEmpty)
        // another player may still redeem it
        let other = try await TestPlayer().personalized(by: test)
        #expect(try await other.send(try await other.request(.persist, of: test, token: token), to: test).license != nil)
    }

    @Test func `that a message does not list is denied with their number`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        var request = try await player.request(.persist, of: portal.test, token: try portal.message())
        request.keyIDs = [Portal.contents[0].id, KeyID(label: "other")]
        let (status, problem) = try await problem(player, request, to: portal.test)
        #expect(status == 403 && problem["code"] == "license.content")
        #expect(problem["detail"]?.string == "the license message does not list 1 of the 2 requested keys")
    }
}
