// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import Glibc
import ProtectedMedia
import Testing

struct `The evidence for a key` {
    /// The outcome of a decryption: the error, or the keys that are not verified.
    private static func decryption(_ path: String, _ keys: GivenKeys) async throws -> (error: MediaError?, unverified: [String]) {
        do {
            let decryption = try await MediaDecryption(of: try LocalFile(path), keys: keys)
            var sink = BytesSink()
            try decryption.write(to: &sink)
            return (nil, decryption.unverifiedKeys)
        } catch let error as MediaError {
            return (error, [])
        }
    }

    @Test func `is for one key id: the same bytes may be wrong for another one`() throws {
        let evidence = KeyEvidence()
        let key = Secret([UInt8](repeating: 7, count: 16))
        let audio = evidence.use(key, for: [1], "the audio")
        let pictures = evidence.use(key, for: [2], "the pictures")
        evidence.verify(audio)
        #expect(evidence.unverified == ["the pictures"])
        evidence.verify(pictures)
        #expect(evidence.unverified.isEmpty)
    }

    @Test(arguments: ["cenc/av.cenc.mp4", "cenc/av-nonfrag.cenc.mp4"])
    func `verifies the keys of films of other programs`(name: String) async throws {
        let fixture = try #require(ProtectedFixture.named(name).first)
        let result = try await Self.decryption(try Fixtures.path("media/\(name)"), fixture.keys)
        #expect(result.error == nil && result.unverified.isEmpty, "\(result)")
    }

    @Test func `does not verify the key of a playlist whose clear segments are not media, and names it wrong`() async throws {
        let directory = TemporaryDirectory()
        directory.write("key", [UInt8](repeating: 1, count: 16))
        // a block of padding after blocks that are not media
        var block = [UInt8](repeating: 0x3c, count: 64)
        var cipher = try AESStream(.chainedEncrypt, key: Secret([UInt8](repeating: 1, count: 16)))
        block += [UInt8](repeating: 16, count: 16)
        cipher.start(AESBlock(high: 0, low: 0))
        do {
            var elements = block.mutableSpan
            var bytes = unsafe elements.mutableBytes
            cipher.apply(to: &bytes, in: 0..<80)
        }
        directory.write("a.ts", block)
        let list = directory.write(
            "list.m3u8",
            "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n#EXTINF:9,\na.ts\n#EXT-X-ENDLIST\n"
        )
        let result = try await Self.decryption(list, GivenKeys())
        #expect(result.error?.code == .wrongKey)
    }

    @Test func `names no file outside the folder of a playlist, whatever links lead there`() async throws {
        let directory = TemporaryDirectory()
        unsafe mkdir(directory.file("list"), 0o755)
        directory.write("outside.aac", Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 0])
        unsafe symlink("../outside.aac", directory.file("list/a.aac"))
        let list = directory.write(
            "list/list.m3u8",
            "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\na.aac\n#EXT-X-ENDLIST\n"
        )
        let result = try await Self.decryption(list, GivenKeys())
        #expect(result.error?.code == .unsupported)
    }
}
