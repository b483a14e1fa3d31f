// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelContentKeys
import CarrelCrypto
import CarrelLicensing
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelTesting
import CarrelTokens
import CarrelVault
import Testing

struct `Saved keys` {
    /// A film whose keys are saved.
    private func saved(
        _ change: (inout LicenseMessage.Entitlement) -> Void = { _ in }
    ) async throws -> (film: FilmWorld, engine: PlayerEngine, token: String) {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let token = try film.message([0, 1, 2], isStorable: true, change)
        let session = film.session(engine, token: token)
        try await session.persist(FilmWorld.identifiers, item: "film")
        await session.end()
        return (film, engine, token)
    }

    @Test func `play after a restart without a server, and count the play`() async throws {
        let (film, engine, _) = try await saved()
        await film.stopServer()
        let restarted = try await film.world.restarted(engine)
        let log = TraceLog()
        let keys = SavedKeys(restarted, item: "film", trace: { log.add($0) })
        for (number, id) in FilmWorld.ids.enumerated() {
            let grant = try #require(granted(await keys.key(.id(id.bytes))))
            #expect(grant.key == FilmWorld.keys[number] && grant.isLicensed)
        }
        guard case .unknown = await keys.key(.id([UInt8](repeating: 9, count: 16))) else { throw TestFailure("an unknown key") }
        #expect(log.messages == ["persistable key updated: its first play is on the disk"])
        #expect(try await restarted.licenses().licenses().first?.plays == 1)
        // a second use counts again, without another event
        let second = keys.newUse()
        #expect(granted(await second.key(.id(FilmWorld.ids[0].bytes))) != nil)
        #expect(try await restarted.licenses().licenses().first?.plays == 2)
        #expect(log.messages.count == 1)
        await second.end()
        await keys.end()
        #expect(refusal(await keys.key(.id(FilmWorld.ids[0].bytes))) == "the use of the saved keys has ended")
        await restarted.shutdown()
    }

    @Test func `play in another process without a server`() async throws {
        let (film, engine, _) = try await saved()
        await film.stopServer()
        await engine.shutdown()
        let program = "\(programFolder)/PlayerProgram"
        let result = try await runProcess(
            [program, film.world.directory.file("reader"), "film", "3", "saved"] + FilmWorld.ids.map(\.hex),
            environment: ["CARREL_VAULT_PASSPHRASE": "correct horse"]
        )
        #expect(result.text == "saved 3\n", "\(result.errorText)")
    }

    @Test func `end with their license, also in the middle, and a clock that is set back extends nothing`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let session = film.session(engine, token: try film.message { $0.duration = 20 })
        try await session.persist(FilmWorld.identifiers, item: "film")
        let state = try await engine.savedKeyState(of: "film")
        #expect(state.obstacle == nil && state.until != nil && state.renewAt != nil)
        await film.stopServer()
        let keys = SavedKeys(engine, item: "film")
        let grant = try #require(granted(await keys.key(.id(FilmWorld.ids[0].bytes))))
        try grant.end.check(at: film.world.clock.now)
        film.world.wait(.seconds(21))
        // in the middle
        try await waitUntil { (try? grant.end.check(at: film.world.clock.now)) == nil }
        #expect(try await engine.savedKeyState(of: "film").obstacle == .expired)
        // back by an hour
        film.world.clock.advance(by: .seconds(-3600))
        #expect(try await engine.savedKeyState(of: "film").obstacle != nil)
        #expect(refusal(await SavedKeys(engine, item: "film").key(.id(FilmWorld.ids[0].bytes))) != nil)
        // after another boot the clock is before the mark
        film.world.host.reboot()
        #expect(try await engine.savedKeyState(of: "film").obstacle == .clockRollback)
        await keys.end()
    }

    @Test func `are playable again after a renewal, or with the license of another token`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let token = try film.message { $0.duration = 20 }
        let session = film.session(engine, token: token)
        try await session.persist(FilmWorld.identifiers, item: "film")
        let first = try #require(try await engine.savedKeyState(of: "film").licenses.first)
        #expect(try await session.renewIfDue(item: "film") == false)
        film.world.wait(.seconds(30))
        #expect(try await engine.savedKeyState(of: "film").obstacle == .expired)
        let expired = await #expect(throws: ContentKeyError.self) {
            try await film.session(engine).persist(FilmWorld.identifiers, item: "film")
        }
        #expect(expired?.code == .expired)
        // the message may be used again: the license that is over is replaced
        try await film.session(engine, token: token).renew(item: "film")
        let state = try await engine.savedKeyState(of: "film")
        #expect(state.obstacle == nil && state.licenses.count == 1 && state.licenses != [first])
        #expect(try await engine.licenses().license(first) == nil)
        #expect(granted(await SavedKeys(engine, item: "film").key(.id(FilmWorld.ids[2].bytes)))?.key == FilmWorld.keys[2])
        // without a token the service refuses
        film.world.wait(.seconds(30))
        let error = await #expect(throws: ContentKeyError.self) { try await film.session(engine).renew(item: "film") }
        #expect(error?.code == .ended)
    }

    @Test func `are renewed once that is due`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let session = film.session(engine, token: try film.message { $0.duration = 86_400 })
        try await session.persist(FilmWorld.identifiers, item: "film")
        #expect(try await session.renewIfDue(item: "film") == false)
        let before = try #require(try await engine.licenses().licenses().first).data
        film.world.wait(.seconds(50_000))
        #expect(try await session.renewIfDue(item: "film"))
        #expect(try #require(try await engine.licenses().licenses().first).data != before)
    }

    @Test func `are removed with their item, except the license that another item needs`() async throws {
        let (film, engine, token) = try await saved()
        let session = film.session(engine, token: token)
        try await session.persist([FilmWorld.identifiers[0]], item: "sound")
        _ = try await engine.savedItems().makePackageKey(ofItem: "film")
        #expect(try await engine.savedItems().savedItems() == ["film", "sound"])
        try await session.invalidatePersistableKeys(item: "film")
        #expect(try await engine.savedItems().packageKey(ofItem: "film") == nil)
        #expect(try await engine.savedItems().savedItems() == ["sound"])
        #expect(try await engine.licenses().count() == 1)
        #expect(granted(await SavedKeys(engine, item: "sound").key(.id(FilmWorld.ids[0].bytes))) != nil)
        try await engine.removeItem("sound", givesBack: true)
        #expect(try await engine.licenses().count() == 0)
        let player = try #require(await engine.identity?.player)
        let issued = try await film.world.service.licenses.list(of: player, after: nil, limit: 10)
        #expect(issued.map(\.endedBy) == ["release"])
    }

    @Test func `are removed while the vault is locked, and their license when it opens`() async throws {
        let (film, engine, _) = try await saved()
        let key = try await engine.savedItems().makePackageKey(ofItem: "film")
        #expect(key.count == 32)
        await engine.shutdown()
        try await LicenseStore.removeItem("film", fromFolder: film.world.directory.file("reader"))
        let restarted = try await film.world.restarted(engine)
        #expect(try await restarted.licenses().count() == 0)
        #expect(try await restarted.savedItems().packageKey(ofItem: "film") == nil)
        // no folder, no error
        try await LicenseStore.removeItem("film", fromFolder: film.world.folder("empty"))
    }

    @Test func `are refused in a copy of the folder, with a player and without`() async throws {
        let (film, engine, _) = try await saved()
        await engine.shutdown()
        let original = film.world.directory.file("reader")
        for (name, removed) in [("copy", [String]()), ("bare", ["player.json"])] {
            let copy = film.world.directory.file(name)
            try await checkProcess(["cp", "-a", original, copy])
            for file in removed { try await checkProcess(["rm", "\(copy)/\(file)"]) }
            let copied = try film.world.engine(copy, try await film.world.vault(copy, create: false))
            let error = await #expect(throws: PlayerError.self) { try await copied.savedItems() }
            #expect(error?.code == .fingerprint)
            #expect(refusal(await SavedKeys(copied, item: "film").key(.id(FilmWorld.ids[0].bytes))) != nil)
            await copied.shutdown()
        }
        // the folder itself may be moved
        let moved = film.world.directory.file("moved")
        try await checkProcess(["mv", original, moved])
        let there = try film.world.engine(moved, try await film.world.vault(moved, create: false))
        #expect(granted(await SavedKeys(there, item: "film").key(.id(FilmWorld.ids[0].bytes))) != nil)
        await there.shutdown()
    }

    @Test func `that were altered, or moved to another item, are refused`() async throws {
        let (film, engine, _) = try await saved()
        let session = film.session(engine)
        let server = KeyServer { _ in .init(body: Array(0..<16)) }
        let identifiers = [ContentKeyIdentifier(.address(server.url("/one.key")))]
        try await session.persist(identifiers, item: "radio")
        await engine.shutdown()
        let database = film.world.directory.file("reader") + "/player.sqlite"
        try await checkProcess(["sqlite3", database, "UPDATE saved_key SET item = 'other' WHERE item = 'radio'"])
        let restarted = try await film.world.restarted(engine)
        let error = await #expect(throws: PlayerError.self) { try await restarted.savedKeyState(of: "other") }
        #expect(error?.code == .storeDamaged)
        await restarted.shutdown()
        // a clock that was removed does not begin again
        try await checkProcess(["sqlite3", database, "DELETE FROM license; DELETE FROM store WHERE name = 'clock'"])
        let again = try await film.world.restarted(restarted)
        let damage = await #expect(throws: PlayerError.self) { try await again.savedItems() }
        #expect(damage?.code == .storeDamaged)
    }
}

struct `A folder without a player` {
    @Test func `saves keys that need no license, and keeps them when it is personalized`() async throws {
        let film = try await FilmWorld()
        let world = film.world
        let folder = world.folder("bare")
        let engine = try world.engine(folder, try await world.vault(folder))
        let server = KeyServer { _ in .init(body: Array(64..<80)) }
        let address = ContentKeyIdentifier(.address(server.url("/one.key")))
        let session = film.session(engine)
        try await session.persist([address], item: "radio")
        let journal = try await engine.savedItems().journalKey()
        let error = await #expect(throws: ContentKeyError.self) {
            try await film.session(engine, token: try film.message()).persist(FilmWorld.identifiers, item: "film")
        }
        #expect(error?.code == .notPersonalized)
        #expect(await !engine.isPersonalized)
        #expect(try PlayerEngine.vaultKind(of: folder) == .file)
        await engine.shutdown()
        let restarted = try world.engine(folder, try await world.vault(folder, create: false))
        #expect(granted(await SavedKeys(restarted, item: "radio").key(address.names[0]))?.key == Secret(Array(64..<80)))
        #expect(server.requests.count == 1)
        try await restarted.personalize(server: world.url)
        try await film.session(restarted, token: try film.message()).persist(FilmWorld.identifiers, item: "film")
        await restarted.shutdown()
        let last = try world.engine(folder, try await world.vault(folder, create: false))
        #expect(granted(await SavedKeys(last, item: "radio").key(address.names[0])) != nil)
        #expect(granted(await SavedKeys(last, item: "film").key(.id(FilmWorld.ids[1].bytes)))?.key == FilmWorld.keys[1])
        #expect(try await last.savedItems().journalKey() == journal)
        await last.shutdown()
    }

    @Test func `is refused as a copy`() async throws {
        let film = try await FilmWorld()
        let world = film.world
        let folder = world.folder("bare")
        let engine = try world.engine(folder, try await world.vault(folder))
        _ = try await engine.savedItems().makePackageKey(ofItem: "radio")
        await engine.shutdown()
        let copy = world.directory.file("copy")
        try await checkProcess(["cp", "-a", folder, copy])
        let copied = try world.engine(copy, try await world.vault(copy, create: false))
        let error = await #expect(throws: PlayerError.self) { try await copied.savedItems() }
        #expect(error?.code == .fingerprint)
        await copied.shutdown()
    }
}
