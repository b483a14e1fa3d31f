// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `AES in counter mode` {
    private let cipher: AESCounter

    init() throws {
        cipher = try AESCounter(key: Secret([UInt8](repeating: 0, count: 32)))
    }

    /// Test cases 14 and 15 of "The Galois/Counter Mode of Operation" (McGrew, Viega), whose counter it has, without their tags.
    @Test func `gives the cipher text of GCM`() throws {
        let zeros = [UInt8](repeating: 0, count: 16)
        #expect(try cipher.apply(to: zeros.rawSpan, nonce: Array(zeros[..<12])) == hex("cea7403d4d606b6e074ec5d3baf39d18"))
        let other = try AESCounter(key: Secret(hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")))
        let text = hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72")
        let sealed = hex("522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa")
        let nonce = hex("cafebabefacedbaddecaf888")
        #expect(try other.apply(to: text.rawSpan, nonce: nonce) == sealed)
        #expect(try other.apply(to: sealed.rawSpan, nonce: nonce) == text)
    }

    @Test func `starts again with each text, whatever came before, on any thread`() async throws {
        let texts = (0..<40).map { bytes($0 % 33) }
        @Sendable func nonce(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 12) }
        let expected = try texts.enumerated().map { number, text in
            try AESCounter(key: Secret([UInt8](repeating: 0, count: 32))).apply(to: text.rawSpan, nonce: nonce(number))
        }
        try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (number, text) in texts.enumerated() {
                group.addTask { [cipher] in (number, try cipher.apply(to: text.rawSpan, nonce: nonce(number))) }
            }
            for try await (number, sealed) in group { #expect(sealed == expected[number]) }
        }
    }

    @Test func `refuses keys and nonces of other lengths`() {
        #expect(throws: CryptoError.self) { try AESCounter(key: Secret([UInt8](repeating: 0, count: 16))) }
        for count in [0, 11, 13, 16] {
            #expect(throws: CryptoError.self) { try cipher.apply(to: [1].rawSpan, nonce: [UInt8](repeating: 0, count: count)) }
        }
    }
}
