// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// Columns the text takes on a terminal: none for marks that combine, two for East Asian wide characters and emoji.
    var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Character {
    var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        if scalar.isASCII { return scalar.value < 32 || scalar.value == 127 ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation || unicodeScalars.contains("\u{fe0f}") { return 2 }
        switch scalar.value {
        case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa000...0xa4cf,
            0xac00...0xd7a3,
            0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x20000...0x3fffd:
            return 2
        default: return 1
        }
    }
}

extension String {
    /// The text padded with spaces after it (or before it) up to `width` columns.
    func padded(to width: Int, onTheLeft: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns))
        return onTheLeft ? spaces + self : self + spaces
    }

    /// The text cut to `width` columns, ending with an ellipsis if something was cut.
    func shortened(to width: Int) -> String {
        guard columns > width else { return self }
        var out = ""
        var used = 0
        for character in self {
            guard used + character.columns <= width - 1 else { break }
            out.append(character)
            used += character.columns
        }
        return out + "…"
    }

    /// The text without characters that would command a terminal or reorder its line: a title from an untrusted file may hold anything.
    /// Controls and direction overrides become visible escapes; line breaks become spaces.
    package var printable: String {
        guard unicodeScalars.contains(where: \.isDangerousOnTerminals) else { return self }
        var out = ""
        for scalar in unicodeScalars {
            if scalar == "\n" || scalar == "\t" {
                out += " "
            } else if scalar.isDangerousOnTerminals {
                out += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension Unicode.Scalar {
    fileprivate var isDangerousOnTerminals: Bool {
        switch value {
        case 0..<32, 127..<160, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
