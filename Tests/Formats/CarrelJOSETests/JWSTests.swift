// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON
import Testing

struct `A signed object` {
    /// RFC 7515 appendix A.2: RS256.
    static let rs256 =
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1d"
        + "nZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"
        + "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

    /// RFC 7515 appendix A.3: ES256.
    static let es256 =
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    static let keys = """
        {"keys": [
         {"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR\
        T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2C\
        apHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuX\
        poQ","e":"AQAB","kid":"a2"},
         {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKI\
        WI5a0","kid":"a3"},
         {"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"},
         {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
        ]}
        """

    static func keySet(_ text: String = keys) throws -> JWKSet {
        let bytes = Array(text.utf8)
        return try JWKSet(bytes.rawSpan)
    }

    static func key(_ id: String) throws -> PublicKey {
        try #require(try keySet().keys.first { $0.id == id }?.key)
    }

    @Test(arguments: [(rs256, "a2"), (es256, "a3")])
    func `is verified as in RFC 7515 appendix A`(text: String, id: String) throws {
        let object = try JWS.Unverified(text).verified(by: Self.key(id))
        let claims = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
        #expect(String(decoding: object.payload, as: UTF8.self) == claims)
    }

    @Test(arguments: [(rs256, "a2"), (es256, "a3")])
    func `is not verified with any single bit changed`(text: String, id: String) throws {
        let (characters, key) = (Array(text.utf8), try Self.key(id))
        for index in characters.indices {
            var changed = characters
            changed[index] ^= 1
            guard let object = try? JWS.Unverified(String(decoding: changed, as: UTF8.self)) else { continue }
            #expect(throws: JOSEError.self, "character \(index)") { try object.verified(by: key) }
        }
    }

    @Test func `is not verified with a key of another algorithm`() throws {
        #expect(throws: JOSEError(.algorithm)) { try JWS.Unverified(Self.rs256).verified(by: Self.key("a3")) }
        #expect(throws: JOSEError(.algorithm)) { try JWS.Unverified(Self.es256).verified(by: Self.key("a2")) }
    }

    /// RFC 8725 §2.1: no signature, or one with the public key as a password.
    @Test(arguments: ["none", "None", "NONE", "HS256", "HS512", "RS1", "ES384", "PS256", "EdDSA", "rs256", ""])
    func `is not read with another algorithm`(algorithm: String) {
        let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)"}"#.utf8))
        #expect(throws: JOSEError(.algorithm)) { try JWS.Unverified("\(header).e30.") }
        #expect(throws: JOSEError(.algorithm)) { try JWS.Unverified("\(header).e30.AAAA") }
    }

    @Test(arguments: [
        #"{"alg":"RS256","crit":["exp"],"exp":1}"#, #"{"alg":"RS256","crit":[]}"#, #"{"alg":"RS256","b64":false}"#,
        #"{"alg":["RS256"]}"#, #"{"alg":null}"#, "{}",
    ])
    func `is not read when its header asks for what we do not know`(header: String) {
        #expect(throws: JOSEError(.algorithm)) { try JWS.Unverified("\(Base64URL.encode(Array(header.utf8))).e30.AAAA") }
    }

    @Test(arguments: [
        #"{"alg":"none","alg":"RS256"}"#, #"{"alg":"RS256","kid":1}"#, #"{"alg":"RS256"} "x""#, "[]", "",
        #"{"alg":"RS256","x5c":[]}"#, #"{"alg":"RS256","x5c":"AAAA"}"#, #"{"alg":"RS256","x5c":["AAA"]}"#,
        #"{"alg":"RS256","x5c":["AA-_"]}"#, #"{"alg":"RS256","x5c":["AAAA","AAAA","AAAA","AAAA","AAAA","AAAA"]}"#,
    ])
    func `is not read with a header that is malformed`(header: String) {
        #expect(throws: JOSEError(.malformed)) { try JWS.Unverified("\(Base64URL.encode(Array(header.utf8))).e30.AAAA") }
    }

    @Test(arguments: [
        "", ".", "..", "a.b", "\(rs256).", "\(rs256).x", "\(rs256)=", " \(rs256)", "\(rs256)\n", rs256.replacing("-", with: "+"),
        "\(es256.dropLast())R", "\(es256.dropLast())",
    ])
    func `is refused unless it is three parts of strict base 64`(text: String) {
        #expect(throws: JOSEError(.malformed)) { try JWS.Unverified(text) }
    }

    @Test func `is not read when it is longer than 64 KiB`() {
        let text = "\(Self.rs256.prefix(20)).\(String(repeating: "A", count: JWS.maxByteCount)).AAAA"
        #expect(throws: JOSEError(.malformed)) { try JWS.Unverified(text) }
    }
}
