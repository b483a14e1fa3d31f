// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding (RFC 3986 §2.1) and the form variant where `+` is a space (WHATWG URL §5).
public enum PercentEncoding {
    /// The text with every escape undone once; nil if an escape is not two hexadecimal digits or the bytes are not UTF-8.
    ///
    /// `plusIsSpace` is for `application/x-www-form-urlencoded`.
    ///
    /// - Parameters:
    ///   - text: the escaped text.
    ///   - plusIsSpace: true if `+` means a space.
    /// - Returns: the text, or nil.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }) else {
            return String(text)
        }
        return bytes(text.utf8, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The same for bytes in any encoding.
    static func bytes(_ text: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var digits = text.makeIterator()
        while let c = digits.next() {
            if c == UInt8(ascii: "%") {
                guard let high = digits.next().flatMap(value), let low = digits.next().flatMap(value) else { return nil }
                bytes.append(high << 4 | low)
            } else if plusIsSpace, c == UInt8(ascii: "+") {
                bytes.append(0x20)
            } else {
                bytes.append(c)
            }
        }
        return bytes
    }

    /// The text with every byte but unreserved characters (RFC 3986 §2.3) escaped.
    ///
    /// - Parameter text: the text to escape.
    /// - Returns: the escaped text.
    public static func encode(_ text: some StringProtocol) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for c in text.utf8 {
            switch c {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.append(c)
            default:
                out.append(UInt8(ascii: "%"))
                out.append(digits[Int(c >> 4)])
                out.append(digits[Int(c & 15)])
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func value(_ c: UInt8) -> UInt8? {
        switch c {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): c - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): c - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): c - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
