// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
package import CarrelHome

/// Short-lived signed capabilities in the paths of segment and key URLs.
///
/// 21 bytes, 28 characters of base64url: key id (1), expiry in seconds since 1970 (4, big-endian), and the first 16 bytes of
/// HMAC-SHA-256 over both and the order id. Each purpose has a separate key, derived with HKDF, so that a ticket for segments
/// opens no key.
package struct Tickets: Sendable {
    package enum Purpose: String, Sendable, CaseIterable {
        case segment
        case key
    }

    /// Characters of a ticket.
    package static let length = 28

    private let signers: [UInt8: [Purpose: HMACSHA256]]
    /// From when each secret signs, in this order.
    private let schedule: [(from: Instant, key: UInt8)]

    /// - Parameter secrets: the secrets for signing and verifying; at least one.
    package init(secrets: [SigningSecret]) {
        let pairs = secrets.map { secret in
            let purposes = Purpose.allCases.map { purpose in
                let key = HKDF.sha256(secret: secret.secret, salt: [], info: "carrel ticket \(purpose.rawValue)", count: 32)
                return (purpose, HMACSHA256(key: key))
            }
            return (secret.id, Dictionary(uniqueKeysWithValues: purposes))
        }
        signers = Dictionary(pairs) { $1 }
        schedule = secrets.map { ($0.signsFrom, $0.id) }.sorted { $0 < $1 }
    }

    /// A stretch of time in which an order's tickets are the same for every request.
    package struct Window: Sendable, Equatable {
        /// Before its first moment.
        package let opens: Instant
        /// When its tickets expire.
        package let expires: Instant

        package init(opens: Instant, expires: Instant) {
            self.opens = opens
            self.expires = expires
        }

        /// The window of a request: its tickets die at least `life` after the request, and at most a quarter later.
        ///
        /// - Parameters:
        ///   - now: the time of the request.
        ///   - life: milliseconds.
        package init(at now: Instant, life: Int64) {
            let quantum = Self.length(life: life)
            let end = (now.milliseconds + life + quantum - 1) / quantum * quantum
            opens = Instant(milliseconds: end - life - quantum)
            expires = Instant(milliseconds: end)
        }

        /// The length of a window, in milliseconds.
        package static func length(life: Int64) -> Int64 { max(life / 4, 60_000) }
    }

    /// A ticket for one order and purpose, under the newest secret that signed already when the window opened, so that a new
    /// secret changes no playlist of this window.
    package func issue(_ purpose: Purpose, order: String, in window: Window) -> String {
        let key = (schedule.last { $0.from <= window.opens } ?? schedule.first)?.key ?? 0
        var bytes = [key]
        bytes.append(bigEndian: UInt32(clamping: (window.expires.milliseconds + 999) / 1000))
        bytes += mac(of: bytes, order: order, purpose: purpose, key: key) ?? []
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
