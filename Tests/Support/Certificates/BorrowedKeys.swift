// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// RSA keys that one directory uses. Others may reuse them when it is gone, never at the same time: keys of two live directories
/// differ.
final class BorrowedKeys: Sendable {
    /// Keys in PEM by their size in bits.
    private let mine = Locked<[Int: [[UInt8]]]>([:])
    private static let free = Locked<[Int: [[UInt8]]]>([:])

    deinit {
        let mine = mine.withLock(\.self)
        Self.free.withLock { $0.merge(mine) { $0 + $1 } }
    }

    /// A key that nothing uses any more; nil if there is none.
    func take(bits: Int) -> [UInt8]? {
        guard let key = Self.free.withLock({ $0[bits]?.popLast() }) else { return nil }
        add(key, bits: bits)
        return key
    }

    /// Notes a new key.
    func add(_ key: [UInt8], bits: Int) {
        mine.withLock { $0[bits, default: []].append(key) }
    }
}
