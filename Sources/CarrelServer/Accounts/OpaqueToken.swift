import CarrelBytes
import CarrelCrypto

/// A random bearer token: a prefix that names its purpose, 32 random bytes, and the first 4 bytes of their SHA-256, so that
/// garbage is dropped without asking the database and leak scanners recognise a token.
struct OpaqueToken: Sendable {
    /// What the bearer shows.
    let text: String
    /// SHA-256 of the text: what is stored.
    let hash: [UInt8]

    static func make(prefix: String) -> OpaqueToken {
        OpaqueToken(random: Random.bytes(32), prefix: prefix)
    }

    /// A token of 32 bytes that nobody can guess.
    init(random: [UInt8], prefix: String) {
        self.init(text: prefix + Base64URL.encode(random + SHA256.hash(random.rawSpan).prefix(4)))
    }

    /// A token as it came from outside; nil when it cannot be one of ours.
    init?(_ text: String, prefix: String) {
        guard text.hasPrefix(prefix), let bytes = Base64URL.decode(text.dropFirst(prefix.count)), bytes.count == 36 else {
            return nil
        }
        guard Array(SHA256.hash(Array(bytes.prefix(32)).rawSpan).prefix(4)) == Array(bytes.suffix(4)) else { return nil }
        self.init(text: text)
    }

    private init(text: String) {
        self.text = text
        hash = SHA256.hash(Array(text.utf8).rawSpan)
    }
}
