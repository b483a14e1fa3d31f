// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelRights
import CarrelTokens
import Testing

struct `The keys of a request for a token` {
    private static let base = `A request for a token`.base
    private static let kid = "00112233445566778899aabbccddeeff"
    private static let other = "ffeeddccbbaa99887766554433221100"
    private static let key = "166634c675823c235a4a9446fad52e4d"

    private static func contents(_ values: [String: String]) throws(TokenRefusal) -> [BusinessRules.Content] {
        try `A request for a token`.request(base.merging(values) { $1 }).rules.contents
    }

    private static func reason(_ values: [String: String]) -> TokenRefusal.Reason? {
        `A request for a token`.reason(base.merging(values) { $1 })
    }

    @Test func `have the id that is given, named by the content or hashed of it`() throws {
        let id = try #require(KeyID(hex: Self.kid))
        for values in [
            ["contentId": "cid:x", "kid": Self.kid], ["contentId": "urn:marlin:kid:" + Self.kid], ["kid": Self.kid.uppercased()],
        ] {
            let content = try #require(try Self.contents(values.merging(["contentKey": Self.key]) { $1 }).first)
            #expect(content.keyID == id && content.key == TokenSamples.contentKey)
            #expect(content.contentID == values["contentId"] ?? "urn:marlin:kid:" + Self.kid)
        }
        #expect(try Self.contents(["contentId": "cid:x", "contentKey": Self.key]).map(\.keyID) == [KeyID(label: "cid:x")])
        #expect(try Self.contents(["contentId": "cid:x", "kid": "^a label é"]).map(\.keyID) == [KeyID(label: "a label é")])
    }

    @Test func `are the key store's if an id has no other keys`() throws {
        let content = try #require(try Self.contents(["kid": Self.kid]).first)
        #expect(content.key == nil && content.contentID == "urn:marlin:kid:" + Self.kid)
    }

    @Test func `may be wrapped by RFC 3394 with 16 or 32 bytes`() throws {
        for count in [16, 32] {
            let wrapper = (0..<count).map { UInt8($0) }
            let wrapped = try AESKeyWrap.wrap(TokenSamples.contentKey, under: Secret(wrapper))
            let values = ["contentId": "cid:x", "kek": Hex.encode(wrapper), "ek": Hex.encode(wrapped)]
            #expect(try Self.contents(values).map(\.key) == [TokenSamples.contentKey])
        }
        let long = try AESKeyWrap.wrap(Secret.random(count: 32), under: TokenSamples.userKey)
        #expect(
            Self.reason(["contentId": "a", "kek": "000102030405060708090a0b0c0d0e0f", "ek": Hex.encode(long)]) == .wrappedKey
        )
    }

    @Test func `are several with numbers from 0 on`() throws {
        let wrapped = Hex.encode(try AESKeyWrap.wrap(TokenSamples.contentKey, under: TokenSamples.userKey))
        let contents = try Self.contents([
            "contentId.0": "cid:x", "contentKey.0": Self.key, "kid.1": Self.kid, "contentId.2": "cid:x", "ek.2": wrapped,
            "kid.2": Self.other,
            "kek": "000102030405060708090a0b0c0d0e0f",
        ])
        #expect(contents.map(\.contentID) == ["cid:x", "urn:marlin:kid:" + Self.kid, "cid:x"])
        #expect(contents.map(\.keyID.hex) == [KeyID(label: "cid:x").hex, Self.kid, Self.other])
        #expect(contents.map { $0.key == TokenSamples.contentKey } == [true, false, true] && contents[1].key == nil)
        let most = Dictionary(uniqueKeysWithValues: (0..<32).map { ("kid.\($0)", KeyID(label: "\($0)").hex) })
        #expect(try Self.contents(most).count == 32)
    }

    @Test(arguments: [
        (["kid.1": kid], TokenRefusal.Reason.value), (["kid.0": kid, "kid.2": other], .value),
        (["kid.0": kid, "kid.01": other], .value),
        (["kid.0": kid, "kid.": other], .value), (["kid.0": kid, "kid.-1": other], .value),
        (["kid.0": kid, "kid.32": other], .value),
        (["kid.0": kid, "kid.x": other], .value), (["kid.0": kid, "kid": other], .value),
        (["kid.0": kid, "kid.1": kid], .keyIDTwice),
        (["contentId.0": "a", "contentKey.0": key, "contentId.1": "a", "contentKey.1": key], .keyIDTwice),
        (["contentId.0": "a", "contentKey.1": key], .keyIDMissing), (["kid.0": kid, "ek.0": "00"], .value),
        (["kid.0": kid, "kek.0": "00"], .value), (["kid.0": kid, "contentKey.0": key, "ek.0": "00", "kek": "00"], .keyTwice),
        (["kid.0.1": kid], .value), ([:], .keyIDMissing),
    ])
    func `with wrong numbers are refused`(values: [String: String], reason: TokenRefusal.Reason) {
        #expect(Self.reason(values) == reason, "\(values)")
    }

    @Test func `may be as many as fit into a token`() throws {
        let long = String(repeating: "a", count: 250)
        let values = (0..<32).flatMap { [("contentId.\($0)", long), ("kid.\($0)", KeyID(label: "\($0)").hex)] }
        #expect(Self.reason(Dictionary(uniqueKeysWithValues: values)) == .value)
        #expect(Self.reason(Dictionary(uniqueKeysWithValues: values.prefix(16))) == nil)
    }
}
