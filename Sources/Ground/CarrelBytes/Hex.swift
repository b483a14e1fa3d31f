// SPDX-License-Identifier: Apache-2.0

/// Base 16 in lower case (RFC 4648 §8).
public enum Hex {
    /// Encodes bytes as lower-case hexadecimal digits (RFC 4648 §8), two a byte.
    ///
    /// - Parameter bytes: the bytes to encode.
    /// - Returns: the digits.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        // an array of its own, because a generic sequence is read slowly
        let bytes = Array(bytes)
        var out: [UInt8] = []
        out.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            out.append(digit(byte >> 4))
            out.append(digit(byte & 15))
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The bytes, or nil if the text has an odd length or another character than 0–9, a–f, A–F.
    ///
    /// - Parameter text: the digits.
    /// - Returns: the bytes, or nil.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let characters = Array(text.utf8)
        var out: [UInt8] = []
        out.reserveCapacity(characters.count / 2)
        var high: UInt8?
        for character in characters {
            guard let digit = value(character) else { return nil }
            if let first = high {
                out.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? out : nil
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
