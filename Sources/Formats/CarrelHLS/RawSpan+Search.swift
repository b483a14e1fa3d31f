// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Eight bytes of a text at a time.
extension RawSpan {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var high: UInt64 { 0x8080_8080_8080_8080 }

    /// The first quotation mark of a range; its end if there is none.
    @inline(__always)
    func firstQuotationMark(_ range: Range<Int>) -> Int {
        var position = range.lowerBound
        while position &+ 8 <= range.upperBound {
            let difference = u64le(at: position) ^ Self.ones &* 0x22
            // the lowest high bit is of the first byte that does not differ
            let hits = (difference &- Self.ones) & ~difference & Self.high
            if hits != 0 { return position &+ hits.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < range.upperBound, u8(at: position) != 0x22 { position &+= 1 }
        return position
    }

    /// The first comma, quotation mark, space or control character of a range; its end if there is none.
    @inline(__always)
    func firstEndOfBare(_ range: Range<Int>) -> Int {
        var position = range.lowerBound
        while position < range.upperBound {
            if position &+ 8 <= range.upperBound {
                let word = u64le(at: position)
                // the lowest high bit is of the first byte below 0x2d
                let hits = (word &- Self.ones &* 0x2d) & ~word & Self.high
                guard hits != 0 else {
                    position &+= 8
                    continue
                }
                position &+= hits.trailingZeroBitCount &>> 3
            }
            let byte = u8(at: position)
            if byte <= 0x20 || byte == 0x22 || byte == 0x2c { return position }
            position &+= 1
        }
        return position
    }

    /// Whether a range has nothing but hexadecimal digits.
    func isHexadecimal(_ range: Range<Int>) -> Bool {
        var position = range.lowerBound
        while position &+ 8 <= range.upperBound {
            let word = u64le(at: position)
            guard word & Self.high == 0 else { return false }
            // the high bit of each byte that is not a decimal digit, and of each letter from A to F
            let isOther = (word ^ Self.ones &* 0x30) &+ Self.ones &* 0x76
            let letter = (word | Self.ones &* 0x20) ^ Self.ones &* 0x60
            let isLetter = (letter &+ Self.ones &* 0x7f) & ~(letter &+ Self.ones &* 0x79)
            guard isOther & ~isLetter & Self.high == 0 else { return false }
            position &+= 8
        }
        while position < range.upperBound {
            let byte = u8(at: position)
            guard 0x30...0x39 ~= byte || 0x61...0x66 ~= byte | 0x20 else { return false }
            position &+= 1
        }
        return true
    }

    /// Whether eight bytes are the number in big-endian order; false if fewer are left.
    @inline(__always)
    func has(_ word: UInt64, at position: Int) -> Bool { position &+ 8 <= byteCount && u64(at: position) == word }
}
