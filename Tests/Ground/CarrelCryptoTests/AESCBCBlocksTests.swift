// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

@testable import CarrelCrypto

@Suite("Blocks of AES-256 in CBC mode")
struct AESCBCBlocksTests {
    private let key = Secret(Hex.decode("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4") ?? [])
    /// NIST SP 800-38A F.2.6: the initialization vector and four blocks.
    private let cipher =
        Hex.decode(
            "000102030405060708090a0b0c0d0e0ff58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
                + "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"
        ) ?? []
    private let plain =
        Hex.decode(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
                + "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
        ) ?? []

    @Test func `are decrypted from any of them to any, with any of their bytes left out`() throws {
        let blocks = try AESCBCBlocks(key: key)
        for first in 0..<4 {
            for last in first..<4 {
                for skipped in 0..<16 {
                    for dropped in 0..<16 where skipped + dropped <= (last - first + 1) * 16 {
                        var out: [UInt8] = [7]
                        let part = Array(cipher[first * 16..<(last + 2) * 16])
                        try blocks.decrypt(part.rawSpan, skipping: skipped, dropping: dropped, into: &out)
                        #expect(out == [7] + plain[first * 16 + skipped..<max(first * 16 + skipped, (last + 1) * 16 - dropped)])
                    }
                }
            }
        }
    }

    @Test(arguments: [0, 15, 16, 31, 33])
    func `are refused when they are not whole`(count: Int) throws {
        let blocks = try AESCBCBlocks(key: key)
        var out: [UInt8] = []
        let part = Array(cipher.prefix(count))
        #expect(throws: CryptoError(.length)) { try blocks.decrypt(part.rawSpan, into: &out) }
        #expect(throws: CryptoError(.keyLength)) { try AESCBCBlocks(key: Secret(Array(part.prefix(16)))) }
    }
}
