// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelJSON
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelTesting
import CarrelThreads
import Testing

struct `A player without an account` {
    private func answer(
        _ test: PlayerWorld,
        _ engine: PlayerEngine,
        _ isApproved: Bool
    ) async throws(PlayerError) -> PlayerEngine.Link {
        try await engine.link { code in
            let service = test.service
            Task {
                let alice = try await service.accounts.findOrCreate(named: "alice")
                _ = try await service.links.decide(
                    code.letters,
                    isApproved: isApproved,
                    for: alice,
                    from: "192.0.2.1",
                    requestID: ""
                )
            }
        }
    }

    @Test func `is linked by a code that a reader types`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let heard = Locked<[String]>([])
        let engine = try test.engine(folder, try await test.vault(folder)) { transaction in
            if case .progress(.link, let step, let done, let total) = transaction {
                heard.withLock { $0.append("\(step) \(done)/\(total)") }
            }
        }
        let early = await #expect(throws: PlayerError.self) { try await answer(test, engine, true) }
        #expect(early?.code == .notPersonalized)
        let identity = try await engine.personalize(server: test.url)
        let link = try await answer(test, engine, true)
        #expect(link.account == "alice" && link.expiresAt == identity.expiresAt)
        #expect(heard.withLock(\.self) == ["code 1/3", "waiting 2/3", "linked 3/3"])
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        #expect(try await test.service.players.list(of: alice.id).map(\.id) == [identity.player])
        #expect(try await engine.personalize(server: test.url, isForced: true) == identity, "the link stays")
        #expect(try await test.service.players.list(of: alice.id).map(\.id) == [identity.player])
    }

    @Test func `hears that the reader refused`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let engine = try test.engine(folder, try await test.vault(folder))
        _ = try await engine.personalize(server: test.url)
        let error = await #expect(throws: PlayerError.self) { try await answer(test, engine, false) }
        #expect(error?.code == .link && error?.serverCode == "link.denied" && error?.number == -5020)
    }
}

struct `A player without a network` {
    private func bundle(_ request: String, _ test: PlayerWorld) async throws -> [UInt8] {
        try await test.service.personalizations.certify(request, linkedTo: nil, by: .operator).json.write()
    }

    @Test func `takes its certificate from a file, and renews it over the network later`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let engine = try test.engine(folder, try await test.vault(folder))
        let request = try await engine.offlineRequest()
        #expect(await !engine.isPersonalized)
        let bundle = try await bundle(request, test)
        let inserted = try await engine.insert(bundle: bundle)
        #expect(inserted.isFirstContact && inserted.rootFingerprint.count == 64 && inserted.identity.server.isEmpty)
        let again = await #expect(throws: PlayerError.self) { try await engine.insert(bundle: bundle) }
        #expect(again?.code == .rejected)
        #expect(try await engine.personalize(server: test.url, isForced: true).player == inserted.identity.player)
        #expect(await engine.identity?.server == test.url)
        test.clock.advance(by: .seconds(70 * 86_400))
        let second = try await self.bundle(try await engine.offlineRequest(), test)
        let renewed = try await engine.insert(bundle: second)
        #expect(!renewed.isFirstContact && renewed.rootFingerprint == inserted.rootFingerprint)
        #expect(renewed.identity.expiresAt > inserted.identity.expiresAt)
        #expect(try await certifyOffline(engine) { try await self.bundle($0, test) } == inserted.rootFingerprint)
        #expect(try await licenseList(of: engine).isEmpty)
    }

    @Test func `refuses a bundle for another request or key, under another root, or with an older list`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let engine = try test.engine(folder, try await test.vault(folder))
        func refusal(_ bundle: [UInt8]) async -> PlayerError.Code? {
            do {
                _ = try await engine.insert(bundle: bundle)
                return nil
            } catch { return error.code }
        }
        #expect(await refusal([]) == .rejected)
        let former = try await bundle(try await engine.offlineRequest(), test)
        let request = try await engine.offlineRequest()
        #expect(await refusal(former) == .rejected, "a later request replaced it")
        let otherFolder = test.folder("other")
        let other = try test.engine(otherFolder, try await test.vault(otherFolder))
        #expect(await refusal(try await bundle(try await other.offlineRequest(), test)) == .rejected)
        #expect(await refusal(try await bundle(request, test)) == nil)
        let right = try await bundle(try await engine.offlineRequest(), test)
        for place in stride(from: 0, to: right.count, by: right.count / 40) {
            var altered = right
            altered[place] = altered[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(await refusal(altered) == .rejected, "place \(place)")
        }
        #expect(await refusal(right) == nil)
        let foreign = try await PlayerWorld()
        #expect(await refusal(try await bundle(try await engine.offlineRequest(), foreign)) == .rejected)
        let early = try await bundle(try await engine.offlineRequest(), test)
        let revoked = try await other.personalize(server: test.url)
        _ = try await test.service.players.change(revoked.player, .revoke, by: .operator)
        _ = try await engine.personalize(server: test.url, isForced: true)
        #expect(await refusal(early) == .rejected, "its list of what is revoked is older")
    }
}
