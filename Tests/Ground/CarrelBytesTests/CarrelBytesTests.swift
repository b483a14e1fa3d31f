// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

struct `Byte cursor` {
    @Test func `reads big-endian numbers in order and stops at the end`() throws {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
        var cursor = ByteCursor(bytes.rawSpan)
        #expect(try cursor.u8() == 1)
        #expect(try cursor.u16() == 0x0203)
        #expect(try cursor.u24() == 0x040506)
        #expect(try cursor.u32() == 0x0708_090a)
        #expect(try cursor.u64() == 0x0b0c_0d0e_0f10_1112)
        #expect(cursor.remaining == 1)
        var caught: Malformed?
        do { _ = try cursor.u16("length") } catch { caught = error }
        #expect(caught == Malformed("length is cut off", at: 18))
        #expect(cursor.position == 18, "a failed read moves nothing")
        do { try cursor.finish("box"); Issue.record("left-over bytes were accepted") } catch {
            #expect(error == Malformed("box has 1 bytes left over", at: 18))
        }
    }

    @Test func `slices without copying and refuses negative counts`() throws {
        let bytes: [UInt8] = [1, 2, 3, 4]
        var cursor = ByteCursor(bytes.rawSpan)
        try cursor.skip(1)
        let slice = try cursor.slice(2)
        #expect([UInt8](copying: slice) == [2, 3])
        var refused = false
        do { try cursor.skip(-1) } catch { refused = true }
        #expect(refused)
    }
}

struct `Text forms of bytes` {
    // RFC 4648 §10, the base64 vectors without padding
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
    ])
    func `base64url follows RFC 4648`(plain: String, encoded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test(arguments: ["A", "Zh", "Zm9=", "Zm+v", "Zm/v", "Zm 8"])
    func `base64url has one encoding only`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `hex follows RFC 4648`() {
        #expect(Hex.encode(Array("foobar".utf8)) == "666f6f626172")
        #expect(Hex.decode("666F6f626172") == Array("foobar".utf8))
        #expect(Hex.decode("6") == nil)
        #expect(Hex.decode("6g") == nil)
    }
}
