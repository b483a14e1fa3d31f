// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The 16 bytes of an AES block as two big-endian numbers: an initialization vector, or an initial counter block.
package struct AESBlock: Sendable, Hashable {
    /// The first eight bytes.
    package var high: UInt64
    /// The last eight bytes, which count in counter mode.
    package var low: UInt64

    /// - Parameters:
    ///   - high: the first eight bytes.
    ///   - low: the last eight bytes.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 16 bytes, or 8 that zeros follow on the right, as Common Encryption writes initialization vectors (ISO/IEC 23001-7
    /// §9.1); nil if `bytes` has another length.
    package init?(_ bytes: RawSpan) {
        guard bytes.byteCount == 16 || bytes.byteCount == 8 else { return nil }
        high = bytes.u64(at: 0)
        low = bytes.byteCount == 16 ? bytes.u64(at: 8) : 0
    }

    /// The 16 bytes.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        return bytes
    }

    /// The block `count` blocks further on in counter mode: the low half wraps and does not carry (ISO/IEC 23001-7 §9.3).
    package func advanced(by count: UInt64) -> AESBlock { AESBlock(high: high, low: low &+ count) }

    /// The block `count` blocks further on when all 128 bits count (NIST SP 800-38A appendix B.1).
    package func carried(by count: UInt64) -> AESBlock {
        let (low, carry) = low.addingReportingOverflow(count)
        return AESBlock(high: carry ? high &+ 1 : high, low: low)
    }
}
