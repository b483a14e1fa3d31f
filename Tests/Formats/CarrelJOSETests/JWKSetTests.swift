// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import Testing

struct `A set of keys` {
    /// RFC 7517 appendix A.1: an encryption key on P-256, and an RSA key that is said to be for RS256.
    static let example = #"""
        {"keys":
          [
            {"kty":"EC",
             "crv":"P-256",
             "x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
             "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
             "use":"enc",
             "kid":"1"},

            {"kty":"RSA",
             "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
             "e":"AQAB",
             "alg":"RS256",
             "kid":"2011-04-29"}
          ]
        }
        """#

    @Test func `of RFC 7517 appendix A has one key that checks signatures`() throws {
        let keys = try `A signed object`.keySet(Self.example).keys
        #expect(keys.map(\.id) == ["2011-04-29"])
        #expect(keys.first?.key.algorithm == .rs256)
    }

    @Test func `omits keys of unsupported algorithms`() throws {
        #expect(try `A signed object`.keySet().keys.map(\.id) == ["a2", "a3"])
        let odd = """
            {"keys":[
             {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a1"},
             {"kty":"EC","crv":"P-384","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
             {"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbj","e":"AQAB"},
             {"kty":"RSA","n":"!","e":"AQAB"}, {"kty":"RSA"}, {}, 7, null
            ]}
            """
        #expect(try `A signed object`.keySet(odd).keys.isEmpty)
    }

    @Test func `takes coordinates with a zero too many before them`() throws {
        let odd = #"{"keys":[{"kty":"EC","crv":"P-256","x":"AH_NziduxXQdQYPL7x_XSSYBBQSYrj_7n4","y":"AA"}]}"#
        #expect(try `A signed object`.keySet(odd).keys.isEmpty)
        func padded(_ text: String) -> String { Base64URL.encode([0] + (Base64URL.decode(text) ?? [])) }
        let (x, y) = ("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
        let set = try `A signed object`.keySet(#"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(padded(x))","y":"\#(padded(y))"}]}"#)
        #expect(throws: Never.self) { try JWS.Unverified(`A signed object`.es256).verified(by: #require(set.keys.first?.key)) }
    }

    @Test func `finds a key by its id, or the only one for an algorithm`() throws {
        let keys = try `A signed object`.keySet()
        #expect(keys.key(for: try JWS.Unverified(`A signed object`.rs256).header)?.algorithm == .rs256)
        #expect(keys.key(for: try JWS.Unverified(`A signed object`.es256).header)?.algorithm == .es256)
        let named = Base64URL.encode(Array(#"{"alg":"RS256","kid":"a3"}"#.utf8))
        #expect(keys.key(for: try JWS.Unverified("\(named).e30.AAAA").header) == nil)
        let twice = `A signed object`.keys.replacing(#""kid":"a3""#, with: #""kid":"a4""#)
        #expect(try `A signed object`.keySet(twice).key(for: JWS.Unverified("\(named).e30.AAAA").header) == nil)
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#])
    func `is refused when it is none`(text: String) {
        #expect(throws: Malformed.self) { try `A signed object`.keySet(text) }
    }
}
