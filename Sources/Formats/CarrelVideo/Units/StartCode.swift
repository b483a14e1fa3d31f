// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The three bytes 00 00 01 before each NAL unit of a byte stream (ISO/IEC 14496-10 annex B, 23008-2 annex B).
package enum StartCode {
    /// Finds the next start code.
    ///
    /// - Parameters:
    ///   - bytes: a byte stream, or a part of it.
    ///   - start: the first offset to examine; not negative.
    /// - Returns: the offset of 00 00 01, or nil if there is none.
    package static func first(in bytes: RawSpan, from start: Int) -> Int? {
        var at = start
        while let pair = ZeroPair.first(in: bytes, from: at) {
            guard pair &+ 2 < bytes.byteCount else { return nil }
            switch bytes.u8(at: pair &+ 2) {
            case 1: return pair
            case 0: at = pair &+ 1
            default: at = pair &+ 3
            }
        }
        return nil
    }
}
