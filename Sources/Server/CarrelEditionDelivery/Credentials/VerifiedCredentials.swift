// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// A cache of recently verified pairs, by their header field and product, so that a reader's next request only needs a lookup.
/// Forged pairs are never cached; expiry and revocation are checked each time.
final class VerifiedCredentials: Sendable {
    struct Key: Hashable, Sendable {
        let authorization: String
        let product: String
    }

    struct Found: Sendable {
        let verified: EditionCredentials.Verified
        /// The serial of the secrets that verified the pair.
        let generation: UInt32
    }

    /// Maximum number of cached pairs; each takes some 200 bytes.
    static let limit = 8192

    private let known = Locked(LRUCache<Key, Found>(limit: VerifiedCredentials.limit))

    subscript(key: Key) -> Found? { known.withLock { $0[key] } }

    func insert(_ found: Found, for key: Key) { known.withLock { $0.insert(found, for: key, cost: 1) } }
}
