// SPDX-License-Identifier: Apache-2.0

/// An International Standard Book Number in its 13-digit form (ISO 2108).
///
/// An attribute of a title, never its key: publishers change them.
package struct ISBN: Hashable, Sendable, CustomStringConvertible {
    /// 13 digits.
    package let description: String

    /// Reads 10 or 13 digits, optionally with hyphens, spaces and a prefix `ISBN` or `urn:isbn:`; nil if the check digit is
    /// wrong.
    package init?(_ text: some StringProtocol) {
        var digits: [Int] = []
        for scalar in Self.withoutPrefix(text).unicodeScalars {
            switch scalar {
            case "0"..."9": digits.append(Int(scalar.value) - 0x30)
            case "X", "x":
                guard digits.count == 9 else { return nil }
                digits.append(10)
            case "-", " ", "\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}": continue
            default: return nil
            }
            guard digits.count <= 13 else { return nil }
        }
        if digits.count == 10 {
            let sum = digits.enumerated().reduce(0) { $0 + $1.element * (10 - $1.offset) }
            guard sum % 11 == 0 else { return nil }
            digits = [9, 7, 8] + digits.prefix(9)
            digits.append(Self.checkDigit(digits))
        }
        guard digits.count == 13, digits[0...2] == [9, 7, 8] || digits[0...2] == [9, 7, 9], !digits.contains(10),
            digits[12] == Self.checkDigit(Array(digits.prefix(12)))
        else { return nil }
        description = digits.map(String.init).joined()
    }

    private static func withoutPrefix(_ text: some StringProtocol) -> Substring {
        var remainder = Substring(text.prefix(40)).drop { $0 == " " }
        if remainder.lowercased().hasPrefix("urn:isbn:") { remainder = remainder.dropFirst(9) }
        guard remainder.lowercased().hasPrefix("isbn") else { return remainder }
        remainder = remainder.dropFirst(4)
        for form in ["-10:", "-13:"] where remainder.hasPrefix(form) { return remainder.dropFirst(4) }
        return remainder.first == ":" ? remainder.dropFirst() : remainder
    }

    /// The check digit of the first twelve.
    private static func checkDigit(_ digits: [Int]) -> Int {
        let sum = digits.enumerated().reduce(0) { $0 + $1.element * ($1.offset % 2 == 0 ? 1 : 3) }
        return (10 - sum % 10) % 10
    }
}
