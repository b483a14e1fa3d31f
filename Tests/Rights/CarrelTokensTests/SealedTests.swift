// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelRights
import CarrelTokens
import Testing

struct `A sealed token` {
    private static let now = TokenSamples.now

    @Test func `opens to the rules that were sealed`() throws {
        let token = try SealedToken.seal(TokenSamples.full, under: TokenSamples.key)
        #expect(try SealedToken.open(token.text, as: .license, keys: TokenSamples.keys, at: Self.now) == TokenSamples.full)
        #expect(try SealedToken(bytes: token.bytes) == token)
        #expect(token.text.utf8.count <= SealedToken.maxByteCount)
        #expect(TokenSamples.full.idText == "6465666768696a6b6c6d6e6f70717273")
    }

    @Test(arguments: BusinessRules.Kind.allCases)
    func `opens as its own kind alone`(kind: BusinessRules.Kind) throws {
        let rules = TokenSamples.least(kind)
        let token = try SealedToken.seal(rules, under: TokenSamples.key)
        for other in BusinessRules.Kind.allCases where other != kind {
            #expect(throws: RightsError(.token)) { try token.open(as: other, keys: TokenSamples.keys, at: Self.now) }
            // the kind is under the seal
            let forged = try SealedToken(bytes: Array(token.bytes.prefix(2)) + [other.rawValue] + token.bytes.dropFirst(3))
            #expect(throws: RightsError(.token)) { try forged.open(as: other, keys: TokenSamples.keys, at: Self.now) }
        }
        #expect(try token.open(as: kind, keys: TokenSamples.keys, at: Self.now) == rules)
    }

    @Test func `has an id of its own, and another nonce each time`() throws {
        #expect(TokenSamples.least(.ms3).id != TokenSamples.least(.ms3).id)
        let tokens = try (0..<8).map { _ in try SealedToken.seal(TokenSamples.full, under: TokenSamples.key).text }
        #expect(Set(tokens).count == 8)
    }

    @Test func `is not opened from its expiry on`() throws {
        let token = try SealedToken.seal(TokenSamples.full, under: TokenSamples.key)
        let end = TokenSamples.full.expiresAt
        #expect(throws: Never.self) {
            try token.open(as: .license, keys: TokenSamples.keys, at: end.advanced(byMilliseconds: -1))
        }
        #expect(throws: RightsError(.expired)) { try token.open(as: .license, keys: TokenSamples.keys, at: end) }
    }

    @Test func `is refused under another key, even when it has expired`() throws {
        let token = try SealedToken.seal(TokenSamples.full, under: TokenSamples.key)
        let late = Self.now + .seconds(1_000_000)
        let other = Secret([UInt8](repeating: 8, count: 32))
        for keys in [[:], [7: other], [8: TokenSamples.key.secret]] as [[UInt8: Secret]] {
            #expect(throws: RightsError(.token)) { try token.open(as: .license, keys: keys, at: late) }
        }
    }

    @Test func `has one text and one version`() throws {
        let token = try SealedToken.seal(TokenSamples.least(.ms3), under: TokenSamples.key)
        for text in [token.text + "=", token.text + "A", " " + token.text, token.text.replacing("_", with: "/"), "", "AQ"] {
            guard text != token.text else { continue }
            #expect(throws: RightsError(.token)) { try SealedToken.open(text, as: .ms3, keys: TokenSamples.keys, at: Self.now) }
        }
        #expect(throws: RightsError(.token)) { try SealedToken(bytes: [2] + token.bytes.dropFirst()) }
        #expect(throws: RightsError(.token)) { try SealedToken(bytes: Array(token.bytes.prefix(30))) }
        #expect(throws: RightsError(.token)) { try SealedToken(String(repeating: "A", count: 4100)) }
    }

    /// Seals bytes as if they were rules.
    private static func seal(_ json: String, keys: [UInt8] = []) throws -> SealedToken {
        let text = Array(json.utf8)
        var plain: [UInt8] = []
        plain.append(bigEndian: UInt16(text.count))
        plain += text + keys
        let (head, nonce) = ([1, TokenSamples.key.id, 1] as [UInt8], [UInt8](repeating: 0, count: 12))
        let sealed = try AESGCM.seal(plain.rawSpan, key: TokenSamples.key.secret, nonce: nonce, associated: head)
        return try SealedToken(bytes: head + nonce + sealed)
    }

    private static let good =
        #"{"contents":[{"id":"cid:x","kid":"00112233445566778899aabbccddeeff"}],"exp":1900000000000,"#
        + #""jti":"00000000000000000000000000000000","kind":1,"rights":"session","uses":1,"v":1}"#

    @Test func `has rules in one form`() throws {
        let rules = try Self.seal(Self.good).open(as: .ms3, keys: TokenSamples.keys, at: Self.now)
        #expect(rules.contents.map(\.contentID) == ["cid:x"] && rules.rights == .session)
    }

    @Test(arguments: [
        (#""v":1"#, #""v":2"#), (#""v":1"#, #""v":1,"wide":true"#), (#""v":1"#, #""v":1.0"#), (#""uses":1"#, #""uses":0"#),
        (#","rights":"session""#, ""), (#""session""#, #""own""#), (#""session""#, #""session","storable":true"#),
        (#""kind":1"#, #""kind":3"#), (#""kind":1"#, #""kind":9"#), ("cid:x", "cid x"), ("aabb", "AABB"),
        (#"{"contents""#, #"{ "contents""#),
        (#""exp":1900000000000"#, #""exp":-1"#), (#""exp":1900000000000"#, #""exp":9e18"#),
        (#""exp":1900000000000"#, #""exp":null"#),
        (#""kid":"00112233445566778899aabbccddeeff""#, #""key":true,"kid":"00112233445566778899aabbccddeeff""#), ("}]", "}"),
        (#""rights""#, #""override":256,"rights""#), (#""rights""#, #""output":4294967296,"rights""#),
        (#""jti":"00"#, #""jti":"0"#), (#""rights":"session""#, #""rights":{"play":0,"until":1}"#),
    ])
    func `with other rules under a right seal is refused`(part: String, other: String) throws {
        let json = Self.good.replacing(part, with: other)
        #expect(json != Self.good)
        let token = try Self.seal(json)
        #expect(throws: RightsError(.token)) { try token.open(as: .ms3, keys: TokenSamples.keys, at: Self.now) }
    }

    @Test func `has no bytes after its rules`() throws {
        for keys in [[0], [UInt8](repeating: 0, count: 16)] as [[UInt8]] {
            let token = try Self.seal(Self.good, keys: keys)
            #expect(throws: RightsError(.token)) { try token.open(as: .ms3, keys: TokenSamples.keys, at: Self.now) }
        }
    }

    @Test func `prints nothing of itself`() throws {
        let token = try SealedToken.seal(TokenSamples.full, under: TokenSamples.key)
        #expect("\(token)" == "SealedToken(\(token.bytes.count) bytes)" && String(reflecting: token) == "\(token)")
        var dumped = ""
        dump(token, to: &dumped)
        #expect(dumped.utf8.count < 64)
        #expect(!String(reflecting: TokenSamples.full).contains("166634"))
    }
}

struct `Rules of a token` {
    /// A change that breaks a bound.
    private static let changes: [@Sendable (inout BusinessRules) -> Void] = [
        { $0.id = [1] }, { $0.redemptions = 0 }, { $0.redemptions = 1_000_001 }, { $0.expiresAt = Instant(milliseconds: -1) },
        { $0.expiresAt = Instant(milliseconds: .max) }, { $0.rights = .session }, { $0.rights = nil }, { $0.kind = .ms3 },
        { $0.kind = .registration }, { $0.rights = .rental(periodEnd: TokenSamples.now, playDuration: 0) },
        { $0.rights = .rental(periodEnd: TokenSamples.now, playDuration: .max) },
        { $0.rights = .rental(periodEnd: Instant(milliseconds: .min), playDuration: 1) },
        { $0.contents.append($0.contents[0]) }, { $0.contents[0] = .init(contentID: "", keyID: TokenSamples.keyID) },
        { $0.contents[0] = .init(contentID: "a b", keyID: TokenSamples.keyID) },
        { $0.contents[0] = .init(contentID: "a", keyID: TokenSamples.keyID, key: Secret([1])) },
        { $0.contents = (0..<33).map { .init(contentID: "a", keyID: KeyID(label: "\($0)")) } },
        { $0.cookie = "" }, { $0.cookie = "a\nb" }, { $0.cookie = String(repeating: "é", count: 128) }, { $0.account = "\u{7f}" },
        { $0.user = .init(id: "a", key: Secret([1])) }, { $0.deviceThumbprint = "abc" }, { $0.title = "" },
        { $0.extensions[0] = .init(type: "wud", isCritical: false, payload: []) },
        { $0.extensions[0] = .init(type: "wudo", isCritical: false, payload: [UInt8](repeating: 0, count: 1025)) },
        { $0.extensions[1] = $0.extensions[0] }, { $0.conditions.playCount = 0 }, { $0.conditions.storageSeconds = 0 },
        { $0.conditions.maxPixels = 0 }, { $0.conditions.attendedSeconds = 59 }, { $0.conditions.copyCharacters = -1 },
        { $0.conditions.printPages = .max }, { $0.conditions.watermark = "a\nb" },
        { $0.conditions.startsAt = Instant(milliseconds: -1) },
    ]

    @Test(arguments: changes.indices)
    func `are within their bounds`(change: Int) throws {
        var rules = TokenSamples.full
        #expect(throws: Never.self) { try rules.check() }
        Self.changes[change](&rules)
        #expect(throws: RightsError(.malformed)) { try rules.check() }
        #expect(throws: RightsError(.malformed)) { try SealedToken.seal(rules, under: TokenSamples.key) }
    }

    @Test func `with 32 keys fit into 4 KiB, and longer ones are refused`() throws {
        var rules = TokenSamples.least(.license)
        let ids = (0..<32).map { KeyID(label: "\($0)") }
        for isNamed in [true, false] {
            rules.extensions = []
            rules.contents = ids.enumerated().map { index, id in
                .init(contentID: isNamed ? id.contentID : "cid:\(index)", keyID: id, key: TokenSamples.contentKey)
            }
            let token = try SealedToken.seal(rules, under: TokenSamples.key)
            #expect(3000...4096 ~= token.text.utf8.count)
            #expect(try token.open(as: .license, keys: TokenSamples.keys, at: TokenSamples.now) == rules)
            rules.extensions = [.init(type: "long", isCritical: false, payload: [UInt8](repeating: 0, count: 1024))]
            #expect(throws: RightsError(.malformed)) { try SealedToken.seal(rules, under: TokenSamples.key) }
        }
    }
}

struct `The id of a key` {
    @Test func `is read in hexadecimal digits, as a UUID and in a content id`() throws {
        let id = try #require(KeyID(hex: "9EB4050DE44B4802932E27D75083E266"))
        #expect(id.uuid == "9eb4050d-e44b-4802-932e-27d75083e266" && KeyID(uuid: id.uuid.uppercased()) == id)
        #expect(id.contentID == "urn:marlin:kid:9eb4050de44b4802932e27d75083e266" && KeyID(inContentID: id.contentID) == id)
        for text in [
            "", "9eb4050de44b4802932e27d75083e2660", "9eb4050de44b4802932e27d75083e26g", "9eb4050d-e44b-4802-932e27d75083e266",
        ] {
            #expect(KeyID(hex: text) == nil && KeyID(uuid: text) == nil && KeyID(inContentID: "urn:marlin:kid:" + text) == nil)
        }
        #expect(KeyID(inContentID: "cid:" + id.hex) == nil && KeyID([1]) == nil)
    }

    @Test func `of a label is the start of its SHA-256`() {
        // the first 16 bytes of SHA-256("abc"), FIPS 180-4
        #expect(KeyID(label: "abc").hex == "ba7816bf8f01cfea414140de5dae2223")
    }
}
