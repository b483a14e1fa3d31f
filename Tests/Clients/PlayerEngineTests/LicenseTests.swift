// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAuthority
import CarrelAudit
import CarrelHTTPServer
import CarrelBytes
import CarrelCrypto
import CarrelLicensing
import CarrelPlayerTesting
@_spi(Extended) import CarrelPlayer
import CarrelRights
import CarrelTokens
import CarrelServer
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelVault
import Glibc
import Testing

struct `A license on a device` {
    @Test func `is redeemed, found, evaluated, and gives its key to a session`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let before = try await engine.check("cid:film")
        #expect(before.result.reason == .noLicense && before.license == nil)
        let redeemed = try await engine.process(try await world.action(), tag: "shelf", priority: 3)
        #expect(redeemed.contentID == "cid:film" && redeemed.isStored && redeemed.until == nil)
        for content in ["cid:film", "urn:marlin:kid:\(PlayerWorld.kid.hex)"] {
            let decision = try await engine.check(content)
            #expect(decision.result.isGranted && decision.license == redeemed.license && decision.result.until == nil)
        }
        let session = try await engine.begin("cid:film")
        #expect(try await session.key(PlayerWorld.kid) == PlayerWorld.key)
        #expect(try await session.contentKey(PlayerWorld.kid.hex) == Array(0..<16))
        let unknown = await #expect(throws: PlayerError.self) { try await session.contentKey(KeyID(label: "other").hex) }
        #expect(unknown?.code == .denied)
        await session.stop()
        let stopped = await #expect(throws: PlayerError.self) { try await session.key(PlayerWorld.kid) }
        #expect(stopped?.code == .stopped)
        let again = try await world.restarted(engine)
        let stored = try #require(try await again.licenses().license(redeemed.license))
        #expect(stored.plays == 1 && stored.firstPlayedAt != nil && stored.tag == "shelf" && stored.priority == 3)
        #expect(stored.contentIDs == ["cid:film", "urn:marlin:kid:\(PlayerWorld.kid.hex)"])
        #expect(try await again.check("cid:film").result.isGranted)
        await again.shutdown()
    }

    @Test func `is the same after the token is redeemed again, and its plays stay`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let token = try await world.action()
        let first = try await engine.process(token)
        _ = try await engine.begin("cid:film")
        let second = try await engine.process(token)
        #expect(first.license == second.license)
        #expect(try await engine.licenses().license(first.license)?.plays == 1)
        #expect(try await engine.licenses().count() == 1)
    }

    @Test func `of a rental ends by its first play, whatever the clock shows afterwards`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let end = world.clock.now.wholeSecond + .seconds(30 * 86_400)
        let redeemed = try await engine.process(
            try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 7200) }
        )
        #expect(redeemed.until == end)
        world.wait(.seconds(3600))
        let session = try await engine.begin("cid:film")
        let until = try #require(session.result.until)
        #expect(abs(until.milliseconds - (world.clock.now + .seconds(7200)).milliseconds) <= 1000)
        world.wait(.seconds(7000))
        _ = try await session.key(PlayerWorld.kid)
        world.wait(.seconds(300))
        let ended = await #expect(throws: PlayerError.self) { try await session.key(PlayerWorld.kid) }
        #expect(ended?.code == .denied && ended?.reason == .expiredPlayback)
        // the wall clock is set back, first in the same boot, then after another
        world.clock.advance(by: .seconds(-7300))
        #expect(try await engine.check("cid:film").result.reason == .expiredPlayback)
        let again = try await world.restarted(engine)
        world.host.reboot()
        #expect(try await again.check("cid:film").result.reason == .clockRollback)
        let expunge = await #expect(throws: PlayerError.self) { try await again.expungeExpiredLicenses() }
        #expect(expunge?.code == .clock)
        world.clock.advance(by: .seconds(7300))
        #expect(try await again.check("cid:film").result.reason == .expiredPlayback)
        #expect(try await again.expungeExpiredLicenses() == 1)
        #expect(try await again.check("cid:film").result.reason == .noLicense)
    }

    @Test func `is corrected by the service's time after the clock was wrong`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let end = world.clock.now.wholeSecond + .seconds(86_400)
        try await engine.process(try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 7200) })
        world.host.reboot()
        // a year ahead: nothing begins by such a clock, and the mark does not move
        world.clock.advance(by: .seconds(365 * 86_400))
        #expect(try await engine.trustedTime().certainty == "far-ahead")
        world.clock.advance(by: .seconds(-365 * 86_400))
        #expect(try await engine.trustedTime().certainty == "estimated")
        #expect(try await engine.check("cid:film").result.isGranted)
        #expect(try await engine.updateTrustedTime().certainty == "signed")
    }

    @Test func `is renewed with a larger number, and an older answer is refused`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action())
        let old = try #require(try await engine.licenses().license(redeemed.license))
        _ = try await engine.begin("cid:film")
        let renewed = try await engine.renew(redeemed.license)
        #expect(renewed.data != old.data && renewed.plays == 1 && renewed.reportedPlays == 1)
        let refused = await #expect(throws: PlayerError.self) { try await engine.addLicense(old.data) }
        #expect(refused?.code == .rejected)
        try await engine.addLicense(renewed.data)
        _ = try await engine.begin("cid:film")
        #expect(try await engine.uploadPlays() == 1)
        #expect(try await engine.licenses().license(redeemed.license)?.reportedPlays == 2)
        #expect(try await engine.uploadPlays() == 0)
        let unknown = await #expect(throws: PlayerError.self) { try await engine.renew("unknown") }
        #expect(unknown?.code == .noLicense)
    }

    @Test func `removes a returned license immediately, and notifies the service at the next contact`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action())
        await world.server.shutdown(grace: .seconds(1))
        #expect(try await engine.release(redeemed.license) == false)
        #expect(try await engine.check("cid:film").result.reason == .noLicense)
        #expect(try await world.service.licenses.list(of: nil, after: nil, limit: 10).first?.endedAt == nil)
        try world.answer()
        try await engine.updateSecurityData()
        #expect(try await world.service.licenses.list(of: nil, after: nil, limit: 10).first?.endedBy == "release")
        let gone = await #expect(throws: PlayerError.self) { try await engine.release(redeemed.license) }
        #expect(gone?.code == .noLicense)
    }

    @Test func `that was given back does not come back, by its token or by a copy`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let token = try await world.action()
        let redeemed = try await engine.process(token)
        let copy = try #require(try await engine.licenses().license(redeemed.license)?.data)
        await world.server.shutdown(grace: .seconds(1))
        #expect(try await engine.release(redeemed.license) == false)
        let copied = await #expect(throws: PlayerError.self) { try await engine.addLicense(copy) }
        #expect(copied?.code == .ended)
        try world.answer()
        let again = await #expect(throws: PlayerError.self) { try await engine.process(token) }
        #expect(again?.code == .ended)
        #expect(try await engine.check("cid:film").result.reason == .noLicense)
        #expect(try await engine.licenses().count() == 0)
    }

    @Test func `that was revoked is named once the list is here, and removed with those that have ended`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let revoked = try await engine.process(try await world.action()).license
        let kept = try await engine.process(try await world.action()).license
        let end = world.clock.now.wholeSecond + .seconds(3600)
        try await engine.process(try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 60) })
        _ = try await world.service.licenses.revoke(revoked, by: .operator)
        world.wait(.seconds(120))
        #expect(try await engine.revokedLicenses(of: [revoked, kept]).isEmpty, "the device does not know yet")
        #expect(try await engine.expungeExpiredLicenses() == 0)
        try await engine.updateSecurityData()
        #expect(try await engine.revokedLicenses(of: [revoked, kept, "x"]) == [revoked])
        #expect(try await engine.expungeExpiredLicenses() == 1)
        world.wait(.seconds(3600))
        #expect(try await engine.expungeExpiredLicenses() == 1)
        let left = try await engine.licenses().licenses().map(\.id)
        #expect(left == [kept])
    }

    @Test func `continues a removed license from its first play when it is issued again`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let end = world.clock.now.wholeSecond + .seconds(30 * 86_400)
        let token = try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 7200) }
        let redeemed = try await engine.process(token)
        let copy = try #require(try await engine.licenses().license(redeemed.license)?.data)
        _ = try await engine.begin("cid:film")
        try await engine.removeLicense(redeemed.license)
        try await engine.addLicense(copy)
        let stored = try #require(try await engine.licenses().license(redeemed.license))
        #expect(stored.plays == 1 && stored.firstPlayedAt != nil)
        world.wait(.seconds(7300))
        #expect(try await engine.expungeExpiredLicenses() == 1)
        try await engine.process(token)
        #expect(try await engine.check("cid:film").result.reason == .expiredPlayback)
    }

    @Test func `ends though the wall clock is held still after a reboot`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let end = world.clock.now.wholeSecond + .seconds(30 * 86_400)
        try await engine.process(try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 7200) })
        _ = try await engine.begin("cid:film")
        world.host.reboot()
        for _ in 0..<30 {
            _ = try await engine.check("cid:film")
            world.host.wait(.seconds(270))
        }
        #expect(try await engine.check("cid:film").result.reason == .clockRollback)
        // set as far as is tolerated, it has ended all the same
        world.clock.advance(by: .seconds(30 * 270 - 240))
        #expect(try await engine.check("cid:film").result.reason == .expiredPlayback)
    }

    @Test func `of a rental begins by no clock that is far ahead`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let end = world.clock.now.wholeSecond + .seconds(1000 * 86_400)
        try await engine.process(try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 7200) })
        world.host.reboot()
        world.clock.advance(by: .seconds(365 * 86_400))
        #expect(try await engine.check("cid:film").result.reason == .clockRollback)
        let refused = await #expect(throws: PlayerError.self) { try await engine.begin("cid:film") }
        #expect(refused?.reason == .clockRollback)
        #expect(try await engine.licenses().find(contentIDs: ["cid:film"]).first?.firstPlayedAt == nil)
    }

    @Test func `is played by two processes once where one play is left, and no change of either is lost`() async throws {
        let world = try await PlayerWorld()
        let first = try await world.player()
        let redeemed = try await first.process(try await world.action())
        let folder = world.directory.file("reader")
        let second = try world.engine(folder, try await world.vault(folder, create: false))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for engine in [first, second] {
                for _ in 0..<10 { group.addTask { _ = try await engine.begin("cid:film") } }
            }
            try await group.waitForAll()
        }
        #expect(try await first.licenses().license(redeemed.license)?.plays == 20)
        // a renewed certificate and a newer list, each by another process
        world.wait(.seconds(61 * 86_400))
        let renewed = try await first.personalize(server: world.url)
        _ = try await world.service.licenses.revoke(redeemed.license, by: .operator)
        world.wait(.seconds(120))
        try await second.updateSecurityData()
        #expect(try PlayerEngine.identity(of: folder)?.expiresAt == renewed.expiresAt)
        let third = try world.engine(folder, try await world.vault(folder, create: false))
        #expect(try await third.check("cid:film").result.reason == .revoked)
    }

    @Test func `of a stream plays on though staff revoked another, is found by its key, and ends with its last use`() async throws
    {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let other = try await engine.process(try await world.action())
        _ = try await world.service.licenses.revoke(other.license, by: .operator)
        try await engine.removeLicense(other.license)
        world.wait(.seconds(120))
        try await engine.process(try await world.action { $0.isStorable = false })
        let content = "urn:marlin:kid:\(PlayerWorld.kid.hex)"
        let first = try await engine.begin(content)
        // another revocation while it plays: the renewed license demands the newer list
        let third = try await world.player("third")
        _ = try await world.service.players.change(try #require(await third.identity?.player), .revoke, by: .operator)
        world.wait(.seconds(120))
        try await engine.renewStream(first.license)
        #expect(try await first.check().isGranted)
        let second = try await engine.begin("cid:film")
        await first.stop()
        #expect(try await second.key(PlayerWorld.kid) == PlayerWorld.key)
        await second.stop()
        #expect(try await engine.check(content).result.reason == .noLicense)
    }

    @Test func `of a stream is in no store, keeps its place by renewals, and gives it back`() async throws {
        let world = try await PlayerWorld(heartbeat: .seconds(1))
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action { $0.isStorable = false })
        #expect(!redeemed.isStored && redeemed.until != nil)
        #expect(try await engine.licenses().count() == 0)
        func row() async throws -> CarrelLicensing.LicenseStore.Issued? {
            try await world.service.licenses.list(of: nil, after: nil, limit: 10).first
        }
        let first = try #require(try await row()?.leaseUntil)
        let session = try await engine.begin("cid:film")
        #expect(try await session.key(PlayerWorld.kid) == PlayerWorld.key)
        world.wait(.seconds(30))
        for _ in 0..<100 where try await row()?.leaseUntil == first { try await Task.sleep(for: .milliseconds(100)) }
        let second = try #require(try await row())
        #expect(try #require(second.leaseUntil) > first && second.sequence > 1)
        // beyond the first lease, by the renewal
        world.wait(.seconds(45))
        _ = try await session.key(PlayerWorld.kid)
        await session.stop()
        #expect(try await row()?.endedBy == "release")
        let stopped = await #expect(throws: PlayerError.self) { try await session.key(PlayerWorld.kid) }
        #expect(stopped?.code == .stopped)
        #expect(try await engine.check("cid:film").result.reason == .noLicense)
    }

    /// Two processes of one device: the one renews what the other removes meanwhile.
    @Test func `that was removed while it was renewed stays removed`() async throws {
        let world = try await PlayerWorld()
        let folder = world.folder("reader")
        let database = "\(folder)/player.sqlite"
        let removes = Locked(false)
        let engine = try world.engine(folder, try await world.vault(folder)) { transaction in
            guard removes.withLock(\.self), case .progress(.license, "answer", _, _) = transaction else { return }
            _ = unsafe system("sqlite3 -cmd '.timeout 5000' '\(database)' 'DELETE FROM license_content; DELETE FROM license'")
        }
        try await engine.personalize(server: world.url)
        let redeemed = try await engine.process(try await world.action())
        removes.withLock { $0 = true }
        let refused = await #expect(throws: PlayerError.self) { try await engine.renew(redeemed.license) }
        #expect(refused?.code == .noLicense)
        #expect(try await engine.licenses().count() == 0)
    }

    @Test func `that is revoked stops a session as soon as the device has the list`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action())
        let session = try await engine.begin("cid:film")
        _ = try await session.key(PlayerWorld.kid)
        _ = try await world.service.licenses.revoke(redeemed.license, by: .operator)
        world.wait(.seconds(120))
        try await engine.updateSecurityData()
        let revoked = await #expect(throws: PlayerError.self) { try await session.key(PlayerWorld.kid) }
        #expect(revoked?.reason == .revoked)
        let renewed = await #expect(throws: PlayerError.self) { try await engine.renew(redeemed.license) }
        #expect(renewed?.code == .ended)
    }

    @Test func `comes to nothing without a genuine token`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        func code(_ token: String) async -> (PlayerError.Code?, String?) {
            do {
                try await engine.process(token)
                return (nil, nil)
            } catch { return (error.code, error.serverCode) }
        }
        for text in [
            "", "token", "a.b", "<ActionToken/>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", String(repeating: "a", count: 40_000),
        ] { #expect(await code(text) == (.token, nil), "\(text.prefix(60))") }
        let content = "#https%3A%2F%2Fcdn.example%2Fa.m3u8"
        #expect(await code("https://rights.example/hms/ms3/rights/\(content)") == (.missingToken, nil))
        #expect(await code("https://rights.example/hms/ms3/rights/?b=AAAA") == (.missingContent, nil))
        #expect(await code("http://rights.example/hms/ms3/rights/?b=AAAA\(content)") == (.insecureRights, nil))
        let action = try await world.action()
        let start = try #require(action.firstRange(of: "<BusinessToken>")?.upperBound)
        let mark: Character = action[start] == "A" ? "B" : "A"
        let forged = String(action[..<start]) + String(mark) + String(action[action.index(after: start)...])
        let outcome = await code(forged)
        #expect(outcome.0 == .token && outcome.1 == "license.token")
        let expired = try await world.action()
        world.wait(.seconds(86_401))
        let late = await code(expired)
        #expect(late.0 == .token && late.1 == "license.token-expired")
        #expect(try await engine.licenses().count() == 0)
    }

    @Test func `needs a personalised device, and the folder that it was made in`() async throws {
        let world = try await PlayerWorld()
        let folder = world.folder("new")
        let fresh = try world.engine(folder, try await world.vault(folder))
        let missing = await #expect(throws: PlayerError.self) { try await fresh.process(try await world.action()) }
        #expect(missing?.code == .notPersonalized && missing?.number == -4001)
        let engine = try await world.player()
        try await engine.process(try await world.action())
        await engine.shutdown()
        let copy = world.directory.file("copy")
        _ = try await checkProcess(["cp", "-a", world.directory.file("reader"), copy])
        let copied = try world.engine(copy, try await world.vault(copy, create: false))
        let error = await #expect(throws: PlayerError.self) { try await copied.check("cid:film") }
        #expect(error?.code == .fingerprint)
    }

    @Test func `of another device is refused`() async throws {
        let world = try await PlayerWorld()
        let first = try await world.player()
        let redeemed = try await first.process(try await world.action())
        let data = try #require(try await first.licenses().license(redeemed.license)?.data)
        let second = try await world.player("other")
        let refused = await #expect(throws: PlayerError.self) { try await second.addLicense(data) }
        #expect(refused?.code == .rejected)
    }

    @Test func `is redeemed though the service has replaced its keys`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let first = try await engine.process(try await world.action())
        for use in ["license", "agreement", "revocation", "time"] {
            world.wait(.seconds(120))
            _ = try await world.service.authority.rotate(use, by: .operator)
        }
        world.wait(.seconds(120))
        let second = try await engine.process(
            try await world.action {
                $0.contents = [
                    .init(contentID: "cid:song", keyID: KeyID(label: "song"), key: PlayerWorld.key)
                ]
            }
        )
        #expect(try await engine.check("cid:song").license == second.license)
        #expect(try await engine.check("cid:film").license == first.license)
        try await engine.updateSecurityData()
    }
}
