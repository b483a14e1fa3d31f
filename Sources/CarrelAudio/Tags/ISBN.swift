/// International Standard Book Numbers (ISO 2108).
public enum ISBN {
    /// The number in its one form.
    ///
    /// - Parameter text: may carry hyphens, spaces, and a prefix `ISBN` or `urn:isbn:`.
    /// - Returns: digits (and a closing X) only, or nil when it is not an ISBN-10 or ISBN-13 with a correct check digit.
    public static func normalized(_ text: String) -> String? {
        var rest = Substring(text.prefix(40)).drop { $0 == " " }
        if rest.lowercased().hasPrefix("urn:isbn:") { rest = rest.dropFirst(9) }
        if rest.lowercased().hasPrefix("isbn") { rest = rest.dropFirst(4) }
        if rest.hasPrefix("-10") || rest.hasPrefix("-13") { rest = rest.dropFirst(3) }
        rest = rest.drop { $0 == ":" || $0 == " " }
        var digits: [UInt8] = []
        for character in rest.utf8 {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(character)
            case UInt8(ascii: "X"), UInt8(ascii: "x"): digits.append(UInt8(ascii: "X"))
            case UInt8(ascii: "-"), UInt8(ascii: " "): continue
            default: return nil
            }
        }
        return isValid(digits) ? String(decoding: digits, as: UTF8.self) : nil
    }

    private static func isValid(_ digits: [UInt8]) -> Bool {
        func value(_ digit: UInt8) -> Int { digit == UInt8(ascii: "X") ? 10 : Int(digit) - 48 }
        if digits.dropLast().contains(UInt8(ascii: "X")) { return false }
        switch digits.count {
        case 10: return digits.enumerated().reduce(0) { $0 + (10 - $1.offset) * value($1.element) } % 11 == 0
        case 13:
            guard digits.starts(with: "978".utf8) || digits.starts(with: "979".utf8) else { return false }
            return digits.last != UInt8(ascii: "X")
                && digits.enumerated().reduce(0) { $0 + ($1.offset % 2 == 0 ? 1 : 3) * value($1.element) } % 10 == 0
        default: return false
        }
    }
}
