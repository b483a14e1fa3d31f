// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `A tag by GMAC` {
    /// NIST CAVP, gcmEncryptExtIV128.rsp: AES-128, no plaintext, tags of 128 bits, additional data of 0 and 128 bits.
    @Test(arguments: [
        ("cf063a34d4a9a76c2c86787d3f96db71", "113b9785971864c83b01c787", "", "72ac8493e3a5228b5d130a69d2510e42"),
        (
            "77be63708971c4e240d1cb79e8d77feb", "e0e00f19fed7ba0136a797f3", "7a43ec1d9c0a5a78a0b16533a6213cab",
            "209fcc8d3675ed938e9c7166709dd946"
        ),
    ])
    func `equals NIST's vectors, whatever the pieces`(key: String, nonce: String, message: String, tag: String) throws {
        let bytes = try #require(Hex.decode(message))
        let nonce = try #require(Hex.decode(nonce))
        var mac = try GMAC(key: Secret(try #require(Hex.decode(key))))
        for split in 0...bytes.count {
            mac.start(nonce: nonce)
            mac.update(bytes.rawSpan.extracting(0..<split))
            mac.update(bytes.rawSpan.extracting(split..<bytes.count))
            #expect(Hex.encode(mac.finish()) == tag)
        }
    }

    @Test func `needs keys of 16 bytes only`() {
        let error = #expect(throws: CryptoError.self) { _ = try GMAC(key: Secret([UInt8](repeating: 1, count: 32))) }
        #expect(error?.code == .keyLength)
    }
}
