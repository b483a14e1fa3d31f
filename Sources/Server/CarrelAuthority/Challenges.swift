// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelStore

/// Nonces for players: each is good once and for minutes. Only those that were used are kept.
package struct Challenges: Sendable {
    private let key: HMACSHA256

    /// The bytes of a nonce, and when its time ends.
    package typealias Nonce = (bytes: [UInt8], end: Instant)

    package static let life = Duration.seconds(300)
    private static let randomByteCount = 16
    private static let tagByteCount = 16

    package init(secret: Secret) { key = HMACSHA256(key: secret) }

    /// A new nonce.
    package func make(at now: Instant) -> String {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: (now + Self.life).milliseconds)
        bytes += Random.bytes(Self.randomByteCount)
        return Base64URL.encode(bytes + key.authenticate(bytes.rawSpan).prefix(Self.tagByteCount))
    }

    /// The bytes of a nonce of ours whose time has not ended, and when it ends; nil for every other text.
    package func read(_ nonce: String, at now: Instant) -> Nonce? {
        guard let bytes = Base64URL.decode(nonce), bytes.count == 8 + Self.randomByteCount + Self.tagByteCount else { return nil }
        let content = Array(bytes.dropLast(Self.tagByteCount))
        let (tag, right) = (
            Array(bytes.suffix(Self.tagByteCount)), Array(key.authenticate(content.rawSpan).prefix(Self.tagByteCount))
        )
        guard constantTimeEqual(tag.rawSpan, right.rawSpan) else { return nil }
        let end = Instant(milliseconds: Int64(bitPattern: content.rawSpan.u64(at: 0)))
        // nodes differ by seconds
        return now < end && end <= now + Self.life + .seconds(60) ? (content, end) : nil
    }

    /// Uses a nonce, or another number that may be used once; whether it was unused.
    package static func use(_ nonce: Nonce, in transaction: any Transaction) throws -> Bool {
        try PlayerStore.use(nonce: nonce.bytes, until: nonce.end, in: transaction)
    }
}
