// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `A private key` {
    /// RFC 6979 appendix A.2.5.
    static let scalar = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"
    static let x = "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
    static let y = "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"

    @Test func `on P-256 has the public half of RFC 6979`() throws {
        let key = try P256.PrivateKey(scalar: Secret(hex(Self.scalar)))
        #expect(key.publicKey.coordinates == hex(Self.x + Self.y))
        #expect(key.scalar == Secret(hex(Self.scalar)))
        #expect(try P256.PublicKey(subjectPublicKeyInfo: key.publicKey.subjectPublicKeyInfo) == key.publicKey)
    }

    @Test func `on P-256 checks the signature of RFC 6979 and makes its own`() throws {
        let key = try P256.PrivateKey(scalar: Secret(hex(Self.scalar)))
        let message = Array("sample".utf8)
        let known = hex(
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
                + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
        )
        #expect(holds(known, message, key.publicKey))
        let other = Array("other".utf8)
        for length in [0, 1, 31, 32, 33, 5000] {
            let message = [UInt8](repeating: 7, count: length)
            var signature = key.sign(message.rawSpan)
            #expect(signature.count == 64 && holds(signature, message, key.publicKey))
            #expect(!holds(signature, other, key.publicKey))
            signature[length % 64] ^= 1
            #expect(!holds(signature, message, key.publicKey))
        }
    }

    @Test func `agrees with another on the secret of RFC 7518`() throws {
        // NIST CAVP, ECC CDH, P-256, count 0
        let key = try P256.PrivateKey(scalar: Secret(hex("7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534")))
        let other = try P256.PublicKey(
            x: hex("700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287"),
            y: hex("db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac")
        )
        let secret = Secret(hex("46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b"))
        #expect(key.sharedSecret(with: other) == secret)
        let (mine, yours) = (P256.PrivateKey(), P256.PrivateKey())
        #expect(mine.sharedSecret(with: yours.publicKey) == yours.sharedSecret(with: mine.publicKey))
        #expect(mine.sharedSecret(with: yours.publicKey) != mine.sharedSecret(with: mine.publicKey))
    }

    @Test(arguments: [
        String(repeating: "00", count: 32), "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "01",
        String(repeating: "ff", count: 32), String(repeating: "01", count: 33),
    ])
    func `on P-256 refuses a number that is not below the order`(scalar: String) {
        #expect(throws: CryptoError(.key, "")) { try P256.PrivateKey(scalar: Secret(hex(scalar))) }
    }

    @Test func `on P-256 refuses a point off the curve`() {
        var y = hex(Self.y)
        y[31] ^= 1
        #expect(throws: CryptoError(.key, "")) { try P256.PublicKey(x: hex(Self.x), y: y) }
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(throws: CryptoError(.key, "")) { try P256.PublicKey(x: zero, y: zero) }
    }

    @Test func `of Ed25519 signs as RFC 8032 says`() throws {
        // §7.1, test 2
        let key = try Ed25519.PrivateKey(seed: Secret(hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")))
        #expect(key.publicKey.bytes == hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"))
        let (message, other): ([UInt8], [UInt8]) = ([0x72], [0x73])
        var signature = key.sign(message.rawSpan)
        #expect(
            signature
                == hex(
                    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
                )
        )
        #expect(holds(signature, message, key.publicKey))
        #expect(!holds(signature, other, key.publicKey) && !holds([], message, key.publicKey))
        signature[0] ^= 1
        #expect(!holds(signature, message, key.publicKey))
        #expect(throws: CryptoError(.key, "")) { try Ed25519.PrivateKey(seed: Secret([1, 2])) }
        #expect(throws: CryptoError(.key, "")) { try Ed25519.PublicKey([1, 2]) }
        #expect(Ed25519.PrivateKey.generate().publicKey != Ed25519.PrivateKey.generate().publicKey)
    }
}

struct `Sealed bytes` {
    @Test func `equal the published vectors`() throws {
        // McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16
        let key = Secret(hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let nonce = hex("cafebabefacedbaddecaf888")
        let associated = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let plaintext = hex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
        )
        let sealed = try AESGCM.seal(plaintext.rawSpan, key: key, nonce: nonce, associated: associated)
        #expect(
            sealed
                == hex(
                    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                        + "76fc6ece0f4e1768cddf8853bb2d551b"
                )
        )
        #expect(try AESGCM.open(sealed.rawSpan, key: key, nonce: nonce, associated: associated) == Secret(plaintext))
    }

    @Test func `open with everything right, and not otherwise`() throws {
        let (key, nonce) = (Secret.random(count: 32), Random.bytes(12))
        for length in [0, 1, 15, 16, 17, 70, 4096] {
            let plaintext = Random.bytes(length)
            let sealed = try AESGCM.seal(plaintext.rawSpan, key: key, nonce: nonce, associated: [1])
            #expect(try AESGCM.open(sealed.rawSpan, key: key, nonce: nonce, associated: [1]) == Secret(plaintext))
            for place in Set([0, length / 2, length, length + 15]) {
                var altered = sealed
                altered[place] ^= 0x80
                #expect(throws: CryptoError(.integrity, "")) {
                    try AESGCM.open(altered.rawSpan, key: key, nonce: nonce, associated: [1])
                }
            }
            #expect(throws: CryptoError(.integrity, "")) {
                try AESGCM.open(sealed.rawSpan, key: key, nonce: nonce, associated: [2])
            }
            #expect(throws: CryptoError(.integrity, "")) { try AESGCM.open(sealed.rawSpan, key: key, nonce: nonce) }
            #expect(throws: CryptoError(.integrity, "")) {
                try AESGCM.open(sealed.rawSpan, key: .random(count: 32), nonce: nonce, associated: [1])
            }
        }
        let short: [UInt8] = [1, 2]
        #expect(throws: CryptoError(.length, "")) { try AESGCM.open(short.rawSpan, key: key, nonce: nonce) }
        #expect(throws: CryptoError(.keyLength, "")) { try AESGCM.seal(short.rawSpan, key: .random(count: 16), nonce: nonce) }
        #expect(throws: CryptoError(.ivLength, "")) { try AESGCM.seal(short.rawSpan, key: key, nonce: [1]) }
    }

    @Test func `have a key that RFC 7914 derives from a passphrase`() throws {
        let scrypt = try Scrypt(cost: 16384, blockSize: 8, parallelism: 1)
        let key = try scrypt.key(Secret(Array("pleaseletmein".utf8)), salt: Array("SodiumChloride".utf8), count: 64)
        #expect(
            key
                == Secret(
                    hex(
                        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                            + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
                    )
                )
        )
        #expect(throws: CryptoError(.refused, "")) { try Scrypt(cost: 1 << 20, blockSize: 8, parallelism: 1) }
        #expect(throws: CryptoError(.refused, "")) { try Scrypt(cost: 1000, blockSize: 8, parallelism: 1) }
    }
}

private func holds(_ signature: [UInt8], _ message: [UInt8], _ key: P256.PublicKey) -> Bool {
    key.isValid(signature, for: message.rawSpan)
}

private func holds(_ signature: [UInt8], _ message: [UInt8], _ key: Ed25519.PublicKey) -> Bool {
    key.isValid(signature, for: message.rawSpan)
}
