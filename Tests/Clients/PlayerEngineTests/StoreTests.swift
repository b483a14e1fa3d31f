// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelTokens
import CarrelAuthority
import CarrelAudit
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelBytes
import CarrelCrypto
import CarrelLicensing
import CarrelPlayerTesting
@_spi(Extended) import CarrelPlayer
import CarrelRights
import CarrelServer
import CarrelStore
import CarrelTesting
import CarrelVault
import Glibc
import Testing

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
        // the index leads to another license
        let swap = "UPDATE license_content SET license = (SELECT id FROM license WHERE id <> license_content.license)"
        #expect(try await damaged(swap) == .storeDamaged)
    }

    @Test func `counts everything as used after a row that cannot be read was removed`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let token = try await world.action {
            $0.conditions.playCount = 3
            $0.conditions.copyCharacters = 10
        }
        let license = try await engine.process(token).license
        #expect(try await engine.usedAmount(of: "copy", license: license) == 0)
        await engine.shutdown()
        let path = world.directory.file("reader/player.sqlite")
        _ = try await checkProcess(["sqlite3", path, "UPDATE license SET sealed = zeroblob(500)"])
        let again = try await world.restarted(engine)
        let error = await #expect(throws: PlayerError.self) { try await again.check("cid:film") }
        #expect(error?.code == .storeDamaged)
        // the second time the row that is removed can be read
        for _ in 0..<2 {
            #expect(try await again.licenses().remove(license))
            #expect(try await again.process(token).license == license)
            #expect(try await again.check("cid:film").result.reason == .countExhausted)
            #expect(try await again.usedAmount(of: "copy", license: license) == .max)
            let use = try await again.use(1, of: "copy", license: license, limit: 10, requestID: nil, content: nil)
            guard case .refused = use else {
                Issue.record("a copy was granted")
                break
            }
        }
        await again.shutdown()
    }

    @Test func `is not made again where it is gone`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        try await engine.process(try await world.action())
        await engine.shutdown()
        for end in ["", "-wal", "-shm"] { unsafe unlink(world.directory.file("reader/player.sqlite") + end) }
        let again = try await world.restarted(engine)
        let gone = await #expect(throws: PlayerError.self) { try await again.check("cid:film") }
        #expect(gone?.code == .storeDamaged && gone?.message.contains("gone") == true)
        #expect(world.directory.read("reader/player.sqlite") == nil)
    }

    @Test func `notices a player's file with an older list, and one of another service`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action())
        let old = try #require(world.directory.read("reader/player.json"))
        _ = try await world.service.licenses.revoke(redeemed.license, by: .operator)
        world.wait(.seconds(120))
        try await engine.updateSecurityData()
        let again = try await world.restarted(engine)
        #expect(try await again.check("cid:film").result.reason == .revoked)
        await again.shutdown()
        world.directory.write("reader/player.json", old)
        let folder = world.directory.file("reader")
        let reverted = try world.engine(folder, try await world.vault(folder, create: false))
        let error = await #expect(throws: PlayerError.self) { try await reverted.check("cid:film") }
        #expect(error?.code == .outdated && error?.message.contains("list of revocations is older") == true)
        await reverted.shutdown()
        let foreign = try await PlayerWorld()
        let stranger = try await foreign.player()
        await stranger.shutdown()
        let other = String(decoding: try #require(foreign.directory.read("reader/player.json")), as: UTF8.self)
        let own = String(decoding: old, as: UTF8.self)
        func member(_ name: String, of text: String) throws -> Substring {
            let start = try #require(text.firstRange(of: "\"\(name)\": \"")?.upperBound)
            return text[start...].prefix { $0 != "\"" }
        }
        // the answer of another service under this installation's salt and fingerprint
        var forged = other
        for name in ["salt", "fingerprint"] {
            forged = forged.replacing(try member(name, of: other), with: try member(name, of: own))
        }
        world.directory.write("reader/player.json", Array(forged.utf8))
        let swapped = try world.engine(folder, try await world.vault(folder, create: false))
        let refused = await #expect(throws: PlayerError.self) { try await swapped.check("cid:film") }
        #expect(refused?.code == .outdated, "\(refused?.message ?? "")")
        // and no renewal leads there
        await #expect(throws: PlayerError.self) { try await swapped.personalize(server: foreign.url, isForced: true) }
        #expect(world.directory.read("reader/player.json") == Array(forged.utf8))
    }

    @Test(arguments: ["license", "root", "revocation"])
    func `takes a player's file of a backup again once the service said how things are now`(rotated: String) async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let player = await engine.identity?.player
        let rental = try await engine.process(try await world.action { $0.rights = .buyToOwn })
        let lost = try await engine.process(try await world.action())
        _ = try await engine.begin("cid:film")
        let old = try #require(world.directory.read("reader/player.json"))
        if rotated == "revocation" {
            _ = try await world.service.licenses.revoke(lost.license, by: .operator)
        } else {
            // newer keys, and the same list of revocations
            _ = try await world.service.authority.rotate(rotated, by: .operator)
        }
        world.wait(.seconds(120))
        try await engine.updateSecurityData()
        await engine.shutdown()
        let new = try #require(world.directory.read("reader/player.json"))
        #expect(new != old)
        world.directory.write("reader/player.json", old)
        let folder = world.directory.file("reader")
        let reverted = try world.engine(folder, try await world.vault(folder, create: false))
        for _ in 0..<2 {
            let error = await #expect(throws: PlayerError.self) { try await reverted.check("cid:film") }
            #expect(error?.code == .outdated && error?.recommendation.contains("--renew") == true && error?.number == -5019)
        }
        // a renewal that is not asked for changes nothing
        world.wait(.seconds(61 * 86_400))
        let unforced = await #expect(throws: PlayerError.self) { try await reverted.personalize(server: world.url) }
        #expect(unforced?.code == .outdated)
        let identity = try await reverted.personalize(server: world.url, isForced: true)
        #expect(identity.player == player)
        let result = try await reverted.check("cid:film")
        #expect(result.result.isGranted && (rotated != "revocation" || result.license == rental.license))
        let plays = try await reverted.licenses().licenses().map(\.plays).reduce(0, +)
        #expect(plays == 1, "licenses and plays stay")
        let again = try await world.restarted(reverted)
        #expect(try await again.check("cid:film").result.isGranted)
    }

    @Test func `keeps the newer keys and the newer list, whichever came last`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        func answer() throws -> PersonalizationResponse {
            let bytes = try #require(world.directory.read("reader/player.json"))
            let json = try JSON.parse(bytes.rawSpan)
            return try PersonalizationResponse(try #require(json["answer"]))
        }
        let old = try answer()
        let redeemed = try await engine.process(try await world.action())
        _ = try await world.service.licenses.revoke(redeemed.license, by: .operator)
        _ = try await world.service.authority.rotate("license", by: .operator)
        world.wait(.seconds(120))
        try await engine.updateSecurityData()
        let new = try answer()
        #expect(old.trust != new.trust && old.revocations != new.revocations)
        for (answer, known) in [(old, new), (new, old)] {
            let kept = ServiceTrust.newest(answer, known)
            #expect(kept.trust == new.trust && kept.revocations == new.revocations)
        }
        var (keys, list) = (old, old)
        keys.trust = new.trust
        list.revocations = new.revocations
        for (answer, known) in [(keys, list), (list, keys)] {
            let kept = ServiceTrust.newest(answer, known)
            #expect(kept.trust == new.trust && kept.revocations == new.revocations)
        }
        // the same list, signed again: the one that came last
        world.wait(.seconds(7200))
        try await engine.updateSecurityData()
        let later = try answer()
        #expect(later.revocations != new.revocations)
        #expect(ServiceTrust.newest(later, new).revocations == later.revocations)
        #expect(ServiceTrust.newest(new, later).revocations == new.revocations)
        #expect(ServiceTrust.newest(new, nil).trust == new.trust)
    }

    @Test func `replaces a list of revocations that has ended at the next contact, and takes none that has`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        try await engine.process(try await world.action())
        func list() throws -> String? {
            let bytes = try #require(world.directory.read("reader/player.json"))
            return try JSON.parse(bytes.rawSpan)["answer"]?["revocations"]?.string
        }
        let first = try list()
        world.wait(.seconds(6 * 86_400))
        try await engine.process(try await world.action())
        #expect(try list() == first, "it has a day left")
        let served = try await world.service.authority.revocations()
        world.wait(.seconds(2 * 86_400))
        #expect(try await engine.check("cid:film").result.isGranted, "without a contact it is used on")
        try await engine.process(try await world.action())
        let second = try list()
        #expect(second != first)
        // a server, or a cache before it, that serves an old one
        await world.server.shutdown(grace: .seconds(1))
        let service = world.service
        var router = Router()
        router.on(.get, "v1/license/revocations") { _, _ in
            var response = HTTPResponse(.ok, body: .bytes(Array(served.utf8)))
            response.headers["Content-Type"] = "application/jose"
            return response
        }
        router.on(.get, "v1/license/keys") { request, _ in await service.router.respond(to: request) }
        try world.answer(router)
        world.wait(.seconds(6 * 86_400))
        let stale = await #expect(throws: PlayerError.self) { try await engine.updateSecurityData() }
        #expect(stale?.code == .rejected && stale?.message.contains("the list of what is revoked ended at") == true)
        #expect(try list() == second)
    }

    @Test(arguments: [1, 2, 3, 4, 500])
    func `removes licenses of a set, a page at a time`(limit: Int) async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        var ids: [String] = []
        for _ in 0..<4 { ids.append(try await engine.process(try await world.action()).license) }
        let store = try await engine.licenses()
        #expect(try await store.expunge(["none"], limit: limit) == 0)
        #expect(try await store.expunge([ids[0], ids[3], "none"], limit: limit) == 2)
        #expect(try await store.licenses().map(\.id) == [ids[1], ids[2]].sorted())
        #expect(try await store.expunge(Set(ids), limit: limit) == 2)
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
        let both = try await store.find(contentIDs: ["cid:film", "urn:marlin:kid:\(PlayerWorld.kid.hex)"])
        #expect(both.map(\.id).sorted() == [ids[0], ids[2]].sorted(), "each once")
        let gone = await #expect(throws: PlayerError.self) { try await engine.removeLicense(ids[1]) }
        #expect(gone?.code == .noLicense)
        try await engine.vacuum()
        await store.close()
        let closed = await #expect(throws: PlayerError.self) { try await store.count() }
        #expect(closed?.code == .store)
    }
}
