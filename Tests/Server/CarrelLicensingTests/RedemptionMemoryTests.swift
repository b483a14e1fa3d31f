// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
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
import CarrelStore
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `A redemption whose license was deleted` {
    private let tokens = `A token redeemed for a license`()
    private static let memory = Duration.seconds(91 * 86_400)
    private static let licenses = SQL("SELECT COUNT(*) FROM licenses")

    private func licenseCount(_ test: TestService) async throws -> Int64? {
        try await test.service.database.read { try $0.row(Self.licenses)?.integer(0) }
    }

    private func clean(_ test: TestService, after time: Duration = memory) async throws {
        test.clock.advance(by: time)
        while try await test.service.housekeeping.run() > 0 {}
    }

    /// The certificate ends after 90 days: the player comes back with another.
    private func back(_ player: TestPlayer.Personalized, _ test: TestService) async throws -> TestPlayer.Personalized {
        let again = try await player.player.personalized(by: test)
        #expect(again.id == player.id)
        return again
    }

    @Test func `gives the same player another license of a stream`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let end = test.clock.now + .seconds(300 * 86_400)
        let token = try await tokens.token(test, kind: .ms3) { $0.expiresAt = end }
        let first = try #require(
            try await player.send(try await player.request(.stream, of: test, token: token), to: test).license
        )
        try await clean(test)
        #expect(try await licenseCount(test) == 0)
        let same = try await back(player, test)
        let second = try await same.send(try await same.request(.stream, of: test, token: token), to: test)
        #expect(second.license != nil && second.license?.id != first.id, "\(second.problem ?? "")")
        let other = try await TestPlayer().personalized(by: test)
        let used = try await other.send(try await other.request(.stream, of: test, token: token), to: test)
        #expect(used.problem == "license.token-used")
    }

    @Test func `of a message that may be used again gives another license`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let text = try portal.message()
        let first = try #require(try await portal.redeem(text, by: player, as: .stream).license)
        try await clean(portal.test)
        let same = try await back(player, portal.test)
        let second = try await portal.redeem(text, by: same, as: .stream)
        #expect(second.license != nil && second.license?.id != first.id, "\(second.problem ?? "")")
    }

    @Test(arguments: [true, false])
    func `stays revoked by staff, and given back`(isRevoked: Bool) async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let player = try await TestPlayer().personalized(by: test)
        let end = test.clock.now + .seconds(300 * 86_400)
        let token = try await tokens.token(test) { $0.expiresAt = end }
        let license = try #require(
            try await player.send(try await player.request(.persist, of: test, token: token), to: test).license
        )
        if isRevoked {
            _ = try await test.service.licenses.revoke(license.id, by: .operator)
        } else {
            var release = try await player.request(.release, of: test)
            release.license = license.id
            #expect(try await player.send(release, to: test).problem == nil)
        }
        try await clean(test)
        #expect(try await licenseCount(test) == 0)
        let same = try await back(player, test)
        let again = try await same.send(try await same.request(.persist, of: test, token: token), to: test)
        #expect(again.problem == "license.ended")
    }

    @Test func `of a rental that is over gives no second one, and the license is deleted`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let text = try portal.message(id: "rental") { ($0.duration, $0.access.preventsReuse) = (3600, true) }
        #expect(try await portal.redeem(text, by: player).license != nil)
        try await clean(portal.test)
        #expect(try await licenseCount(portal.test) == 0, "a kept license has an end too")
        let same = try await back(player, portal.test)
        #expect(try await portal.redeem(text, by: same).problem == "license.ended")
    }
}

@Suite(.onBothDatabases) struct `A license message with a limit of streams` {
    @Test func `has it also for streams that lapsed`() async throws {
        let portal = try await Portal()
        let text = try portal.message { $0.access.concurrencyLimit = 1 }
        var players: [TestPlayer.Personalized] = []
        for _ in 0..<3 {
            let player = try await TestPlayer().personalized(by: portal.test)
            players.append(player)
            #expect(try await portal.redeem(text, by: player, as: .stream).license != nil)
            portal.test.clock.advance(by: .seconds(360))
        }
        var playing = 0
        for player in players where try await portal.redeem(text, by: player, as: .stream).license != nil { playing += 1 }
        #expect(playing == 1)
    }
}

@Suite(.onBothDatabases) struct `A license message of a portal` {
    @Test func `stays revoked for the store and for now, also when its license was given back`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let text = try portal.message()
        let kept = try #require(try await portal.redeem(text, by: player).license)
        _ = try await portal.test.service.licenses.revoke(kept.id, by: .operator)
        #expect(try await portal.redeem(text, by: player).problem == "license.ended")
        #expect(try await portal.redeem(text, by: player, as: .stream).problem == "license.ended")
        let other = try portal.message(id: "other")
        let stream = try #require(try await portal.redeem(other, by: player, as: .stream).license)
        var release = try await player.request(.release, of: portal.test)
        release.license = stream.id
        #expect(try await player.send(release, to: portal.test).problem == nil)
        _ = try await portal.test.service.licenses.revoke(stream.id, by: .operator)
        #expect(try await portal.redeem(other, by: player, as: .stream).problem == "license.ended")
        #expect(try await portal.redeem(other, by: player).problem == "license.ended")
    }

    @Test func `has records and audit entries of its own content, and its id is not written down`() async throws {
        let portal = try await Portal()
        let player = try await TestPlayer().personalized(by: portal.test)
        let text = try portal.message(id: "Ada Lovelace") { $0.access.preventsReuse = true }
        for bad in ["urn:carrel:title:1", "URN:Carrel:title:1", "two words", "line\nfeed"] {
            #expect(try await portal.redeem(text, by: player) { $0.contentID = bad }.problem == "license.content", "\(bad)")
        }
        let license = try #require(try await portal.redeem(text, by: player) { $0.contentID = "cid:mine" }.license)
        #expect(license.contentID == "cid:mine")
        var renewal = try await player.request(.renew, of: portal.test)
        (renewal.license, renewal.sequence) = (license.id, license.sequence)
        #expect(try await player.send(renewal, to: portal.test).problem == nil)
        _ = try await portal.test.service.licenses.revoke(license.id, by: .operator)
        let own = Portal.contents[0].id.contentID
        let record = try #require(try await portal.test.service.licenses.redemptions(cookie: nil, start: 0, count: 2).first)
        #expect(record.contentID == own)
        #expect(!record.token.contains("Ada") && record.token.utf8.count == 97, "the key's id, and a digest")
        let entries = try await portal.test.service.audit.list(AuditFilter()).filter {
            $0.action.hasPrefix("license.") && $0.outcome != .refused
        }
        #expect(entries.count == 3 && entries.allSatisfy { $0.reason == own }, "\(entries.map(\.reason))")
    }
}

@Suite(.onBothDatabases) struct `The list of what is revoked` {
    @Test func `has the newest entries where there are too many, and loses licenses that ended`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let now = test.clock.now
        let player = try await TestPlayer().personalized(by: test)
        _ = try await test.service.players.change(player.id, .revoke, by: .operator)
        try await test.service.database.write { transaction in
            for number in 0..<5 {
                // the newest has the first id
                let end = number == 4 ? now + .seconds(86_400) : nil
                let id = "license \(9 - number)"
                try RevokedRight.license.revoke(id, until: end, at: now + .seconds(number), in: transaction)
            }
        }
        let found = try await test.service.database.read { try PlayerStore.revoked(at: now, limit: 4, in: $0) }
        #expect(found.serials.count == 1 && found.rights.map(\.id) == ["license 5", "license 6", "license 7"])
        test.clock.advance(by: .seconds(86_400 + 31 * 86_400))
        _ = try await test.service.housekeeping.run()
        let later = test.clock.now
        let left = try await test.service.database.read { try PlayerStore.revoked(at: later, limit: 9, in: $0) }
        #expect(left.rights.map(\.id) == ["license 6", "license 7", "license 8", "license 9"])
    }

    @Test func `names the devices of a deleted person that keep licenses`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let player = try await TestPlayer().personalized(by: test)
        let account = alice.id
        let token = try await `A token redeemed for a license`().token(test) { $0.account = account }
        let license = try #require(
            try await player.send(try await player.request(.persist, of: test, token: token), to: test).license
        )
        try await test.service.erasure.erase(alice.id, by: .operator)
        let list = try Revocations(try await test.service.authority.revocations(), keys: player.keys)
        #expect(list.players == [player.id] && list.licenses.isEmpty, "\(license.id) is on a device that is listed")
        #expect(try await test.service.licenses.list(of: player.id, after: nil, limit: 9).isEmpty)
        let again = try await player.send(try await player.request(.persist, of: test, token: token), to: test)
        #expect(again.problem == "personalization.revoked")
    }
}

struct `An explanation of a denial` {
    @Test func `is there for every code that licensing refuses with`() async throws {
        let sources = ["CarrelLicensing", "CarrelAuthority"].map { "\(Repository.path)/Sources/Server/\($0)" }
        let found = try await checkProcess(
            ["grep", "-rhoE", "\"(license|registration|personalization)\\.[a-z-]+\"", "--include=*.swift"] + sources
        )
        let codes = Set(found.split(separator: "\n").map { String($0.dropFirst().dropLast()) })
        #expect(codes.count > 30)
        let unexplained = codes.subtracting(LicenseDenial.explained).subtracting(Self.notRecorded)
        #expect(unexplained.isEmpty, "\(unexplained.sorted())")
    }

    /// Audit actions, and codes that no verified player gets in a denial that is written down.
    private static let notRecorded: Set<String> = [
        "license.condition", "license.deny", "license.evict", "license.revoke", "license.system", "license.throttled",
        "personalization.fingerprint", "personalization.full", "personalization.key", "personalization.nonce",
        "personalization.old", "personalization.rejected", "personalization.throttled",
    ]
}
