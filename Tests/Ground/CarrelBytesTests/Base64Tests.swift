// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

struct `Base 64 with padding` {
    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `follows RFC 4648`(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(text.utf8))
    }

    @Test func `has all characters of its alphabet`() {
        let bytes = (0...255).map { UInt8($0) }
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.encode([0xfb, 0xff]) == "+/8=")
    }

    @Test(arguments: ["Zg", "Zg=", "Zg===", "Zh==", "Z===", "====", "Zm9v\n", "Zm 9", "-_8=", "Zg==Zg==", "=Zg="])
    func `has one form`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
