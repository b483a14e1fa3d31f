// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// Pairs that were found genuine lately, by the field that carried them and the product that it was for, so that one reader's next
/// request takes no more than a look. What is forged is never among them; whether a pair has ended or was revoked is asked each
/// time.
final class VerifiedCredentials: Sendable {
    struct Key: Hashable, Sendable {
        let authorization: String
        let product: String
    }

    struct Found: Sendable {
        let verified: EditionCredentials.Verified
        /// Which secrets said so: the number at which they were read.
        let generation: UInt32
    }

    /// Maximum number of cached pairs; each takes some 200 bytes.
    static let limit = 8192

    private let known = Locked(LRUCache<Key, Found>(limit: VerifiedCredentials.limit))

    subscript(key: Key) -> Found? { known.withLock { $0[key] } }

    func insert(_ found: Found, for key: Key) { known.withLock { $0.insert(found, for: key, cost: 1) } }
}
