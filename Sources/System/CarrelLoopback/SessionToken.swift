// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// 256 random bits: a client that knows them may use the part of a session that they are for, until the session is removed.
package struct SessionToken: Sendable {
    /// 43 characters of base 64 for URLs.
    package let text: String

    /// A new token.
    package init() {
        text = Base64URL.encode(Random.bytes(32))
    }

    /// Whether a text is the token, compared in constant time.
    package func matches(_ other: String) -> Bool {
        let (own, other) = (Array(text.utf8), Array(other.utf8))
        return constantTimeEqual(own.rawSpan, other.rawSpan)
    }

    /// The name of a token in a table, so that the time of a search does not depend on the token's own bytes.
    static func digest(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return SHA256.hash(bytes.rawSpan)
    }
}
