// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Writes the values of the Distinguished Encoding Rules (ITU-T X.690 §10) that keys, signatures, certificates and their lists are made of.
enum DER {
    /// A value of any type with a tag below 31.
    static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { value(0x30, Array(parts.joined())) }

    static func set(_ parts: [UInt8]...) -> [UInt8] { value(0x31, Array(parts.joined())) }

    /// A value with a tag of its context around it.
    static func explicit(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { value(0xa0 | number, content) }

    static let isTrue: [UInt8] = [0x01, 0x01, 0xff]

    /// A whole number that is not negative, from its big-endian bytes.
    static func integer(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        let isSigned = (digits.first ?? 0) & 0x80 == 0x80
        return value(0x02, isSigned || digits.isEmpty ? [0] + digits : digits)
    }

    static func integer(_ number: UInt64) -> [UInt8] {
        integer(stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) })
    }

    /// Whole bytes as a string of bits.
    static func bits(_ bytes: [UInt8]) -> [UInt8] { value(0x03, [0] + bytes) }

    static func octets(_ bytes: [UInt8]) -> [UInt8] { value(0x04, bytes) }

    static func text(_ text: String) -> [UInt8] { value(0x0c, Array(text.utf8)) }

    /// Numbers with periods between them, each below 2¹²⁸.
    static func objectIdentifier(_ text: String) -> [UInt8] {
        let numbers = text.split(separator: ".").compactMap { UInt128($0) }
        precondition(numbers.count >= 2, "an object identifier has two numbers or more")
        var content: [UInt8] = []
        for number in [numbers[0] * 40 + numbers[1]] + numbers.dropFirst(2) {
            var digits = [UInt8(number & 0x7f)]
            var remainder = number >> 7
            while remainder > 0 {
                digits.append(UInt8(remainder & 0x7f) | 0x80)
                remainder >>= 7
            }
            content += digits.reversed()
        }
        return value(0x06, content)
    }

    /// A time (RFC 5280 §4.1.2.5): with a two-digit year before 2050, and a four-digit year from then on.
    static func time(_ instant: Instant) -> [UInt8] {
        let digits = instant.description.utf8.prefix(19).filter { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let isShort = digits.lexicographicallyPrecedes("2050".utf8)
        return value(isShort ? 0x17 : 0x18, Array(isShort ? digits.dropFirst(2) : digits[...]) + [UInt8(ascii: "Z")])
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var digits: [UInt8] = []
        var remainder = count
        while remainder > 0 {
            digits.insert(UInt8(remainder & 0xff), at: 0)
            remainder >>= 8
        }
        return [0x80 | UInt8(digits.count)] + digits
    }
}
