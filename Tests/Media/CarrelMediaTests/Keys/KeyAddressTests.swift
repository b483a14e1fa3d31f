// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import Testing

struct `The address of a key in messages` {
    private static let secret = "AAECAwQFBgcICQoLDA0ODw=="

    @Test(arguments: ["data:", "DATA:", " data:", "\tdata:", "\u{a0}data:", "\u{feff}data:", "data:text/plain;base64"])
    func `has no bytes of a data address`(beginning: String) async {
        let address = beginning + (beginning.hasSuffix(":") ? ";base64," : ",") + Self.secret
        #expect(!KeyAddress.shown(address).contains("AAEC") && !KeyAddress.withoutSecrets(address).contains("AAEC"))
        let error = await #expect(throws: MediaError.self) {
            _ = try await MediaSegmentDecrypter(
                keyLine: "#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT=\"a\",URI=\"\(address)\"",
                segment: 1,
                keys: GivenKeys()
            )
        }
        #expect(error?.message.contains("AAEC") == false)
    }

    @Test func `has neither user nor query nor fragment`() {
        #expect(KeyAddress.withoutSecrets("https://a:b@media.example/k?t=c#d") == "https://media.example/k?…")
        #expect(KeyAddress.withoutSecrets("key.bin") == "key.bin")
    }
}
