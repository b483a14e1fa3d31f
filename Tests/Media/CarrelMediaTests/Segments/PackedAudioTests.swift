// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

struct `Encrypted audio without a container` {
    private static let key = Secret([UInt8](1...16))
    private static let vector = [UInt8](101...116)

    /// A tag, frames of AAC of many lengths, and another tag between them.
    private static func clear() -> [[UInt8]] {
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 20] + [UInt8](repeating: 0x55, count: 20)
        let frames = [22, 8, 23, 38, 39, 40, 55, 371, 5000, 8].map { length -> [UInt8] in
            let head: [UInt8] = [
                0xff, 0xf1, 0x4c, 0x80 | UInt8(length >> 11), UInt8(truncatingIfNeeded: length >> 3),
                UInt8(length & 7) << 5 | 0x1f, 0xfc,
            ]
            return head + (7..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        }
        return [tag] + frames.prefix(5) + [tag] + frames.dropFirst(5)
    }

    private static func encrypted() throws -> [UInt8] {
        let iv = AESBlock(vector.rawSpan)
        var cipher = try SampleAES(.encrypt, key: key, iv: try #require(iv))
        var out: [UInt8] = []
        for part in clear() {
            var part = part
            if part[0] == 0xff { try cipher.apply(to: &part, coding: .aac) }
            out += part
        }
        return out
    }

    private static func decrypt(_ bytes: [UInt8], pieces: Int) async throws -> [UInt8] {
        var keys = GivenKeys()
        keys.add(key, for: .address("key"))
        var line = EncryptionKey(uri: "key")
        line.method = .sampleAES
        line.initializationVector = vector
        var decrypter = try await MediaSegmentDecrypter(line, segment: 3, keys: keys)
        var sink = BytesSink()
        for at in stride(from: 0, to: bytes.count, by: pieces) {
            try await decrypter.decrypt(bytes.rawSpan.extracting(at..<min(bytes.count, at + pieces)), to: &sink)
        }
        try await decrypter.finish(to: &sink)
        return sink.bytes
    }

    @Test(arguments: [1, 2, 7, 9, 10, 11, 100, 1 << 20]) func `comes out clear, in pieces of any size`(pieces: Int) async throws {
        let bytes = try Self.encrypted()
        let clear = Self.clear().flatMap(\.self)
        #expect(bytes != clear)
        #expect(try await Self.decrypt(bytes, pieces: pieces) == clear)
    }

    @Test func `that is cut off, or damaged, is an error and no trap`() async throws {
        let bytes = try Self.encrypted()
        var ends: Set<Int> = []
        var at = 0
        for part in Self.clear() {
            at += part.count
            ends.insert(at)
        }
        for count in stride(from: 8, to: 700, by: 1) where !ends.contains(count) {
            await #expect(throws: (any Error).self, "\(count)") { try await Self.decrypt(Array(bytes.prefix(count)), pieces: 64) }
        }
        var random = SplitMix(seed: 17)
        for _ in 0..<300 {
            var damaged = bytes
            for _ in 0..<3 {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? await Self.decrypt(damaged, pieces: 333)
        }
    }
}
