// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

/// Keys with terms.
private struct TermedKeys: ContentKeySource {
    var keys: GivenKeys
    var relaxesOutput = true
    var end: Instant?

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        guard case .granted(var grant) = await keys.key(name) else { return .unknown }
        grant.relaxesOutput = relaxesOutput
        grant.end = ContentKeyEnd(end)
        return .granted(grant)
    }
}

struct `Keys for plain files` {
    private static let names: Set<String> = [
        "cenc/av.cenc.mp4", "dcf/av.pdcf-ctr.mp4", "marlin/av.acbc.mp4", "dcf/multi-object.dcf", "hls/sample-aes/stream.m3u8",
    ]

    @Test(arguments: ProtectedFixture.all.filter { names.contains($0.name) })
    func `are refused when they end, or ask for controls of the output`(fixture: ProtectedFixture) async throws {
        let file = try LocalFile(try Fixtures.path("media/\(fixture.name)"))
        var given = fixture.keys
        if fixture.name.hasSuffix(".m3u8") { given.add(Secret([UInt8](repeating: 1, count: 16)), for: nil) }
        let now = Instant(milliseconds: 1000)
        func open(_ keys: TermedKeys) async throws { _ = try await MediaDecryption(of: file, keys: keys, now: now) }
        try await open(TermedKeys(keys: given, end: now.advanced(byMilliseconds: 1)))
        await #expect(throws: MediaError(.expiredKey, "")) { try await open(TermedKeys(keys: given, end: now)) }
        await #expect(throws: MediaError(.outputControl, "")) { try await open(TermedKeys(keys: given, relaxesOutput: false)) }
    }

    @Test func `cover all kinds of files`() {
        #expect(Set(ProtectedFixture.all.map(\.name)).isSuperset(of: Self.names))
    }

    @Test(arguments: ProtectedFixture.all.filter { names.contains($0.name) })
    func `are refused with 32 bytes where the cipher has 16`(fixture: ProtectedFixture) async throws {
        let file = try LocalFile(try Fixtures.path("media/\(fixture.name)"))
        var keys = GivenKeys()
        keys.add(Secret([UInt8](repeating: 1, count: 32)), for: nil)
        await #expect(throws: MediaError(.wrongKey, "")) {
            var sink = BytesSink()
            try (try await MediaDecryption(of: file, keys: keys)).write(to: &sink)
        }
    }

    @Test func `are not shown by errors`() async throws {
        let key = "00112233445566778899aabbccddeeff"
        var keys = GivenKeys()
        for text in [
            "\(key):1", "\(key)\(key):1", "\(key.dropLast()):x", "\(key)\(key):\(key)", "1:\(key):zz", "\(key)0:\(key)", key,
        ] {
            let error = #expect(throws: MediaError.self) { try keys.add(text) }
            #expect(error?.message.contains("0112233") == false, "\(error?.message ?? "")")
        }
        let short = #expect(throws: MediaError.self) { try keys.add("7:00") }
        #expect(short?.message.contains("'7'") == true)
        let directory = TemporaryDirectory()
        directory.write("a.ts", [UInt8](repeating: 0x47, count: 32))
        let text = "AAECAwQFBgcICQoLDA0ODw"
        for uri in ["data:text/plain,\(text)", "DATA:text/plain;base64,\(text)="] {
            directory.write(
                "list.m3u8",
                """
                #EXTM3U
                #EXT-X-TARGETDURATION:9
                #EXT-X-KEY:METHOD=AES-128,URI="\(uri)"
                #EXTINF:9,
                a.ts
                #EXT-X-ENDLIST

                """
            )
            let file = try LocalFile(directory.file("list.m3u8"))
            let error = await #expect(throws: MediaError.self) { _ = try await MediaDecryption(of: file, keys: GivenKeys()) }
            #expect(error?.code == .missingKey)
            #expect(
                error?.message.lowercased().contains("data:") == true && error?.message.contains(text) == false,
                "\(error?.message ?? "")"
            )
        }
    }
}
