import CarrelBytes
import CarrelCrypto

/// 256 random bits in the path of an address: who knows the address may use it, as long as the server runs.
struct SessionToken: Sendable {
    /// 43 characters of base 64 for URLs.
    let text: String

    init() {
        text = Base64URL.encode(Random.bytes(32))
    }

    /// Whether a text is the token, compared in constant time.
    func matches(_ other: String) -> Bool {
        let (own, other) = (Array(text.utf8), Array(other.utf8))
        return constantTimeEqual(own.rawSpan, other.rawSpan)
    }
}
