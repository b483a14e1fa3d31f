// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import Testing

struct `AES in CBC mode` {
    /// NIST SP 800-38A, F.2.1 and F.2.5.
    static let nist = [
        Vector(
            key: "2b7e151628aed2a6abf7158809cf4f3c",
            cipher: "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
                + "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"
        ),
        Vector(
            key: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            cipher: "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
                + "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"
        ),
    ]

    struct Vector: Sendable {
        let key, cipher: String
        let iv = "000102030405060708090a0b0c0d0e0f"
        let plain =
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
            + "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    }

    @Test(arguments: nist)
    func `gives the cipher text of SP 800-38A, then one block of padding`(vector: Vector) throws {
        let cipher = try encrypt(hex(vector.plain), key: hex(vector.key), iv: hex(vector.iv))
        #expect(Array(cipher.prefix(64)) == hex(vector.cipher))
        #expect(cipher.count == 80)
        #expect(try decrypt(cipher, key: hex(vector.key), iv: hex(vector.iv)) == hex(vector.plain))
    }

    @Test(arguments: 0...65)
    func `pads every length to the next whole block and takes the padding off`(length: Int) throws {
        let plain = bytes(length)
        let cipher = try encrypt(plain, key: key, iv: iv)
        #expect(cipher.count == AESCBCEncryptor.cipherLength(ofPlainLength: length))
        #expect(cipher.count > length && cipher.count - length <= 16)
        #expect(try decrypt(cipher, key: key, iv: iv) == plain)
    }

    @Test func `gives the same bytes however the input is cut`() throws {
        let plain = bytes(83)
        let whole = try encrypt(plain, key: key, iv: iv)
        for step in 1...84 {
            #expect(try encrypt(plain, key: key, iv: iv, step: step) == whole, "pieces of \(step)")
            #expect(try decrypt(whole, key: key, iv: iv, step: step) == plain, "pieces of \(step)")
        }
    }

    @Test func `refuses padding that is not PKCS 7`() throws {
        // one block whose plain text is set by choosing the vector before it
        let zero = [UInt8](repeating: 0, count: 16)
        let block = Array(try encrypt(zero, key: key, iv: zero).prefix(16))
        for (last, isPadding) in [(0, false), (1, true), (2, false), (16, false), (17, false), (255, false)] as [(UInt8, Bool)] {
            var vector = zero
            vector[15] = last
            var caught: CryptoError.Code?
            do { _ = try decrypt(block, key: key, iv: vector) } catch let error as CryptoError { caught = error.code }
            #expect(caught == (isPadding ? nil : .padding), "last byte \(last)")
        }
        let full = [UInt8](repeating: 16, count: 16)
        #expect(try decrypt(block, key: key, iv: full) == [])
    }

    @Test(arguments: [0, 1, 15, 17, 31])
    func `refuses cipher text that is not whole blocks`(length: Int) throws {
        var caught: CryptoError.Code?
        do { _ = try decrypt(bytes(length), key: key, iv: iv) } catch let error as CryptoError { caught = error.code }
        #expect(caught == .length)
    }

    @Test(arguments: [(0, 16), (15, 16), (24, 16), (33, 16), (16, 0), (16, 15), (16, 17)])
    func `refuses keys and vectors of other lengths`(keyLength: Int, ivLength: Int) {
        var caught: [CryptoError.Code] = []
        do { _ = try AESCBCEncryptor(key: Secret(bytes(keyLength)), iv: bytes(ivLength)) } catch { caught.append(error.code) }
        do { _ = try AESCBCDecryptor(key: Secret(bytes(keyLength)), iv: bytes(ivLength)) } catch { caught.append(error.code) }
        let expected = keyLength == 16 ? CryptoError.Code.ivLength : .keyLength
        #expect(caught == [expected, expected])
    }

    @Test(.withoutBacktrace) func `stops rather than write past the room it was given`() async {
        await #expect(processExitsWith: .failure) {
            var cipher = try AESCBCEncryptor(key: Secret([UInt8](repeating: 1, count: 16)), iv: [UInt8](repeating: 2, count: 16))
            let plain = [UInt8](repeating: 3, count: 32)
            _ = try collect(capacity: 31) { out in try cipher.update(plain.rawSpan, into: &out) }
        }
    }

    private let key = hex("000102030405060708090a0b0c0d0e0f")
    private let iv = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")

    private func encrypt(_ plain: [UInt8], key: [UInt8], iv: [UInt8], step: Int = .max) throws -> [UInt8] {
        var cipher = try AESCBCEncryptor(key: Secret(key), iv: iv)
        var out: [UInt8] = []
        for piece in pieces(plain, step) {
            // exactly the room that is promised to be enough
            out += try collect(capacity: (piece.count + 15) & ~15) { try cipher.update(piece.rawSpan, into: &$0) }
        }
        return out + (try finish(cipher))
    }

    private func decrypt(_ cipher: [UInt8], key: [UInt8], iv: [UInt8], step: Int = .max) throws -> [UInt8] {
        var plain = try AESCBCDecryptor(key: Secret(key), iv: iv)
        var out: [UInt8] = []
        for piece in pieces(cipher, step) {
            out += try collect(capacity: piece.count + 15) { try plain.update(piece.rawSpan, into: &$0) }
        }
        return out + (try finish(plain))
    }

    private func finish(_ cipher: consuming AESCBCEncryptor) throws -> [UInt8] {
        var cipher = Optional(cipher)
        return try collect(capacity: 16) { try cipher.take()?.finish(into: &$0) }
    }

    private func finish(_ plain: consuming AESCBCDecryptor) throws -> [UInt8] {
        var plain = Optional(plain)
        return try collect(capacity: 15) { try plain.take()?.finish(into: &$0) }
    }
}
