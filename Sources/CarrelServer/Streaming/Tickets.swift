package import CarrelBytes
package import CarrelCrypto

/// Short-lived signed capabilities in the paths of segment and key URLs.
///
/// 21 bytes, 28 characters of base64url: key id (1), expiry in seconds since 1970 (4, big-endian), and the first 16 bytes of
/// HMAC-SHA-256 over both and the order id. Each purpose has a key of its own, derived with HKDF, so that a ticket for segments
/// opens no key.
package struct Tickets: Sendable {
    package enum Purpose: String, Sendable, CaseIterable {
        case segment
        case key
    }

    /// Characters of a ticket.
    package static let length = 28

    private let signers: [UInt8: [Purpose: HMACSHA256]]
    private let current: UInt8

    /// - Parameter secrets: the signing secrets by key id; the highest id signs, all verify. At least one.
    package init(secrets: [UInt8: Secret]) {
        signers = secrets.mapValues { secret in
            Dictionary(
                uniqueKeysWithValues: Purpose.allCases.map {
                    ($0, HMACSHA256(key: HKDF.sha256(secret: secret, salt: [], info: "carrel ticket \($0.rawValue)", count: 32)))
                }
            )
        }
        current = secrets.keys.max() ?? 0
    }

    /// When a ticket issued at `now` dies: at least `life` away, rounded up so that for a while every request gets the same one.
    ///
    /// - Parameters:
    ///   - now: the time of the request.
    ///   - life: milliseconds.
    /// - Returns: an instant at least `life` and at most a quarter more away.
    package static func expiry(at now: Instant, life: Int64) -> Instant {
        let quantum = max(life / 4, 60_000)
        let end = now.milliseconds + life
        return Instant(milliseconds: (end + quantum - 1) / quantum * quantum)
    }

    /// A ticket for one order and purpose.
    package func issue(_ purpose: Purpose, order: String, expires: Instant) -> String {
        var bytes = [current]
        bytes.append(bigEndian: UInt32(clamping: (expires.milliseconds + 999) / 1000))
        bytes += mac(of: bytes, order: order, purpose: purpose, key: current) ?? []
        return Base64URL.encode(bytes)
    }

    /// Whether `text` is a ticket of ours for this order and purpose that is still alive at `now`.
    package func verify(_ text: String, _ purpose: Purpose, order: String, at now: Instant) -> Bool {
        guard text.utf8.count == Self.length, let bytes = Base64URL.decode(text), bytes.count == 21 else { return false }
        guard let mac = mac(of: Array(bytes.prefix(5)), order: order, purpose: purpose, key: bytes[0]) else { return false }
        guard constantTimeEqual(mac.rawSpan, Array(bytes.suffix(16)).rawSpan) else { return false }
        return now.milliseconds < Int64(bytes.rawSpan.u32(at: 1)) * 1000
    }

    private func mac(of head: [UInt8], order: String, purpose: Purpose, key: UInt8) -> [UInt8]? {
        guard let signer = signers[key]?[purpose] else { return nil }
        var message = head
        message.append(contentsOf: order.utf8)
        return Array(signer.authenticate(message.rawSpan).prefix(16))
    }
}
