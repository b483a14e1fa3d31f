// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import Testing

/// The ciphers of media, compared with ciphers without streaming.
struct `A stream of AES` {
    private static let key = Secret((0..<16).map { UInt8($0 * 7) })
    private static let long = Secret((0..<32).map { UInt8($0 * 5 + 1) })

    private static func text(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 ^ $0 >> 3) } }

    /// The key stream of one block, by CBC over a block of zeros.
    private static func keyStream(_ key: Secret, _ counter: AESBlock) throws -> [UInt8] {
        let cipher = try AESStream(.chainedEncrypt, key: key)
        return Self.apply(cipher, AESBlock(high: 0, low: 0), counter.bytes)
    }

    private static func apply(_ cipher: consuming AESStream, _ iv: AESBlock, _ text: [UInt8], steps: [Int] = []) -> [UInt8] {
        var bytes = text
        let count = text.count
        var spanElements = bytes.mutableSpan
        var span = unsafe spanElements.mutableBytes
        cipher.start(iv)
        var at = 0
        for step in steps + [count] {
            let end = min(count, at + step)
            cipher.apply(to: &span, in: at..<end)
            at = end
        }
        return bytes
    }

    @Test(arguments: [16, 32], [UInt64(5), UInt64.max - 2])
    func `counts the low 64 bits, which wrap without a carry`(keyLength: Int, low: UInt64) throws {
        let key = keyLength == 16 ? Self.key : Self.long
        let text = Self.text(16 * 7 + 5)
        let iv = AESBlock(high: 0x0102_0304_0506_0708, low: low)
        var expected: [UInt8] = []
        for block in 0..<8 {
            let stream = try Self.keyStream(key, AESBlock(high: iv.high, low: low &+ UInt64(block)))
            for (i, byte) in stream.enumerated() where block * 16 + i < text.count {
                expected.append(byte ^ text[block * 16 + i])
            }
        }
        #expect(Self.apply(try AESStream(.counter, key: key), iv, text) == expected)
        for step in [1, 5, 15, 16, 17, 40] {
            let steps = [Int](repeating: step, count: text.count / step)
            #expect(Self.apply(try AESStream(.counter, key: key), iv, text, steps: steps) == expected, "in steps of \(step)")
        }
    }

    @Test func `chains blocks over the ends of ranges, both ways`() throws {
        let text = Self.text(160)
        let iv = AESBlock(high: 9, low: 8)
        let whole = Self.apply(try AESStream(.chainedEncrypt, key: Self.key), iv, text)
        #expect(Self.apply(try AESStream(.chainedEncrypt, key: Self.key), iv, text, steps: [16, 48, 32]) == whole)
        #expect(Self.apply(try AESStream(.chainedDecrypt, key: Self.key), iv, whole, steps: [32, 16, 64]) == text)
        // the last part of a block is unchanged
        let odd = Self.apply(try AESStream(.chainedEncrypt, key: Self.key), iv, Array(text.prefix(47)))
        #expect(odd == Array(whole.prefix(32)) + Array(text[32..<47]))
        // a new message begins
        var cipher = try AESStream(.chainedEncrypt, key: Self.key)
        for _ in 0..<2 {
            var bytes = text
            var spanElements = bytes.mutableSpan
            var span = unsafe spanElements.mutableBytes
            cipher.start(iv)
            cipher.apply(to: &span, in: 0..<160)
            #expect(bytes == whole)
        }
    }

    @Test(
        arguments: [
            BlockPattern(crypt: 1, skip: 9), BlockPattern(crypt: 2, skip: 8), BlockPattern(crypt: 5, skip: 5),
            BlockPattern(crypt: 10, skip: 0), BlockPattern.whole, BlockPattern(crypt: 15, skip: 1),
        ],
        [0, 15, 16, 17, 159, 160, 161, 3000, 300_007]
    )
    func `encrypts the blocks of a pattern alone, and finds them again`(pattern: BlockPattern, count: Int) throws {
        let text = Self.text(count + 9)
        let range = 4..<4 + count
        // the encrypted blocks by themselves
        var chosen: [Int] = []
        for block in 0..<count / 16 where pattern.isWhole || block % (pattern.crypt + pattern.skip) < pattern.crypt {
            chosen.append(block)
        }
        let iv = AESBlock(high: 1, low: 2)
        for (there, back) in [(AESStream.Mode.chainedEncrypt, AESStream.Mode.chainedDecrypt), (.counter, .counter)] {
            let plain = chosen.flatMap { text[4 + $0 * 16..<4 + $0 * 16 + 16] }
            let cipherText = Self.apply(try AESStream(there, key: Self.key), iv, plain)
            var expected = text
            for (i, block) in chosen.enumerated() {
                expected.replaceSubrange(4 + block * 16..<20 + block * 16, with: cipherText[i * 16..<i * 16 + 16])
            }
            var bytes = text
            var cipher = try AESStream(there, key: Self.key)
            cipher.start(iv)
            var spanElements = bytes.mutableSpan
            var span = unsafe spanElements.mutableBytes
            cipher.apply(to: &span, in: range, pattern: pattern)
            #expect(bytes == expected)
            var decipher = try AESStream(back, key: Self.key)
            decipher.start(iv)
            var otherElements = bytes.mutableSpan
            var other = unsafe otherElements.mutableBytes
            decipher.apply(to: &other, in: range, pattern: pattern)
            #expect(bytes == text)
        }
    }

    @Test func `takes keys of 16 and 32 bytes alone`() {
        for count in [0, 15, 17, 24, 33] {
            #expect(throws: CryptoError.self) { _ = try AESStream(.counter, key: Secret(Self.text(count))) }
        }
    }

    @Test func `reads vectors of 8 and 16 bytes`() {
        let bytes = Self.text(16)
        let half = Array(bytes.prefix(8))
        #expect(AESBlock(bytes.rawSpan)?.bytes == bytes)
        #expect(AESBlock(half.rawSpan)?.bytes == half + [UInt8](repeating: 0, count: 8))
        let other = Array(bytes.prefix(9))
        #expect(AESBlock(other.rawSpan) == nil)
        #expect(AESBlock(high: 1, low: .max).advanced(by: 2) == AESBlock(high: 1, low: 1))
        #expect(AESBlock(high: 1, low: .max).carried(by: 2) == AESBlock(high: 2, low: 1))
    }
}
