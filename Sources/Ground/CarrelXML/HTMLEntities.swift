// SPDX-License-Identifier: Apache-2.0

/// The character references of HTML (WHATWG HTML §13.2.5.72 to §13.2.5.80): 2,231 names, and numbers.
package enum HTMLEntities {
    /// Letters of the longest name.
    private static let nameLimit = 31

    private struct Entity {
        let characters: String
        /// Whether the name counts without its semicolon, as in the first versions of HTML.
        let isLegacy: Bool
    }

    private static let entities: [String: Entity] = {
        let words = table.description.split(separator: " ")
        var entities: [String: Entity] = [:]
        entities.reserveCapacity(words.count / 2)
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            let scalars = words[index + 1].split(separator: ",").compactMap { UInt32($0, radix: 16).flatMap(Unicode.Scalar.init) }
            let isLegacy = words[index].hasSuffix("!")
            let characters = String(String.UnicodeScalarView(scalars))
            entities[String(isLegacy ? words[index].dropLast() : words[index])] = Entity(
                characters: characters,
                isLegacy: isLegacy
            )
        }
        return entities
    }()

    /// Letters of the longest name that counts without its semicolon.
    private static let legacyLimit = entities.reduce(0) { $1.value.isLegacy ? max($0, $1.key.utf8.count) : $0 }

    /// The characters that a name stands for.
    ///
    /// - Parameter name: without `&` and `;`, such as `eacute`.
    /// - Returns: one or two characters; nil for a name that HTML does not have.
    package static func characters(named name: String) -> String? { entities[name]?.characters }

    /// Reads the reference at the beginning of a text.
    ///
    /// - Parameters:
    ///   - text: the text after an ampersand.
    ///   - isAttribute: whether it is an attribute's value, in which a reference needs its semicolon.
    /// - Returns: the characters and the end of the reference; nil if there is none.
    package static func reference<Text: Collection<Unicode.Scalar>>(
        in text: Text,
        isAttribute: Bool = false
    ) -> (characters: String, end: Text.Index)? {
        if text.first == "#" { return number(in: text, isAttribute) }
        let name = text.prefix(nameLimit).prefix { $0.isASCII && $0.properties.isAlphabetic || "0"..."9" ~= $0 }
        var letters = String(String.UnicodeScalarView(name))
        if name.endIndex < text.endIndex, text[name.endIndex] == ";", let entity = entities[letters] {
            return (entity.characters, text.index(after: name.endIndex))
        }
        if isAttribute { return nil }
        letters = String(letters.prefix(legacyLimit))
        while letters.utf8.count > 1 {
            if let entity = entities[letters], entity.isLegacy {
                return (entity.characters, text.index(text.startIndex, offsetBy: letters.utf8.count))
            }
            letters.removeLast()
        }
        return nil
    }

    private static func number<Text: Collection<Unicode.Scalar>>(
        in text: Text,
        _ isAttribute: Bool
    ) -> (characters: String, end: Text.Index)? {
        var remainder = text.dropFirst()
        let isHexadecimal = remainder.first == "x" || remainder.first == "X"
        if isHexadecimal { remainder = remainder.dropFirst() }
        var (value, hasDigits): (UInt32, Bool) = (0, false)
        while let digit = remainder.first.flatMap({ Character($0).isASCII ? Character($0).hexDigitValue : nil }),
            isHexadecimal || digit < 10
        {
            // more than there are characters, and no more than fits
            value = min(0x11_0000, value * (isHexadecimal ? 16 : 10) + UInt32(digit))
            hasDigits = true
            remainder = remainder.dropFirst()
        }
        let hasEnd = remainder.first == ";"
        guard hasDigits, hasEnd || !isAttribute else { return nil }
        let end = hasEnd ? text.index(after: remainder.startIndex) : remainder.startIndex
        return (String(Character(scalar(value))), end)
    }

    /// The character of a numeric reference: invalid numbers are replaced, and numbers of Windows-1252 are mapped to its
    /// characters (§13.2.5.80).
    private static func scalar(_ value: UInt32) -> Unicode.Scalar {
        if 0x80...0x9f ~= value { return windows[Int(value) - 0x80] }
        guard value > 0, let scalar = Unicode.Scalar(value) else { return "\u{fffd}" }
        return scalar
    }

    private static let windows = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ".unicodeScalars
    )

    /// A text with its references replaced.
    ///
    /// - Parameters:
    ///   - text: the text of HTML, without tags.
    ///   - isAttribute: see ``reference(in:isAttribute:)``.
    /// - Returns: the text; an ampersand that begins no reference stays.
    package static func decoded(_ text: some StringProtocol, isAttribute: Bool = false) -> String {
        var out = String.UnicodeScalarView()
        var remainder = Substring(text).unicodeScalars
        while let mark = remainder.firstIndex(of: "&") {
            out.append(contentsOf: remainder[..<mark])
            remainder = remainder[remainder.index(after: mark)...]
            if let reference = reference(in: remainder, isAttribute: isAttribute) {
                out.append(contentsOf: reference.characters.unicodeScalars)
                remainder = remainder[reference.end...]
            } else {
                out.append("&")
            }
        }
        out.append(contentsOf: remainder)
        return String(out)
    }
}
