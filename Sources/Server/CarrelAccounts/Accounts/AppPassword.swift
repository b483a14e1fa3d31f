// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto

/// A password for one app and one purpose, which the account's owner can revoke separately.
package struct AppPassword: Sendable, Equatable {
    /// The purpose of an app password.
    package enum Scope: String, Sendable, CaseIterable {
        /// The feeds of titles and editions, and their linked resources.
        case opds
        /// Listening positions.
        case sync
    }

    package let id: String
    package let accountID: String
    /// The owner's label for it.
    package let name: String
    package let scopes: Set<Scope>
    package let createdAt: Instant
    /// Time of last use, to the day; nil if never used.
    package let seenAt: Instant?
    /// Expiry; nil for a password that only its owner ends.
    package let expiresAt: Instant?

    package init(
        id: String,
        accountID: String,
        name: String,
        scopes: Set<Scope>,
        createdAt: Instant,
        seenAt: Instant? = nil,
        expiresAt: Instant? = nil
    ) {
        self.id = id
        self.accountID = accountID
        self.name = name
        self.scopes = scopes
        self.createdAt = createdAt
        self.seenAt = seenAt
        self.expiresAt = expiresAt
    }

    /// The text of an app password: 120 random bits as 24 characters of base 32 (RFC 4648 §6), in groups of four.
    ///
    /// So many random bits may be kept under a plain hash (OWASP ASVS 5.0 §6.5.2).
    struct Secret: Sendable, Equatable {
        private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        private static let count = 24

        private let characters: [UInt8]

        static func random() -> Secret { Secret(random: Random.bytes(15)) }

        /// The text of 15 random bytes.
        private init(random: [UInt8]) {
            var (bits, held): (UInt32, Int) = (0, 0)
            var characters: [UInt8] = []
            for byte in random {
                bits = bits << 8 | UInt32(byte)
                held += 8
                while held >= 5 {
                    held -= 5
                    characters.append(Self.alphabet[Int(bits >> UInt32(held) & 31)])
                }
            }
            self.characters = characters
        }

        /// Parses typed text, in either case, with or without spaces and hyphens; nil if it cannot be an app password.
        init?(_ text: String) {
            guard text.utf8.count <= 64 else { return nil }
            let typed = text.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
            guard typed.count == Self.count, typed.allSatisfy(Self.alphabet.contains) else { return nil }
            characters = Array(typed)
        }

        /// The form shown to the owner, once: `abcd-efgh-…`.
        var text: String {
            stride(from: 0, to: characters.count, by: 4).map {
                String(decoding: characters[$0..<min($0 + 4, characters.count)], as: UTF8.self)
            }.joined(separator: "-")
        }

        /// The SHA-256 of its characters, which is stored.
        var hash: [UInt8] { SHA256.hash(characters.rawSpan) }
    }
}
