// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The id of a content key (`KID`, ISO/IEC 23001-7 §8.2): 16 bytes.
package struct KeyID: Sendable, Hashable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter bytes: 16 of them; nil if there are fewer or more.
    package init?(_ bytes: RawSpan) {
        guard bytes.byteCount == 16 else { return nil }
        high = bytes.u64(at: 0)
        low = bytes.u64(at: 8)
    }

    init(_ cursor: inout ByteCursor) throws(Malformed) {
        high = try cursor.u64("key id")
        low = try cursor.u64("key id")
    }

    /// The 16 bytes.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        return bytes
    }

    /// Whether all bits are zero, as in a track whose sample groups name the keys.
    package var isZero: Bool { high | low == 0 }

    /// 32 lower-case digits.
    package var description: String { Hex.encode(bytes) }
}
