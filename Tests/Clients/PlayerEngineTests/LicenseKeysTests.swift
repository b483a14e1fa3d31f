// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
@testable import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

struct `Stored licenses as keys` {
    private static func granted(_ answer: ContentKeyAnswer) -> ContentKeyGrant? {
        if case .granted(let grant) = answer { grant } else { nil }
    }

    private static func reason(_ answer: ContentKeyAnswer) -> String? {
        if case .refused(let reason) = answer { reason } else { nil }
    }

    @Test func `are found by content id, key id and alias, and count one play for each use`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let before = LicenseKeys(engine)
        guard case .unknown = await before.key(.content("cid:film")) else { throw TestFailure("a key without a license") }
        let license = try await engine.process(try await world.action()).license
        let hex = PlayerWorld.kid.hex
        let lengths = [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)]
        let dashed = lengths.map { hex.dropFirst($0.0).prefix($0.1) }
        let names: [ContentKeyName] = [
            .content("cid:film"), .id(PlayerWorld.kid.bytes), .content("urn:marlin:kid:\(hex)"),
            .content("urn:marlin:kid:\(hex.uppercased())"), .content("urn:uuid:\(dashed.joined(separator: "-"))"),
            .content("cid:\(hex)-film"), .address("skd://\(hex)"),
        ]
        let keys = LicenseKeys(engine)
        for name in names {
            let grant = try #require(Self.granted(await keys.key(name)), "\(name)")
            #expect(grant.key == PlayerWorld.key && grant.end.instant == nil && !grant.relaxesOutput && grant.isLicensed)
            // on the disk before the key is here
            #expect(try await engine.licenses().license(license)?.plays == 1)
        }
        #expect(await keys.licenses == [license])
        let others: [ContentKeyName] = [
            .content("cid:other"), .id([UInt8](repeating: 1, count: 16)), .track(1), .address("https://x/k"),
        ]
        for other in others {
            guard case .unknown = await keys.key(other) else { throw TestFailure("\(other) is known") }
        }
        let second = keys.newUse()
        #expect(Self.granted(await second.key(names[1])) != nil)
        #expect(try await engine.licenses().license(license)?.plays == 2)
        let named = LicenseKeys(engine, content: "cid:film")
        #expect(Self.granted(await named.key(.track(1)))?.key == PlayerWorld.key)
        await keys.end()
        #expect(Self.reason(await keys.key(names[0]))?.contains("has ended") == true)
    }

    @Test func `count one play for many requests at a time`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        let keys = LicenseKeys(note.engine)
        await withTaskGroup { group in
            for _ in 0..<16 { group.addTask { _ = await keys.key(.content(LicensedNote.content)) } }
        }
        #expect(try await note.plays() == 1)
        #expect(try await note.stream(keys).read(upTo: 1 << 20) == LicensedNote.clear())
        #expect(try await note.plays() == 1)
    }

    @Test func `open without a play, and count with the first read of content`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        var settings = LicenseKeys.Settings()
        (settings.action, settings.needsOpenOutput, settings.countsWithFirstKey) = (.read, true, false)
        let keys = LicenseKeys(note.engine, settings)
        let stream = try await note.stream(keys)
        #expect(try await stream.read(upTo: 16).count == 16)
        #expect(try await note.plays() == 0)
        let use = try #require(try await keys.license(of: LicensedNote.content))
        try await use.begin()
        try await use.begin()
        #expect(try await note.plays() == 1)
        #expect(use.license == note.license && use.relaxesOutput)
        #expect(try await use.check(.copy).isGranted)
        #expect(try await note.plays() == 1)
    }

    @Test func `are counted for what is read, and one that is denied stops no other`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        var settings = LicenseKeys.Settings()
        settings.countsWithFirstKey = false
        let keys = LicenseKeys(engine, settings)
        var uses: [LicenseUse] = []
        for name in ["one", "two", "three"] {
            let token = try await world.action { rules in
                rules.contents = [.init(contentID: "cid:\(name)", keyID: KeyID(label: name), key: PlayerWorld.key)]
            }
            try await engine.process(token)
            uses.append(try #require(try await keys.license(of: "cid:\(name)")))
        }
        try await engine.removeLicense(uses[0].license)
        let removed = uses[0]
        await #expect(throws: PlayerError.self) { try await removed.begin() }
        try await uses[1].begin()
        #expect(try await engine.licenses().license(uses[1].license)?.plays == 1)
        #expect(try await engine.licenses().license(uses[2].license)?.plays == 0)
        guard case .granted = await keys.key(.content("cid:two")) else { throw TestFailure("no key of another license") }
        await keys.end()
    }

    @Test func `are requested from other sources after a token failed`() async throws {
        let world = try await PlayerWorld()
        let keys = LicenseKeys(try await world.player())
        await keys.receive(licenseToken: try await world.action { $0.expiresAt = world.clock.now - .seconds(1) })
        let reason = try #require(Self.reason(await keys.key(.content("cid:film"))))
        #expect(await keys.tokenFailure == reason)
        var given = GivenKeys()
        given.add(Array(0..<16), for: .content("cid:film"))
        let chain = ContentKeySources([keys, given])
        #expect(Self.granted(await chain.key(.content("cid:film")))?.isGiven == true)
        #expect(Self.reason(await chain.key(.content("cid:other"))) == reason)
        #expect(await chain.tokenFailure == reason)
    }

    @Test func `in files are redeemed at the device's own service alone`() async throws {
        let world = try await PlayerWorld()
        let keys = LicenseKeys(try await world.player())
        let action = try await world.action()
        await keys.receive(licenseInFile: action.replacing(world.url, with: "https://other.example"))
        #expect(await keys.tokenFailure?.contains("another server") == true)
        await keys.receive(licenseInFile: "ms3://other.example/rights/?b=AAwAAwAA#https%3A%2F%2Fcdn.example%2Ffilm.mpd")
        #expect(await keys.tokenFailure?.contains("another server") == true)
        #expect(Self.granted(await keys.key(.content("cid:film"))) == nil)
        await keys.receive(licenseInFile: action)
        #expect(await keys.tokenFailure == nil)
        #expect(Self.granted(await keys.key(.content("cid:film"))) != nil)
    }

    @Test func `are refused with the reason`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        try await note.reissue { $0.setTerm("plays", 1) }
        #expect(Self.granted(await LicenseKeys(note.engine).key(.content(LicensedNote.content))) != nil)
        let spent = await LicenseKeys(note.engine).key(.content(LicensedNote.content))
        #expect(Self.reason(spent)?.contains("count-exhausted") == true)
        #expect(try await note.plays() == 1)
        // a license that keeps the output rule opens no DCF
        let kept = try await LicensedNote(try await PlayerWorld()) { $0.outputControlOverride = nil }
        let error = await #expect(throws: MediaError.self) { try await kept.stream() }
        #expect(error?.code == .outputControl)
    }

    @Test func `are stored first, signed or as a token`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let keys = LicenseKeys(engine)
        await keys.receive(licenseToken: "a license of another system")
        guard case .unknown = await keys.key(.content("cid:film")) else { throw TestFailure("a key without a license") }
        await keys.receive(licenseToken: try await world.action { $0.expiresAt = world.clock.now - .seconds(1) })
        #expect(Self.reason(await keys.key(.content("cid:film"))) != nil)
        await keys.receive(licenseToken: try await world.action())
        #expect(Self.granted(await keys.key(.content("cid:film"))) != nil)
        let data = try #require(try await engine.licenses().licenses(after: "", limit: 1).first?.data)
        let other = try await world.player("other")
        let foreign = await #expect(throws: PlayerError.self) { try await LicenseKeys(other).add(data) }
        #expect(foreign?.code == .rejected)
    }

    @Test func `limit the pixels of pictures, which a stream of bytes does not know`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        try await note.reissue { $0.add(.imageConstraint, ["pixels": 520_000]) }
        let grant = try #require(Self.granted(await LicenseKeys(note.engine).key(.content(LicensedNote.content))))
        #expect(grant.maxPixels == 520_000)
        // headers without tags may be changed: what they call text may be a movie
        let untagged = await #expect(throws: MediaError.self) { try await note.stream() }
        #expect(untagged?.code == .outputControl)
        // text has no pictures
        let text = MediaStream.RawFormat(key: .content(LicensedNote.content), iv: nil, contentType: "text/plain")
        let stream = try await MediaStream.open(
            MemorySource(Array(0..<64)),
            as: .aes128CTR(text),
            keys: LicenseKeys(note.engine)
        )
        #expect(try await stream.read(upTo: 100).count == 48)
        let raw = MediaStream.RawFormat(key: .content(LicensedNote.content), iv: nil, contentType: "video/mp4")
        let error = await #expect(throws: MediaError.self) {
            try await MediaStream.open(MemorySource(Array(0..<64)), as: .aes128CTR(raw), keys: LicenseKeys(note.engine))
        }
        #expect(error?.code == .outputControl && error?.message.contains("520000 pixels") == true)
    }
}

/// An expectation that a pattern does not state.
struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
