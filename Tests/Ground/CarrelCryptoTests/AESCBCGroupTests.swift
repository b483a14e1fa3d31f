// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMultiBuffer
import Testing

struct `AES in CBC mode for several messages in parallel` {
    @Test(arguments: [1, 2, 7, 16, 17, 33, 70])
    func `gives each message what it gets alone, whatever its length and its place`(count: Int) throws {
        var random = Seeded(seed: UInt64(count))
        let messages = (0..<count).map { _ in
            // some are longer than the library takes in one call, some by exactly nothing
            let blocks = [Int.random(in: 1...300, using: &random), 4094, 4095, 4096, 9000].randomElement(using: &random) ?? 1
            return Sample(
                key: (0..<16).map { _ in .random(in: 0...255, using: &random) },
                iv: (0..<16).map { _ in .random(in: 0...255, using: &random) },
                plain: (0..<16 * blocks).map { UInt8(truncatingIfNeeded: $0 &* blocks) }
            )
        }
        let together = try encryptTogether(messages)
        for (message, cipher) in zip(messages, together) {
            var alone = try AESCBCEncryptor(key: Secret(message.key), iv: message.iv)
            let expected = try collect(capacity: message.plain.count) { try alone.update(message.plain.rawSpan, into: &$0) }
            #expect(cipher == expected)
        }
    }

    @Test(arguments: [1, 2, 16])
    func `gives the cipher text of SP 800-38A F.2.1`(count: Int) throws {
        let vector = `AES in CBC mode`.nist[0]
        let sample = Sample(key: hex(vector.key), iv: hex(vector.iv), plain: hex(vector.plain))
        #expect(
            try encryptTogether(Array(repeating: sample, count: count)) == Array(repeating: hex(vector.cipher), count: count)
        )
    }

    @Test func `takes no message, and messages of nothing`() throws {
        #expect(try encryptTogether([]).isEmpty)
        let key = [UInt8](repeating: 1, count: 16)
        let empty = Sample(key: key, iv: key, plain: [])
        let full = Sample(key: key, iv: key, plain: key)
        let together = try encryptTogether([empty, full, empty])
        #expect(together.map(\.count) == [0, 16, 0])
        #expect(together[1] == (try encryptTogether([full])[0]))
    }

    @Test(arguments: [(15, 16, 16), (32, 16, 16), (16, 15, 16), (16, 16, 17)])
    func `refuses keys, vectors and messages of other lengths`(key: Int, iv: Int, plain: Int) {
        let sample = Sample(key: bytes(key), iv: bytes(iv), plain: bytes(plain))
        let caught = #expect(throws: CryptoError.self) { try encryptTogether([sample]) }
        #expect(caught?.code == (key != 16 ? .keyLength : iv != 16 ? .ivLength : .length))
    }

    @Test func `may be called from many threads concurrently`() async throws {
        try await withThrowingTaskGroup { group in
            for seed in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let sample = Sample(key: bytes(16), iv: bytes(16), plain: bytes(16 * (seed + round + 1)))
                        let together = try encryptTogether([sample, sample, sample])
                        #expect(Set(together).count == 1)
                        #expect(together.first == (try encryptTogether([sample]).first))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

private struct Sample: Sendable {
    let key, iv, plain: [UInt8]
}

/// The cipher texts, made in one piece of memory so that a write past a message shows.
private func encryptTogether(_ samples: [Sample]) throws -> [[UInt8]] {
    let gap = 48
    var memory = samples.flatMap { $0.plain + [UInt8](repeating: 0xee, count: gap) }
    try unsafe memory.withUnsafeMutableBytes { memory in
        var at = 0
        var messages: [AESCBCGroup.Message] = []
        for sample in samples {
            let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[at..<at + sample.plain.count])
            unsafe messages.append(try AESCBCGroup.Message(key: Secret(sample.key), iv: sample.iv, bytes: bytes))
            at += sample.plain.count + gap
        }
        try AESCBCGroup.encrypt(messages)
    }
    var rest = memory[...]
    return samples.map { sample in
        let cipher = Array(rest.prefix(sample.plain.count))
        rest = rest.dropFirst(sample.plain.count)
        #expect(rest.prefix(gap).allSatisfy { $0 == 0xee })
        rest = rest.dropFirst(gap)
        return cipher
    }
}

private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed &+ 1 }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
