// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `SHA-256` {
    /// FIPS 180-4's published examples (NIST "Examples with Intermediate Values") and CAVS short messages.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ])
    func `follows FIPS 180-4`(text: String, digest: String) {
        #expect(Hex.encode(SHA256.hash(Array(text.utf8).rawSpan)) == digest)
    }

    @Test func `gives the digest of a million letters that come in odd pieces`() {
        var stream = SHA256.Stream()
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 997)
        var left = 1_000_000
        while left > 0 {
            stream.update(piece.rawSpan.extracting(first: min(left, 997)))
            left -= 997
        }
        #expect(Hex.encode(stream.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }
}

struct `SHA-1` {
    /// FIPS 180-4's published examples.
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    ])
    func `follows FIPS 180-4`(text: String, digest: String) {
        #expect(Hex.encode(SHA1.hash(Array(text.utf8).rawSpan)) == digest)
    }
}

struct `HMAC-SHA-256` {
    /// RFC 4231 §4.2 to §4.8; the fifth is published truncated to 128 bits.
    static let vectors: [(key: String, message: String, digest: String)] = [
        (
            String(repeating: "0b", count: 20), Hex.encode("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Hex.encode("Jefe".utf8), Hex.encode("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            String(repeating: "0c", count: 20), Hex.encode("Test With Truncation".utf8),
            "a3b6167473100ee06e0c796c2955552b"
        ),
        (
            String(repeating: "aa", count: 131), Hex.encode("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            String(repeating: "aa", count: 131),
            Hex.encode(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8
            ),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: vectors)
    func `follows RFC 4231, again and again under one key`(key: String, message: String, digest: String) {
        let mac = HMACSHA256(key: Secret(hex(key)))
        let message = hex(message)
        for _ in 0..<3 {
            #expect(Hex.encode(mac.authenticate(message.rawSpan)).hasPrefix(digest))
        }
        let tag = mac.authenticate(message.rawSpan)
        let valid = mac.isValid(tag.rawSpan, for: message.rawSpan)
        #expect(valid)
    }

    @Test func `refuses other tags, and a tag of any other length`() {
        let mac = HMACSHA256(key: Secret(bytes(32)))
        let message = bytes(40)
        let tag = mac.authenticate(message.rawSpan)
        for length in 0...33 {
            let part = Array((tag + [0]).prefix(length))
            #expect(mac.isValid(part.rawSpan, for: message.rawSpan) == (length == 32), "\(length) bytes")
        }
        for bit in 0..<256 {
            var other = tag
            other[bit / 8] ^= 1 << (bit % 8)
            let valid = mac.isValid(other.rawSpan, for: message.rawSpan)
            #expect(!valid)
        }
    }

    @Test func `is the same on many concurrent threads`() async {
        let mac = HMACSHA256(key: Secret(bytes(32)))
        let expected = (0..<50).map { HMACSHA256(key: Secret(bytes(32))).authenticate(bytes($0).rawSpan) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<500).allSatisfy { mac.authenticate(bytes($0 % 50).rawSpan) == expected[$0 % 50] }
                }
            }
            for await right in group { #expect(right) }
        }
    }

    @Test func `takes an empty key and an empty message`() {
        let mac = HMACSHA256(key: Secret([]))
        #expect(
            Hex.encode(mac.authenticate([UInt8]().rawSpan)) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        )
    }
}

struct `HMAC-SHA-512` {
    /// RFC 4231 §4.2, §4.3 and §4.7.
    @Test(arguments: [
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
            "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
                + "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
                + "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"
        ),
    ])
    func `follows RFC 4231, again and again under one key`(key: String, message: String, digest: String) {
        var mac = HMACSHA512(key: Secret(hex(key)))
        for _ in 0..<2 {
            let (bytes, code) = (hex(message), hex(digest))
            let short = Array(code.dropLast())
            let made = mac.authenticate(bytes.rawSpan)
            let (isRight, isShortRight) = (
                mac.isValid(code.rawSpan, for: bytes.rawSpan), mac.isValid(short.rawSpan, for: bytes.rawSpan)
            )
            #expect(made == code && isRight && !isShortRight)
        }
    }
}
