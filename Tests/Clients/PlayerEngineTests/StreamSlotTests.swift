// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelLicenseKeys
import CarrelLicensing
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelTesting
import CarrelTokens
import Testing

/// The slot of a stream comes back to the service on every path, so that the reader's next device may play.
@Suite(.serialized) struct `The slot of a stream` {
    private static func stream(_ world: PlayerWorld) async throws -> PlayerEngine {
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action { $0.isStorable = false })
        #expect(!redeemed.isStored)
        return engine
    }

    private static func isReleased(_ world: PlayerWorld) async throws -> Bool {
        try await world.service.licenses.list(of: nil, after: nil, limit: 10).first?.endedBy == "release"
    }

    @Test func `is given back without a begin`() async throws {
        let world = try await PlayerWorld()
        let engine = try await Self.stream(world)
        let session = try await engine.open("cid:film", LicensedUse(action: .play))
        await session.stop()
        #expect(try await Self.isReleased(world))
    }

    @Test func `is given back once, by the last session`() async throws {
        let world = try await PlayerWorld()
        let engine = try await Self.stream(world)
        let first = try await engine.open("cid:film", LicensedUse(action: .play))
        let second = try await engine.begin("cid:film")
        await first.stop()
        await first.stop()
        #expect(try await second.key(PlayerWorld.kid) == PlayerWorld.key)
        #expect(try await !Self.isReleased(world))
        await second.stop()
        #expect(try await Self.isReleased(world))
    }

    @Test func `is given back when the source of keys is released without an end`() async throws {
        let world = try await PlayerWorld()
        let engine = try await Self.stream(world)
        do {
            let keys = LicenseKeys(engine)
            guard case .granted = await keys.key(.content("cid:film")) else { throw TestFailure("no key") }
        }
        try await waitUntil { try await Self.isReleased(world) }
    }

    @Test func `is given back when the use is stopped while it begins`() async throws {
        let world = try await PlayerWorld()
        let engine = try await Self.stream(world)
        let session = try await engine.open("cid:film", LicensedUse(action: .play))
        let begin = Task { try await session.begin() }
        await session.stop()
        _ = await begin.result
        #expect(try await Self.isReleased(world))
        let error = await #expect(throws: PlayerError.self) { try await session.key(PlayerWorld.kid) }
        #expect(error?.code == .stopped)
    }

    @Test func `of a token that nothing used is given back`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let redeemed = try await engine.process(try await world.action { $0.isStorable = false })
        let session = try await engine.begin("cid:film")
        // another session uses it
        await engine.endUnused(redeemed.license)
        #expect(try await !Self.isReleased(world))
        await session.stop()
        #expect(try await Self.isReleased(world))
        let unused = try await engine.process(try await world.action { $0.isStorable = false })
        await engine.endUnused(unused.license)
        #expect(try await engine.check("cid:film").result.reason == .noLicense)
    }
}
