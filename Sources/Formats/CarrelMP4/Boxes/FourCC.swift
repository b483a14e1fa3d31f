// SPDX-License-Identifier: Apache-2.0

/// Four characters that name a box, a codec or a brand; in ISO 8859-1, so that `©nam` has four.
package struct FourCC: Hashable, ExpressibleByStringLiteral, Sendable, CustomStringConvertible {
    /// The characters as a big-endian number.
    package let word: UInt32

    /// - Parameter word: the characters as a big-endian number.
    package init(_ word: UInt32) {
        self.word = word
    }

    package init(stringLiteral text: String) {
        word = text.unicodeScalars.reduce(0) { $0 << 8 | $1.value & 0xff }
    }

    /// The characters, with `?` for those that do not print.
    package var description: String {
        var text = ""
        for shift: UInt32 in [24, 16, 8, 0] {
            let byte = UInt8(word >> shift & 0xff)
            let prints = (0x20...0x7e).contains(byte) || byte == 0xa9
            text.unicodeScalars.append(Unicode.Scalar(prints ? byte : UInt8(ascii: "?")))
        }
        return text
    }
}
