// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Initialization vectors for a whole package: unique for each key, whatever the track.
///
/// Each key has a 64-bit counter that begins at a random number, and every track with the key takes its vectors from that
/// counter. So vectors are distinct by construction, and two packages with one key start with different vectors. In counter mode,
/// the number is the high half of the counter block, and the low half counts the blocks of the sample from 0 (ISO/IEC 23001-7
/// §9.2).
package struct VectorSequence: Sendable {
    private struct Counter: Sendable {
        /// The key itself: two ids may name one key.
        var key: Secret
        var next: UInt64
        /// The low half of vectors of 16 bytes.
        var low: UInt64
    }
    private var counters: [Counter] = []

    package init() {}

    /// Returns the next initialization vector for a key.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - isLong: whether all 16 bytes are used; otherwise the low half is 0.
    /// - Returns: the initialization vector.
    package mutating func next(for key: Secret, isLong: Bool) -> AESBlock {
        let i = counters.firstIndex { $0.key == key } ?? add(key)
        let high = counters[i].next
        counters[i].next &+= 1
        return AESBlock(high: high, low: isLong ? counters[i].low : 0)
    }

    private mutating func add(_ key: Secret) -> Int {
        let random = Random.bytes(16)
        counters.append(Counter(key: key, next: random.rawSpan.u64(at: 0), low: random.rawSpan.u64(at: 8)))
        return counters.count - 1
    }
}
