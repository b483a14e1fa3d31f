// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Numbers as playlists write them (RFC 8216 §4.2).
enum DecimalInteger {
    /// A decimal integer: 1 to 20 digits, below 2^64.
    static func parse(_ text: some StringProtocol) -> UInt64? {
        guard !text.isEmpty, text.utf8.count <= 20, text.utf8.allSatisfy(isDigit) else { return nil }
        return UInt64(text)
    }

    /// A decimal integer in place.
    static func parse(_ bytes: RawSpan, _ range: Range<Int>) -> UInt64? {
        guard !range.isEmpty, range.count <= 20 else { return nil }
        var value: UInt64 = 0
        // that many digits are below 2^63
        let plain = range.lowerBound..<min(range.upperBound, range.lowerBound &+ 18)
        for position in plain {
            let digit = bytes.u8(at: position) &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value &* 10 &+ UInt64(digit)
        }
        for position in plain.upperBound..<range.upperBound {
            let byte = bytes.u8(at: position)
            guard isDigit(byte) else { return nil }
            let (tens, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, over) = tens.addingReportingOverflow(UInt64(byte & 15))
            guard !tooLarge, !over else { return nil }
            value = sum
        }
        return value
    }

    /// A decimal floating-point number, to the microsecond.
    static func parseSeconds(_ text: some StringProtocol) -> Duration? {
        let bytes = Array(text.utf8)
        return parseSeconds(bytes.rawSpan, bytes.indices)
    }

    /// A decimal floating-point number in place, to the microsecond.
    static func parseSeconds(_ bytes: RawSpan, _ range: Range<Int>) -> Duration? {
        parseMicroseconds(bytes, range).map { .microseconds($0) }
    }

    /// A decimal floating-point number of seconds in place, in microseconds.
    static func parseMicroseconds(_ bytes: RawSpan, _ range: Range<Int>) -> Int64? {
        var position = range.lowerBound
        let end = range.upperBound
        var whole: Int64 = 0
        while position < end {
            let digit = bytes.u8(at: position) &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            guard whole < 1 << 40 else { return nil }
            whole = whole &* 10 &+ Int64(digit)
            position &+= 1
        }
        guard position > range.lowerBound, whole < 1 << 40, position &- range.lowerBound <= 20 else { return nil }
        guard position < end else { return whole &* 1_000_000 }
        guard bytes.u8(at: position) == UInt8(ascii: "."), position &+ 1 < end else { return nil }
        position &+= 1
        var millionths: Int64 = 0
        var digitsLeft = 6
        while position < end {
            let digit = bytes.u8(at: position) &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            if digitsLeft > 0 {
                millionths = millionths &* 10 &+ Int64(digit)
            } else if digitsLeft == 0, digit >= 5 {
                millionths &+= 1
            }
            digitsLeft &-= 1
            position &+= 1
        }
        while digitsLeft > 0 {
            millionths = millionths &* 10
            digitsLeft &-= 1
        }
        return whole &* 1_000_000 &+ millionths
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}
