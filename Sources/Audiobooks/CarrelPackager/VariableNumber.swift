// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

// Numbers of one to ten bytes, seven bits each, lowest first; every number has one form only.

extension [UInt8] {
    mutating func appendVariable(_ value: UInt64) {
        var remainder = value
        while remainder >= 0x80 {
            append(UInt8(truncatingIfNeeded: remainder) | 0x80)
            remainder >>= 7
        }
        append(UInt8(remainder))
    }

    /// Signed: 0, −1, 1, −2, … as 0, 1, 2, 3, ….
    mutating func appendVariable(zigzag value: Int64) {
        appendVariable(UInt64(bitPattern: value << 1 ^ value >> 63))
    }
}

extension ByteCursor {
    @_lifetime(self: copy self)
    mutating func variable(below limit: UInt64, _ what: StaticString) throws(Malformed) -> UInt64 {
        let start = position
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try u8(what)
            guard shift < 63 || byte <= 1 else { throw Malformed("\(what) is too large", at: start) }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 {
                guard byte != 0 || shift == 0 else { throw Malformed("\(what) is longer than it need be", at: start) }
                break
            }
            shift += 7
        }
        guard value < limit else { throw Malformed("\(what) is too large", at: start) }
        return value
    }

    /// A signed number, below 2^40 either way.
    @_lifetime(self: copy self)
    mutating func zigzag(_ what: StaticString) throws(Malformed) -> Int64 {
        let value = try variable(below: 1 << 41, what)
        return Int64(value >> 1) ^ -Int64(value & 1)
    }
}
