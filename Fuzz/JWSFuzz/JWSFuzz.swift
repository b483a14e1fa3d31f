// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE

/// No token is trusted that our key did not sign; sets of keys and certificates are read from the same bytes.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let object = try? JWS.Unverified(String(decoding: bytes, as: UTF8.self)), let keys {
        if let key = keys.key(for: object.header), (try? object.verified(by: key)) != nil, bytes != known {
            fatalError("something was believed that nobody signed")
        }
        for der in object.header.certificates { _ = try? Certificate(der: der).publicKey() }
    }
    _ = try? JWKSet(bytes.rawSpan)
    _ = try? Certificate(der: bytes).maySign
    return 0
}

/// RFC 7515 appendix A.3: the one text that is signed with the key.
private let known = Array(
    ("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q").utf8
)
private let keys = try? JWKSet(
    Array(
        #"""
        {"keys": [{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
        """#.utf8
    ).rawSpan
)
