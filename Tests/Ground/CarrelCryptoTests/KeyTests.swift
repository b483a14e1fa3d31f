// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `HKDF with SHA-256` {
    struct Vector: Sendable {
        let secret, salt, info, key: String
    }

    /// RFC 5869, appendix A.1 to A.3.
    static let vectors = [
        Vector(
            secret: String(repeating: "0b", count: 22),
            salt: "000102030405060708090a0b0c",
            info: "f0f1f2f3f4f5f6f7f8f9",
            key: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        Vector(
            secret: Hex.encode(UInt8(0)...0x4f),
            salt: Hex.encode(UInt8(0x60)...0xaf),
            info: Hex.encode(UInt8(0xb0)...0xff),
            key: "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
                + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
        Vector(
            secret: String(repeating: "0b", count: 22),
            salt: "",
            info: "",
            key: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ]

    @Test(arguments: vectors)
    func `follows RFC 5869`(vector: Vector) {
        let key = hex(vector.key)
        let derived = HKDF.sha256(
            secret: Secret(hex(vector.secret)),
            salt: hex(vector.salt),
            info: hex(vector.info),
            count: key.count
        )
        #expect(derived == Secret(key))
    }

    @Test func `gives a key of its own to every purpose`() {
        let root = Secret(bytes(32))
        let keys = ["segment", "key", ""].map { HKDF.sha256(secret: root, salt: [], info: $0, count: 16) }
        #expect(keys[0] != keys[1] && keys[1] != keys[2])
        #expect(keys[0] == HKDF.sha256(secret: root, salt: [], info: Array("segment".utf8), count: 16))
        #expect(HKDF.sha256(secret: Secret([]), salt: [], info: "", count: 8160).count == 8160)
    }
}

struct `AES key wrap` {
    struct Vector: Sendable {
        let wrapper, key, wrapped: String
    }

    /// RFC 3394 §4.1, §4.3, §4.5 and §4.6.
    static let vectors = [
        Vector(
            wrapper: "000102030405060708090a0b0c0d0e0f",
            key: "00112233445566778899aabbccddeeff",
            wrapped: "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"
        ),
        Vector(
            wrapper: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            key: "00112233445566778899aabbccddeeff",
            wrapped: "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7"
        ),
        Vector(
            wrapper: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            key: "00112233445566778899aabbccddeeff0001020304050607",
            wrapped: "a8f9bc1612c68b3ff6e6f4fbe30e71e4769c8b80a32cb8958cd5d17d6b254da1"
        ),
        Vector(
            wrapper: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            key: "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f",
            wrapped: "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
        ),
    ]

    @Test(arguments: vectors)
    func `follows RFC 3394 both ways`(vector: Vector) throws {
        let wrapper = Secret(hex(vector.wrapper))
        #expect(Hex.encode(try AESKeyWrap.wrap(Secret(hex(vector.key)), under: wrapper)) == vector.wrapped)
        #expect(try AESKeyWrap.unwrap(hex(vector.wrapped).rawSpan, under: wrapper) == Secret(hex(vector.key)))
    }

    @Test func `notices every changed bit and the wrong key`() throws {
        let wrapper = Secret(bytes(32))
        let wrapped = try AESKeyWrap.wrap(Secret(bytes(16)), under: wrapper)
        var refusals: [CryptoError.Code] = []
        for bit in 0..<wrapped.count * 8 {
            var other = wrapped
            other[bit / 8] ^= 1 << (bit % 8)
            do { _ = try AESKeyWrap.unwrap(other.rawSpan, under: wrapper) } catch { refusals.append(error.code) }
        }
        do { _ = try AESKeyWrap.unwrap(wrapped.rawSpan, under: .random(count: 32)) } catch { refusals.append(error.code) }
        #expect(refusals == Array(repeating: .integrity, count: wrapped.count * 8 + 1))
    }

    @Test(arguments: [0, 8, 15, 17, 20])
    func `refuses lengths that RFC 3394 does not have`(length: Int) {
        let wrapper = Secret(bytes(16))
        var caught: [CryptoError.Code] = []
        do { _ = try AESKeyWrap.wrap(Secret(bytes(length)), under: wrapper) } catch { caught.append(error.code) }
        do { _ = try AESKeyWrap.unwrap(bytes(length).rawSpan, under: wrapper) } catch { caught.append(error.code) }
        #expect(caught == [.length, .length])
    }

    @Test func `refuses a wrapping key of another length`() {
        var caught: [CryptoError.Code] = []
        do { _ = try AESKeyWrap.wrap(Secret(bytes(16)), under: Secret(bytes(24))) } catch { caught.append(error.code) }
        do { _ = try AESKeyWrap.unwrap(bytes(24).rawSpan, under: Secret([])) } catch { caught.append(error.code) }
        #expect(caught == [.keyLength, .keyLength])
    }
}
