// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The search for two zero bytes in a row, with which every start code and every emulation prevention byte begins.
enum ZeroPair {
    /// The first offset from `start` on with two zero bytes; nil if there are none.
    static func first(in bytes: RawSpan, from start: Int) -> Int? {
        var at = start
        // eight positions a step: a zero byte in the bytes or-ed with those one further
        while bytes.byteCount &- at >= 9 {
            let pairs = bytes.u64le(at: at) | bytes.u64le(at: at &+ 1)
            let zeros = (pairs &- 0x0101_0101_0101_0101) & ~pairs & 0x8080_8080_8080_8080
            // the lowest flag is exact; those above it may be carried
            if zeros != 0 { return at &+ zeros.trailingZeroBitCount >> 3 }
            at &+= 8
        }
        while bytes.byteCount &- at >= 2 {
            if bytes.u16(at: at) == 0 { return at }
            at &+= 1
        }
        return nil
    }
}
