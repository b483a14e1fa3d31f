// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelCrypto
import CarrelLicensing
import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelLicenseKeys
import CarrelMedia
import CarrelMediaSource
import CarrelPlayer
import CarrelProxy
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelTesting
import Testing

@Suite(.serialized) struct `A proxy under stored licenses` {
    private static func proxy(_ change: (inout PlaylistProxy.Options) -> Void = { _ in }) throws -> PlaylistProxy {
        var options = PlaylistProxy.Options()
        change(&options)
        let proxy = try PlaylistProxy(options: options)
        try proxy.start()
        return proxy
    }

    @Test(arguments: LicensedSource.all) func `serves the frames of the clear source`(source: LicensedSource) async throws {
        let (world, folder) = (try await PlayerWorld(), TemporaryDirectory())
        let engine = try await world.player()
        let licenses = try await LicensedSource.license(source.keys, for: engine, world)
        let proxy = try Self.proxy()
        let session = try proxy.makeURL(try await source.path(in: folder), source.type, keys: LicenseKeys(engine))
        let summary = try await session.check()
        #expect(summary.warnings == [])
        let played = try await LicensedSource.frames(session.url)
        let clear = try await LicensedSource.frames(try Fixtures.path(LicensedSource.clear))
        #expect(played.pictures == clear.pictures && clear.pictures.count > 100)
        // the frame with which the encoder primes is cut off by the edit list of the clear file alone
        let isLess = played.audio[...] == clear.audio.dropFirst() || played.audio.dropFirst() == clear.audio[...]
        #expect(played.audio == clear.audio || isLess)
        // one play for the session, under each license that it used
        var plays: [Int] = []
        for license in licenses { plays.append(try await engine.licenses().license(license)?.plays ?? -1) }
        #expect(plays.max() == 1 && plays.allSatisfy { $0 >= 0 }, "\(plays)")
        await proxy.stop()
    }

    @Test func `serves a DCF, and counts one play for each session`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        let proxy = try Self.proxy()
        let keys = LicenseKeys(note.engine)
        for count in 1...2 {
            let path = try Fixtures.path(LicensedNote.path)
            let session = try proxy.makeURL(path, .singleFile, keys: keys, clock: note.world.clock)
            for _ in 0..<3 {
                let response = try await HTTPClient().send(ClientRequest(session.url))
                #expect(try response.status == .ok && response.body == LicensedNote.clear())
            }
            #expect(try await note.plays() == count)
        }
        await proxy.stop()
    }

    @Test func `stores a license inside the source first`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        let folder = TemporaryDirectory()
        let file = folder.write("note.dcf", try #require(Fixtures.bytes(at: try Fixtures.path(LicensedNote.path))))
        let data = try #require(try await note.engine.licenses().license(note.license)?.data)
        try await note.engine.removeLicense(note.license)
        // the first is of another system
        try await MediaFile.embed(licenses: [Array("<ro/>".utf8), Array(data.utf8)], in: file)
        let proxy = try Self.proxy()
        let session = try proxy.makeURL(file, .singleFile, keys: LicenseKeys(note.engine), clock: note.world.clock)
        let response = try await HTTPClient().send(ClientRequest(session.url))
        #expect(try response.body == LicensedNote.clear())
        #expect(try await note.plays() == 1)
        await proxy.stop()
    }

    @Test func `stops within two seconds of a revocation`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let source = LicensedSource.all[0]
        let licenses = try await LicensedSource.license(source.keys, for: engine, world)
        let proxy = try Self.proxy()
        let path = try await source.path(in: TemporaryDirectory())
        let session = try proxy.makeURL(path, source.type, keys: LicenseKeys(engine), clock: world.clock)
        let client = HTTPClient()
        let top = String(decoding: try await client.send(ClientRequest(session.url)).body, as: UTF8.self)
        let media = try #require(top.split(separator: "\n").first { !$0.hasPrefix("#") })
        let list = URIReference.resolve(String(media), against: session.url)
        let text = String(decoding: try await client.send(ClientRequest(list)).body, as: UTF8.self)
        let segments = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { URIReference.resolve(String($0), against: list) }
        #expect(try await client.send(ClientRequest(segments[0], maxResponseBytes: 16 << 20)).status == .ok)
        for license in licenses { _ = try await world.service.licenses.revoke(license, by: .operator) }
        try await engine.updateSecurityData()
        try await Task.sleep(for: .milliseconds(1900))
        let refused = try await client.send(ClientRequest(segments[1], maxResponseBytes: 16 << 20))
        #expect(refused.status == .forbidden)
        #expect(proxy.takeLastError()?.code == .refusedKey)
        await proxy.stop()
    }

    // MARK: - Renditions

    @Test func `leaves out renditions whose key the license lacks`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let proxy = try Self.proxy()
        for index in [0, 1, 5] {
            let (source, folder) = (LicensedSource.all[index], TemporaryDirectory())
            let path = try await source.path(in: folder)
            let nothing = try proxy.makeURL(path, source.type, keys: LicenseKeys(try await world.player("other \(index)")))
            let error = await #expect(throws: ProxyError.self) { try await nothing.check() }
            #expect(error?.code == .missingKey, "\(source)")
            _ = try await LicensedSource.license([source.keys[1]], for: engine, world)
            let session = try proxy.makeURL(path, source.type, keys: LicenseKeys(engine))
            let summary = try await session.check()
            #expect(summary.warnings.count == 1 && summary.warnings.first?.hasPrefix("left out: ") == true, "\(source)")
            let frames = try await LicensedSource.frames(session.url)
            #expect(frames.pictures.isEmpty && frames.audio.count > 100, "\(source)")
        }
        await proxy.stop()
    }

    @Test(arguments: [(520_000, true), (1000, false)])
    func `leaves out pictures that are larger than the license allows`(pixels: Int, isAllowed: Bool) async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let source = LicensedSource.all[0]
        let licenses = try await LicensedSource.license(source.keys, for: engine, world)
        let data = try #require(try await engine.licenses().license(licenses[0])?.data)
        try await engine.addLicense(
            try await world.reissued(data) { $0.add(.imageConstraint, ["pixels": .integer(Int64(pixels))]) }
        )
        let proxy = try Self.proxy()
        let session = try proxy.makeURL(try await source.path(in: TemporaryDirectory()), source.type, keys: LicenseKeys(engine))
        let summary = try await session.check()
        #expect(summary.warnings.isEmpty == isAllowed)
        let frames = try await LicensedSource.frames(session.url)
        #expect(frames.pictures.isEmpty == !isAllowed && frames.audio.count > 100)
        // with the sound left out too, nothing remains
        if !isAllowed {
            try await engine.removeLicense(licenses[1])
            let empty = try proxy.makeURL(
                try await source.path(in: TemporaryDirectory()),
                source.type,
                keys: LicenseKeys(engine)
            )
            let error = await #expect(throws: ProxyError.self) { try await empty.check() }
            #expect(error?.code == .outputControl && error?.message.contains("1000 pixels") == true)
        }
        await proxy.stop()
    }

    @Test func `keeps the rule of output for given keys in a chain`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        var given = GivenKeys()
        given.add(LicensedNote.key.withBytes { [UInt8](copying: $0) }, for: .content(LicensedNote.content))
        let proxy = try Self.proxy { $0.policy = .compatible }
        let path = try Fixtures.path(LicensedNote.path)
        let chain = ContentKeySources([given, LicenseKeys(note.engine)])
        let refused = try proxy.makeURL(path, .singleFile, keys: chain)
        let error = await #expect(throws: ProxyError.self) { try await refused.check() }
        #expect(error?.code == .outputControl)
        let licensed = try proxy.makeURL(path, .singleFile, keys: ContentKeySources([LicenseKeys(note.engine), given]))
        _ = try await licensed.check()
        await proxy.stop()
    }
}
