// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// A random bearer token: a prefix that names its purpose, 32 random bytes, and the first 4 bytes of their SHA-256, so that
/// garbage is dropped without asking the database and leak scanners recognize a token.
package struct OpaqueToken: Sendable {
    /// The text that the bearer presents.
    package let text: String
    /// The SHA-256 of the text, which is stored.
    package let hash: [UInt8]

    package static func make(prefix: String) -> OpaqueToken {
        OpaqueToken(random: Random.bytes(32), prefix: prefix)
    }

    /// A token of 32 random bytes.
    init(random: [UInt8], prefix: String) {
        self.init(text: prefix + Base64URL.encode(random + SHA256.hash(random.rawSpan).prefix(4)))
    }

    /// A token as it came from outside; nil if it cannot be one of ours.
    init?(_ text: String, prefix: String) {
        guard Self.isWellFormed(text, prefix: prefix) else { return nil }
        self.init(text: text)
    }

    private init(text: String) {
        self.text = text
        hash = Self.hash(of: text)
    }

    /// Whether a text can be one of our tokens.
    static func isWellFormed(_ text: String, prefix: String) -> Bool {
        let (text, prefix) = (text.utf8, prefix.utf8)
        guard text.count == prefix.count + 48, text.starts(with: prefix) else { return false }
        guard let bytes = Base64URL.decode(characters: Array(text.dropFirst(prefix.count))) else { return false }
        let checksum = SHA256.hash(bytes.rawSpan.extracting(first: 32))
        return (0..<4).allSatisfy { checksum[$0] == bytes[32 + $0] }
    }

    /// The SHA-256 of a token, as stored.
    package static func hash(of text: String) -> [UInt8] { SHA256.hash(Array(text.utf8).rawSpan) }
}
