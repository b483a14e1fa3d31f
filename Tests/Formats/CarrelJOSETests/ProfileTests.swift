// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON
import CarrelTesting
import Testing

struct `An object of Carrel's protocol` {
    static let kind = TypedJWS.Kind(type: "test+jwt", algorithm: .edDSA)
    static let request = TypedJWS.Kind(type: "request+jwt", algorithm: .es256)
    static let proof = TypedJWS.Kind(type: "dpop+jwt", algorithm: .es256, hasKey: true)
    static let message = TypedJWS.Kind(type: "JWT", algorithm: .hs256)

    let server = Ed25519.PrivateKey.generate()
    let device = P256.PrivateKey()

    @Test func `is readable for every holder of the key, and only as its kind`() throws {
        let text = TypedJWS.sign([1, 2, 3], as: Self.kind, with: server)
        let read = try TypedJWS.Unverified(text, as: Self.kind)
        #expect(read.keyID == JWK.ed25519(server.publicKey).thumbprint && read.key == nil)
        #expect(try read.verified(by: .ed25519(server.publicKey)) == [1, 2, 3])
        #expect(throws: JOSEError(.signature, "")) { try read.verified(by: .ed25519(Ed25519.PrivateKey.generate().publicKey)) }
        #expect(throws: JOSEError(.algorithm, "")) { try read.verified(by: .p256(device.publicKey)) }
        #expect(throws: JOSEError(.algorithm, "")) { try read.verified(by: HMACSHA256(key: .init(server.publicKey.bytes))) }
        for kind in [Self.request, Self.message, Self.proof, .init(type: "other+jwt", algorithm: .edDSA)] {
            #expect(throws: JOSEError(.algorithm, "")) { try TypedJWS.Unverified(text, as: kind) }
        }
        #expect(throws: JOSEError(.malformed, "")) {
            try TypedJWS.Unverified(text, as: .init(type: "test+jwt", algorithm: .edDSA, maxByteCount: text.utf8.count - 1))
        }
    }

    @Test func `is not read by the readers of other systems' tokens`() throws {
        #expect(throws: JOSEError(.algorithm, "")) { try JWS.Unverified(TypedJWS.sign([1], as: Self.kind, with: server)) }
        let hmac = TypedJWS.Unsigned(Self.message, payload: [1])
        let text = hmac.signed(HMACSHA256(key: .random(count: 32)).authenticate(hmac.input.rawSpan))
        #expect(throws: JOSEError(.algorithm, "")) { try JWS.Unverified(text) }
    }

    @Test func `signed with a shared key is read with that key alone`() throws {
        let key = HMACSHA256(key: .random(count: 32))
        let unsigned = TypedJWS.Unsigned(Self.message, payload: [1])
        let read = try TypedJWS.Unverified(unsigned.signed(key.authenticate(unsigned.input.rawSpan)), as: Self.message)
        #expect(try read.verified(by: key) == [1])
        #expect(throws: JOSEError(.signature, "")) { try read.verified(by: HMACSHA256(key: .random(count: 32))) }
        #expect(throws: JOSEError(.algorithm, "")) { try read.verified(by: .p256(device.publicKey)) }
    }

    @Test(arguments: [
        #"{"alg":"none","typ":"test+jwt","kid":"k"}"#, #"{"alg":"HS256","typ":"test+jwt","kid":"k"}"#,
        #"{"alg":"eddsa","typ":"test+jwt","kid":"k"}"#, #"{"alg":"EdDSA","kid":"k"}"#, #"{"alg":"EdDSA","typ":"test+jwt"}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","crit":["exp"]}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","jku":"https://a"}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","x5u":"https://a"}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","zip":"DEF"}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","b64":false}"#, #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","x5c":[]}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":"k","jwk":{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}"#,
    ])
    func `with another header is refused`(header: String) {
        let text = Base64URL.encode(Array(header.utf8)) + ".AQ." + Base64URL.encode([UInt8](repeating: 0, count: 64))
        #expect(throws: JOSEError(.algorithm, "")) { try TypedJWS.Unverified(text, as: Self.kind) }
    }

    @Test(arguments: [
        "", "..", "a.b", "a.b.c.d", #"{"alg":"EdDSA","alg":"EdDSA","typ":"test+jwt","kid":"k"}"#,
        #"{"alg":1,"typ":"test+jwt","kid":"k"}"#,
        #"{"alg":"EdDSA","typ":"test+jwt","kid":[[[[1]]]]}"#, "[]",
    ])
    func `that is none is refused`(header: String) {
        let text = header.contains(".") || header.isEmpty ? header : Base64URL.encode(Array(header.utf8)) + ".AQ.AQ"
        #expect(throws: JOSEError(.malformed, "")) { try TypedJWS.Unverified(text, as: Self.kind) }
    }

    @Test func `in base 64 of two forms is refused`() throws {
        let text = TypedJWS.sign([1], as: Self.kind, with: server)  // 1 is AQ; AR has the same byte, followed by other bits
        let other = text.replacing(".AQ.", with: ".AR.")
        #expect(other != text)
        #expect(throws: JOSEError(.malformed, "")) { try TypedJWS.Unverified(other, as: Self.kind) }
        #expect(throws: JOSEError(.malformed, "")) { try TypedJWS.Unverified(text + "=", as: Self.kind) }
    }

    @Test func `that proves possession brings its key, and no other kind does`() throws {
        let text = TypedJWS.sign([9], as: Self.proof, with: device)
        let read = try TypedJWS.Unverified(text, as: Self.proof)
        let key = try #require(read.key)
        #expect(key == .p256(device.publicKey) && read.keyID == nil)
        #expect(try read.verified(by: key) == [9])
        #expect(throws: JOSEError(.algorithm, "")) {
            try TypedJWS.Unverified(text, as: .init(type: "dpop+jwt", algorithm: .es256))
        }
    }

    @Test func `that proves possession is the one of the vector`() throws {
        let file = try Fixtures.bytes("drm/jose/dpop-selfmade.json")
        let vector = try JSON.parse(file.rawSpan)
        let read = try TypedJWS.Unverified(try #require(vector["proof"]?.string), as: Self.proof)
        let key = try #require(read.key)
        #expect(key.thumbprint == vector["expected_jkt"]?.string)
        let payload = try read.verified(by: key)
        let proof = try JSON.parse(payload.rawSpan)
        #expect(proof == vector["payload"])
    }
}

struct `An encrypted object` {
    let recipient = P256.PrivateKey()

    @Test(arguments: JWE.Mode.allCases)
    func `opens with its key, and as what it is`(mode: JWE.Mode) throws {
        for length in [0, 16, 5000] {
            let plaintext = Random.bytes(length)
            let text = JWE.encrypt(plaintext.rawSpan, to: recipient.publicKey, type: "key", context: [1, 2], mode: mode)
            let sealed = try JWE.Sealed(text, type: "key", context: [1, 2])
            #expect(sealed.keyID == JWK.p256(recipient.publicKey).thumbprint)
            #expect(try sealed.open(sharedSecret: recipient.sharedSecret(with: sealed.ephemeral)) == Secret(plaintext))
            #expect(throws: JOSEError(.signature, "")) {
                try sealed.open(sharedSecret: P256.PrivateKey().sharedSecret(with: sealed.ephemeral))
            }
            #expect(throws: JOSEError(.algorithm, "")) { try JWE.Sealed(text, type: "key", context: [1, 3]) }
            #expect(throws: JOSEError(.algorithm, "")) { try JWE.Sealed(text, type: "other", context: [1, 2]) }
        }
    }

    @Test(arguments: JWE.Mode.allCases)
    func `that was altered does not open`(mode: JWE.Mode) throws {
        let plaintext: [UInt8] = [1, 2, 3]
        let text = JWE.encrypt(plaintext.rawSpan, to: recipient.publicKey, type: "key", context: [], mode: mode)
        var opened = 0
        for place in text.utf8.indices {
            var altered = Array(text.utf8)
            let index = text.utf8.distance(from: text.utf8.startIndex, to: place)
            altered[index] = altered[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            guard let sealed = try? JWE.Sealed(String(decoding: altered, as: UTF8.self), type: "key", context: []) else {
                continue
            }
            if (try? sealed.open(sharedSecret: recipient.sharedSecret(with: sealed.ephemeral))) != nil { opened += 1 }
        }
        #expect(opened == 0)
    }

    @Test func `agrees on the key of RFC 7518 appendix C`() throws {
        let file = try Fixtures.bytes("drm/jose/rfc7518-appendix-c-ecdh-es.json")
        let vector = try JSON.parse(file.rawSpan)
        func key(_ name: String) throws -> P256.PrivateKey {
            try P256.PrivateKey(scalar: Secret(try #require(vector[name]?["d"]?.string.flatMap { Base64URL.decode($0) })))
        }
        let (mine, theirs) = (try key("epk_private"), try key("recipient_private"))
        let secret = mine.sharedSecret(with: theirs.publicKey)
        #expect(secret == Secret(try #require(vector["z_hex"]?.string.flatMap { Hex.decode($0) })))
        let info = try #require(vector["other_info_hex"]?.string.flatMap { Hex.decode($0) })
        let derived = ConcatKDF.sha256(secret: secret, otherInfo: info, count: 16)
        #expect(derived == Secret(try #require(vector["derived_key"]?.string.flatMap { Base64URL.decode($0) })))
    }

    @Test(arguments: [
        "jwe-5_4.key_agreement_with_key_wrapping_using_ecdh-es_and_aes-keywrap_with_aes-gcm",
        "jwe-5_5.key_agreement_using_ecdh-es_with_aes-cbc-hmac-sha2", "jwe-5_6.direct_encryption_using_aes-gcm",
        "jwe-5_8.key_wrap_using_aes-keywrap_with_aes-gcm", "curve25519-ecdh-es",
    ])
    func `of another algorithm is refused`(name: String) throws {
        let file = try Fixtures.bytes("drm/jose/\(name).json")
        let vector = try JSON.parse(file.rawSpan)
        let text = try #require(vector["output"]?["compact"]?.string)
        #expect(throws: JOSEError(.algorithm, "")) { try JWE.Sealed(text, type: "key", context: []) }
    }
}

struct `A key of Carrel's protocol` {
    @Test func `has the thumbprint of RFC 8037 appendix A.3`() throws {
        let key = try JWK(["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"])
        #expect(key.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        #expect(try JWK(key.json) == key)
    }

    @Test(arguments: [
        #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a1"}"#,
        #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"AQ"}"#,
        #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"AQ"}"#,
        #"{"kty":"EC","crv":"P-384","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
        #"{"kty":"RSA","n":"AQ","e":"AQAB"}"#, #"{"kty":"oct","k":"AQ"}"#, "{}", "[]",
    ])
    func `of another kind, off the curve or private is refused`(text: String) throws {
        let bytes = Array(text.utf8)
        let json = try JSON.parse(bytes.rawSpan)
        #expect(throws: JOSEError(.key, "")) { try JWK(json) }
    }
}
