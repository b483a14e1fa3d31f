// SPDX-License-Identifier: Apache-2.0

/// Texts of a document as people read them.
enum PDFText {
    /// Bytes of a text that is shown.
    private static let limit = 8192

    /// A text without control characters, trimmed, with single spaces, and not too long.
    static func printable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        var (isSpace, count) = (false, 0)
        for scalar in text.unicodeScalars {
            guard count < limit else { break }
            if scalar.properties.isWhitespace {
                isSpace = !scalars.isEmpty
                continue
            }
            guard scalar.value >= 0x20, !(0x7f...0x9f ~= scalar.value), scalar.value != 0xfeff else { continue }
            if isSpace { scalars.append(" ") }
            isSpace = false
            scalars.append(scalar)
            count += 1
        }
        return String(scalars)
    }

    /// ISO 8601 for a date of ISO 32000-2 §7.9.4, such as `D:20240131120000+01'00'`; nil if it is not a date.
    static func date(_ text: String) -> String? {
        var digits = Substring(text.hasPrefix("D:") ? String(text.dropFirst(2)) : text)
        func take(_ count: Int, _ range: ClosedRange<Int>) -> String? {
            let part = digits.prefix(count)
            guard part.utf8.count == count, part.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let value = Int(part), range ~= value
            else {
                return nil
            }
            digits = digits.dropFirst(count)
            return String(part)
        }
        guard var date = take(4, 0...9999) else { return nil }
        guard let month = take(2, 1...12) else { return date }
        date += "-\(month)"
        guard let day = take(2, 1...31) else { return date }
        date += "-\(day)"
        guard let hour = take(2, 0...23), let minute = take(2, 0...59) else { return date }
        date += "T\(hour):\(minute):\(take(2, 0...59) ?? "00")"
        guard let sign = digits.first else { return date }
        digits = digits.dropFirst()
        guard sign == "+" || sign == "-", let hours = take(2, 0...23) else { return date + "Z" }
        if digits.first == "'" { digits = digits.dropFirst() }
        return date + "\(sign)\(hours):\(take(2, 0...59) ?? "00")"
    }
}
