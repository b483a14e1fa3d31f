import CarrelAccounts
import CarrelAuthority
import CarrelAudit
import CarrelHTTPServer
import CarrelBytes
import CarrelCrypto
import CarrelLicensing
@_spi(Extended) import CarrelPlayer
import CarrelRights
import CarrelServer
import CarrelStore
import CarrelTesting
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

    @Test func `that is given back is gone at once, and the service hears of it at the next contact`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action())
        await world.server.shutdown(grace: .seconds(1))
        #expect(try await engine.release(redeemed.license) == false)
        #expect(try await engine.check("cid:film").result.reason == .noLicense)
        #expect(try await world.service.licenses.list(of: nil, after: nil, limit: 10).first?.endedAt == nil)
        // the same service on another port: the player's file names the address
        let again = try await PlayerWorld()
        let other = try await again.player()
        let second = try await other.process(try await again.action())
        #expect(try await other.release(second.license))
        #expect(try await again.service.licenses.list(of: nil, after: nil, limit: 10).first?.endedBy == "release")
        let gone = await #expect(throws: PlayerError.self) { try await other.release(second.license) }
        #expect(gone?.code == .noLicense)
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
            "", "token", "a.b", "https://rights.example/hms/ms3/rights/", "https://rights.example/hms/ms3/rights/?b=AAAA",
            "http://rights.example/hms/ms3/rights/?b=AAAA#https%3A%2F%2Fcdn.example%2Fa.m3u8", "<ActionToken/>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", String(repeating: "a", count: 40_000),
        ] { #expect(await code(text) == (.token, nil), "\(text.prefix(60))") }
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

struct `A device of a portal's user` {
    @Test func `is registered by a token, listed, and deregistered by another`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let token = try await world.registration(.registration, of: "reader-17")
        let misplaced = await #expect(throws: PlayerError.self) { try await engine.process(token) }
        #expect(misplaced?.code == .token)
        let link = try await engine.register(token)
        #expect(link.user == "reader-17" && link.expiresAt != nil)
        #expect(try await engine.links() == [link])
        let account = try #require(try await world.service.accounts.find(named: "reader-17"))
        let player = try #require(await engine.identity?.player)
        #expect(try await world.service.players.list(of: account.id).map(\.id) == [player])
        let again = try await world.restarted(engine)
        #expect(try await again.links() == [link])
        world.wait(.seconds(60))
        _ = try await again.register(try await world.registration(.deregistration, of: "reader-17"))
        #expect(try await again.links() == [])
        #expect(try await world.service.players.list(of: account.id).isEmpty)
        let license = try await world.action()
        let other = await #expect(throws: PlayerError.self) { try await again.register(license) }
        #expect(other?.code == .token)
    }
}

struct `The store of licenses` {
    @Test func `is unreadable on the disk, and damage in it is noticed`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let content = "cid:a-very-secret-film-0815"
        var licenses: [String] = []
        for name in ["one", "two"] {
            licenses.append(
                try await engine.process(
                    try await world.action {
                        $0.contents = [.init(contentID: "\(content)-\(name)", keyID: KeyID(label: name), key: PlayerWorld.key)]
                    },
                    tag: "my-own-shelf-4711"
                ).license
            )
        }
        _ = try await engine.begin("\(content)-one")
        await engine.shutdown()
        let key = PlayerWorld.key.withBytes { [UInt8](copying: $0) }
        for secret in [content, "my-own-shelf-4711", Hex.encode(key), Base64.encode(key), Base64URL.encode(key)] {
            let found = try await checkProcess(["sh", "-c", "grep -rlaF '\(secret)' '\(world.directory.file("reader"))' || true"])
            #expect(found.isEmpty, "\(secret)")
        }
        let path = world.directory.file("reader/player.sqlite")
        func damaged(_ sql: String) async throws -> PlayerError.Code? {
            let (copy, name) = (world.directory.file("saved.sqlite"), "reader")
            _ = try await checkProcess(["cp", path, copy])
            _ = try await checkProcess(["sqlite3", path, sql])
            let engine = try world.engine(
                world.directory.file(name),
                try await world.vault(world.directory.file(name), create: false)
            )
            var code: PlayerError.Code?
            do {
                for name in ["one", "two"] { _ = try await engine.check("\(content)-\(name)") }
            } catch { code = error.code }
            await engine.shutdown()
            for end in ["", "-wal", "-shm"] { unsafe unlink(path + end) }
            _ = try await checkProcess(["cp", copy, path])
            return code
        }
        #expect(try await damaged("SELECT 1") == nil)
        #expect(try await damaged("UPDATE license SET sealed = (SELECT sealed FROM license LIMIT 1)") == .storeDamaged)
        #expect(try await damaged("UPDATE license SET sealed = zeroblob(500)") == .storeDamaged)
        #expect(try await damaged("UPDATE license SET sealed = x'00'") == .storeDamaged)
        #expect(try await damaged("DELETE FROM store WHERE name = 'clock'") == .storeDamaged)
        #expect(
            try await damaged("UPDATE store SET value = (SELECT sealed FROM license LIMIT 1) WHERE name = 'clock'")
                == .storeDamaged
        )
        #expect(try await damaged("UPDATE store SET value = x'00' WHERE name = 'key'") == .vault)
    }

    @Test func `lists, finds by priority and tag, and removes`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        var ids: [String] = []
        for (index, tag) in ["a", "b", "a"].enumerated() {
            ids.append(try await engine.process(try await world.action(), tag: tag, priority: index == 1 ? 5 : 0).license)
        }
        let store = try await engine.licenses()
        #expect(try await store.find(contentIDs: ["cid:film"]).first?.id == ids[1])
        #expect(try await engine.check("cid:film").license == ids[1])
        #expect(try await store.licenses(tag: "a").map(\.id) == [ids[0], ids[2]].sorted())
        #expect(try await store.licenses(after: ids.sorted()[0], limit: 1).map(\.id) == [ids.sorted()[1]])
        #expect(try await store.contentIDs(of: ids[0]).first == "cid:film")
        try await engine.removeLicense(ids[1])
        #expect(try await store.count() == 2)
        #expect(try await store.find(contentIDs: ["cid:film", "urn:marlin:kid:\(PlayerWorld.kid.hex)"]).count == 2)
        let gone = await #expect(throws: PlayerError.self) { try await engine.removeLicense(ids[1]) }
        #expect(gone?.code == .noLicense)
        try await engine.vacuum()
        await store.close()
        let closed = await #expect(throws: PlayerError.self) { try await store.count() }
        #expect(closed?.code == .store)
    }
}
