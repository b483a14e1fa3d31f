// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelThreads

/// A cache of recently rejected passwords: an app that keeps sending an old password is refused without hashing it.
///
/// Kept in the memory of this process, as HMACs under a key of its own, so that no password can be read from it. Names without
/// an account are cached like all others.
package final class RejectedPasswordCache: Sendable {
    private struct Refused: Sendable {
        /// The account's password hash at that time; nil without an account or without a password.
        let passwordHash: String?
        let until: Instant
    }

    /// The cache key of an attempt.
    package struct Key: Sendable, Hashable {
        fileprivate let bytes: [UInt8]
    }

    private static let memory = Duration.seconds(600)

    private let fingerprint = HMACSHA256(key: Secret.random(count: 32))
    private let refused = Locked(LRUCache<Key, Refused>(limit: 16_384))

    package init() {}

    /// The key has the network in it: that a guess was wrong before is told only to who made it.
    package func key(name: String, password: String, network: String) -> Key {
        var message: [UInt8] = []
        for part in [name, network, password] { message += "\(part.utf8.count):\(part)".utf8 }
        return Key(bytes: Array(fingerprint.authenticate(message.rawSpan).prefix(16)))
    }

    /// Whether it was wrong, and the account's password is what it was then.
    package func holds(_ key: Key, passwordHash: String?, at now: Instant) -> Bool {
        refused.withLock { $0[key] }.map { now < $0.until && $0.passwordHash == passwordHash } ?? false
    }

    package func insert(_ key: Key, passwordHash: String?, at now: Instant) {
        let refused = Refused(passwordHash: passwordHash, until: now + Self.memory)
        self.refused.withLock { $0.insert(refused, for: key, cost: 1) }
    }
}
