// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
@testable import CarrelLicenseKeys
import CarrelLicensing
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelTokens
import Testing

@Suite(.serialized) struct `A license that ends while it is in use` {
    /// How a device learns that it may not play any more.
    enum Cause: CaseIterable, Sendable { case revoked, revokedByAnotherProcess, removed, expired, clockSetBack, pictures }

    @Test(arguments: Cause.allCases) func `stops streams within two seconds`(cause: Cause) async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        let end = world.clock.now.wholeSecond + .seconds(3600)
        try await note.reissue { $0.setTerm("exp", end.seconds) }
        let keys = LicenseKeys(note.engine)
        let stream = try await note.stream(keys)
        let use = try #require(try await keys.license(of: LicensedNote.content))
        #expect(try await stream.read(0..<16).count == 16)
        switch cause {
        case .revoked:
            _ = try await world.service.licenses.revoke(note.license, by: .operator)
            try await note.engine.updateSecurityData()
        case .revokedByAnotherProcess:
            _ = try await world.service.licenses.revoke(note.license, by: .operator)
            let folder = world.directory.file("reader")
            let other = try world.engine(folder, try await world.vault(folder, create: false))
            try await other.updateSecurityData()
            await other.shutdown()
        case .removed: try await note.engine.removeLicense(note.license)
        case .expired: world.wait(.seconds(3700))
        case .clockSetBack:
            world.host.reboot()
            world.clock.advance(by: .seconds(-900))
        case .pictures: try await note.reissue { $0.add(.imageConstraint, ["pixels": 1000]) }
        }
        let start = ContinuousClock.now
        let known = await use.end.ended(by: world.clock)
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(known?.code == (cause == .expired ? known?.code : .refusedKey), "\(String(describing: known))")
        // the ends of all keys are moved together
        try await Task.sleep(for: .milliseconds(50))
        let error = await #expect(throws: MediaError.self) { try await stream.read(16..<32) }
        #expect(error?.code == .refusedKey || error?.code == .expiredKey)
        guard case .refused = await keys.key(.content(LicensedNote.content)) else {
            guard cause == .removed || cause == .pictures else { throw TestFailure("the key is still granted") }
            return
        }
    }

    @Test func `stops a stream that alone keeps its source of keys`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        let stream = try await note.stream(LicenseKeys(note.engine))
        try await Task.sleep(for: .seconds(1))
        #expect(try await stream.read(0..<16).count == 16)
        _ = try await world.service.licenses.revoke(note.license, by: .operator)
        try await note.engine.updateSecurityData()
        try await Task.sleep(for: .seconds(2))
        let error = await #expect(throws: MediaError.self) { try await stream.read(16..<32) }
        #expect(error?.code == .refusedKey && error?.message.contains("revoked") == true)
        await stream.close()
    }

    @Test func `gives way to a newer license of the same content`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        try await note.reissue { $0.setTerm("exp", (world.clock.now.wholeSecond + .seconds(100)).seconds) }
        let keys = LicenseKeys(note.engine)
        guard case .granted(let first) = await keys.key(.content(LicensedNote.content)) else { throw TestFailure("no key") }
        world.wait(.seconds(200))
        guard case .refused = await keys.key(.content(LicensedNote.content)) else { throw TestFailure("a key after the end") }
        let newer = try await note.engine.process(
            try await world.action { rules in
                rules.contents = [.init(contentID: LicensedNote.content, keyID: KeyID(label: "note"), key: LicensedNote.key)]
                rules.outputControlOverride = .init(imageConstraintLevel: 0)
            }
        ).license
        guard case .granted(let second) = await keys.key(.content(LicensedNote.content)) else {
            throw TestFailure("no newer key")
        }
        #expect(second.end.refusal == nil && first.end.refusal != nil)
        #expect(await keys.licenses == [newer])
        #expect(try await note.engine.licenses().license(newer)?.plays == 1)
    }

    @Test func `is renewed by two uses at a time`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        let (engine, license) = (note.engine, note.license)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await engine.contactService(of: license) } }
            try await group.waitForAll()
        }
        #expect(try await engine.contactTerms(of: license)?.sequence ?? 0 > 1)
    }

    @Test func `stops a decrypter of segments`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        let keys = LicenseKeys(note.engine)
        let line = "#EXT-X-KEY:METHOD=AES-128,URI=\"urn:marlin:kid:\(KeyID(label: "note").hex)\""
        var decrypter = try await MediaSegmentDecrypter(keyLine: line, segment: 0, keys: keys)
        var sink = BytesSink()
        let piece = [UInt8](repeating: 7, count: 64)
        try await decrypter.decrypt(piece.rawSpan, to: &sink)
        try await note.engine.removeLicense(note.license)
        try await Task.sleep(for: .seconds(2))
        var code: MediaError.Code?
        do { try await decrypter.decrypt(piece.rawSpan, to: &sink) } catch { code = (error as? MediaError)?.code }
        #expect(code == .refusedKey)
    }

    @Test func `continues after a renewal, without another key`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        let end = world.clock.now.wholeSecond + .seconds(100)
        try await note.reissue { $0.setTerm("exp", end.seconds) }
        let keys = LicenseKeys(note.engine)
        let stream = try await note.stream(keys)
        let use = try #require(try await keys.license(of: LicensedNote.content))
        #expect(use.end.instant == end)
        try await note.reissue { $0.setTerm("exp", (end + .seconds(1000)).seconds) }
        try await waitUntil { use.end.instant == end + .seconds(1000) }
        world.wait(.seconds(200))
        try await Task.sleep(for: .milliseconds(700))
        #expect(try await stream.read(upTo: 1 << 20) == LicensedNote.clear())
        #expect(try await note.plays() == 1)
    }

    @Test func `is renewed at the time that it names`() async throws {
        let world = try await PlayerWorld()
        let end = world.clock.now.wholeSecond + .seconds(3600)
        let note = try await LicensedNote(world) { $0.rights = .rental(periodEnd: end, playDuration: 7200) }
        // after half of the time that is left
        world.wait(.seconds(1900))
        let before = try #require(try await note.engine.licenses().license(note.license))
        _ = try await note.stream()
        let keys = LicenseKeys(note.engine)
        _ = await keys.key(.content(LicensedNote.content))
        try await waitUntil { try await note.engine.licenses().license(note.license)?.reportedPlays ?? 0 >= 1 }
        #expect(try await note.engine.licenses().license(note.license)?.data != before.data)
    }

    @Test func `ends nothing without a network, unless it must be attended`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        let free = LicenseKeys(note.engine)
        let stream = try await note.stream(free)
        let use = try #require(try await free.license(of: LicensedNote.content))
        await world.server.shutdown(grace: .seconds(1))
        try await Task.sleep(for: .milliseconds(1500))
        #expect(use.end.refusal == nil)
        #expect(try await stream.read(0..<16).count == 16)
        await free.end()

        try world.answer()
        try await world.service.database.write { transaction in
            let wudo = #"{"type":"wudo","parameters":{"imageConstraintLevel":0},"critical":false}"#
            let attended = #"{"type":"attended","parameters":{"seconds":1},"critical":true}"#
            try transaction.run(SQL("UPDATE licenses SET obligations = $1"), [.text("[\(wudo),\(attended)]")])
        }
        try await note.engine.renew(note.license)
        // a player that does not contact the service does not meet the obligation
        #expect(try await note.engine.check(LicensedNote.content).result.reason == .unsupportedObligation)
        await world.server.shutdown(grace: .seconds(1))
        let refused = await LicenseKeys(note.engine).key(.content(LicensedNote.content))
        guard case .refused(let reason) = refused else { throw TestFailure("granted without contact") }
        #expect(reason.contains("contact"))
        #expect(try await note.plays() == 1)
        try world.answer()
        let attended = LicenseKeys(note.engine)
        let attendedStream = try await note.stream(attended)
        #expect(try await note.plays() == 2)
        #expect(try await attendedStream.read(0..<16).count == 16)
        // a contact without an answer denies, and the next one with an answer allows again
        let end = try #require(try await attended.license(of: LicensedNote.content)).end
        await world.server.shutdown(grace: .seconds(1))
        #expect(await end.ended(by: world.clock)?.code == .refusedKey)
        try world.answer()
        try await waitUntil { end.refusal == nil }
        #expect(try await attendedStream.read(16..<32).count == 16)
    }

    @Test func `is refused ten seconds after its service stalls, if it must be attended`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        try await note.reissue { $0.add(.attended, ["seconds": 1]) }
        await world.server.shutdown(grace: .seconds(1))
        var router = Router()
        router.on(.post, "{path...}", acceptsForms: true, acceptsOtherOrigins: true) { _, _ in
            try await Task.sleep(for: .seconds(20))
            return HTTPResponse(headers: ["Content-Type": "text/plain"], body: .bytes([]))
        }
        try world.answer(router)
        let start = ContinuousClock.now
        let answer = await LicenseKeys(note.engine).key(.content(LicensedNote.content))
        guard case .refused(let reason) = answer else { throw TestFailure("granted without contact") }
        #expect(reason.contains("10 s"), "\(reason)")
        #expect(ContinuousClock.now - start < .seconds(15))
        #expect(try await note.plays() == 0)
        await world.server.shutdown(grace: .seconds(1))
    }

    @Test func `asks for the list of revocations with its entity tag`() async throws {
        let world = try await PlayerWorld()
        let note = try await LicensedNote(world)
        await note.engine.shutdown()
        let statuses = Locked<[Int?]>([])
        let folder = world.directory.file("reader")
        func engine() async throws -> PlayerEngine {
            try world.engine(folder, try await world.vault(folder, create: false)) { transaction in
                if case .call("GET", let url, let status, _) = transaction, url.hasSuffix("/v1/license/revocations") {
                    statuses.withLock { $0.append(status) }
                }
            }
        }
        let first = try await engine()
        try await first.updateSecurityData()
        #expect(await first.followRevocations() == .seconds(300))
        // not again within five minutes
        #expect(await first.followRevocations() <= .seconds(300))
        await first.shutdown()
        #expect(statuses.withLock { $0 } == [200, 304])
        // after a restart too
        let second = try await engine()
        _ = await second.followRevocations()
        #expect(statuses.withLock { $0 } == [200, 304, 304])
        _ = try await world.service.licenses.revoke(note.license, by: .operator)
        try await second.updateSecurityData()
        #expect(statuses.withLock { $0 } == [200, 304, 304, 200])
        #expect(try await second.check(LicensedNote.content).result.reason == .revoked)
        await second.shutdown()
    }
}
