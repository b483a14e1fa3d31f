// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `A key in one block` {
    private let wrapper = Secret(Hex.decode("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4") ?? [])
    private let iv = Hex.decode("000102030405060708090a0b0c0d0e0f") ?? []

    @Test func `is encrypted as NIST SP 800-38A F.2.5 has it`() throws {
        let key = Secret(Hex.decode("6bc1bee22e409f96e93d7e117393172a") ?? [])
        let block = try AESCBCKeyBlock.encrypt(key, under: wrapper, iv: iv)
        #expect(Hex.encode(block) == "f58c4c04d6e5f1ba779eabfb5f7bfbd6")
        #expect(try AESCBCKeyBlock.decrypt(block.rawSpan, under: wrapper, iv: iv) == key)
    }

    @Test func `has 16 bytes, a wrapper of 32 and an initialization vector of 16`() {
        let key = Secret.random(count: 16)
        #expect(throws: CryptoError(.length)) { try AESCBCKeyBlock.encrypt(Secret.random(count: 15), under: wrapper, iv: iv) }
        #expect(throws: CryptoError(.length)) { try AESCBCKeyBlock.encrypt(Secret.random(count: 32), under: wrapper, iv: iv) }
        #expect(throws: CryptoError(.keyLength)) { try AESCBCKeyBlock.encrypt(key, under: key, iv: iv) }
        #expect(throws: CryptoError(.ivLength)) { try AESCBCKeyBlock.encrypt(key, under: wrapper, iv: []) }
    }

    @Test func `joins with others`() {
        let parts = [Secret([1, 2]), Secret([]), Secret([UInt8](repeating: 3, count: 70))]
        #expect(Secret.joined(parts) == Secret([1, 2] + [UInt8](repeating: 3, count: 70)))
        #expect(Secret.joined([]) == Secret([]))
    }
}
