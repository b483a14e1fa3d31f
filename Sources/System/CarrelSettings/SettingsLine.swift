// SPDX-License-Identifier: Apache-2.0

/// The reason why a line of a settings file is invalid.
struct BadLine: Error, Equatable {
    let message: String
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

/// The grammar of one line of a settings file.
enum SettingsLine {
    /// The key and what stands after the equals sign; nil for an empty line or a comment.
    static func read(_ bytes: some Collection<UInt8>) throws(BadLine) -> (key: String, value: String)? {
        guard let line = String(validating: bytes, as: UTF8.self) else { throw BadLine("the line is not UTF-8") }
        guard line.unicodeScalars.allSatisfy({ $0 == "\t" || $0.value >= 32 && $0.value != 127 }) else {
            throw BadLine("the line holds a control character")
        }
        let text = trim(line[...])
        if text.isEmpty || text.first == "#" { return nil }
        if text.first == "[" {
            throw BadLine("sections are not used", hint: "write the whole name in every line, such as http.port = 8080")
        }
        guard let equals = text.firstIndex(of: "=") else {
            throw BadLine("the line has no '='", hint: "write it as key = value, or begin it with # to leave it out")
        }
        let key = trim(text[..<equals])
        guard !key.isEmpty, key.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "_") })
        else {
            throw BadLine("the text before '=' is not the name of a setting")
        }
        return (String(key), String(trim(text[text.index(after: equals)...])))
    }

    /// Parses a single value of a setting.
    static func value(_ text: String) throws(BadLine) -> String {
        var remainder = text[...]
        if remainder.first == "\"" {
            let value = try takeQuoted(&remainder)
            try expectEnd(remainder)
            return value
        }
        let value = takeBare(&remainder, upToComma: false)
        if value.isEmpty { throw BadLine("there is no value", hint: "write \"\" for an empty one") }
        return value
    }

    /// The values of a setting that holds several; `""` alone means none.
    static func values(_ text: String) throws(BadLine) -> [String] {
        var remainder = text[...]
        var values: [String] = []
        var isQuotedEmpty = false
        while true {
            remainder = trim(remainder)
            if remainder.first == "\"" {
                let value = try takeQuoted(&remainder)
                isQuotedEmpty = value.isEmpty
                values.append(value)
                remainder = trim(remainder)
                if remainder.first != "," { try expectEnd(remainder) }
            } else {
                let value = takeBare(&remainder, upToComma: true)
                if value.isEmpty { throw BadLine(values.isEmpty ? "there is no value" : "a value is missing beside a comma") }
                values.append(value)
            }
            guard remainder.first == "," else { return values.count == 1 && isQuotedEmpty ? [] : values }
            remainder.removeFirst()
        }
    }

    private static func takeQuoted(_ remainder: inout Substring) throws(BadLine) -> String {
        var value = ""
        remainder.removeFirst()
        while let character = remainder.popFirst() {
            switch character {
            case "\"": return value
            case "\\":
                switch remainder.popFirst() {
                case "\"": value.append("\"")
                case "\\": value.append("\\")
                case "n": value.append("\n")
                case "t": value.append("\t")
                default:
                    throw BadLine(
                        "a backslash precedes a character that needs none",
                        hint: "write \\\\ for a backslash in quotes"
                    )
                }
            default: value.append(character)
            }
        }
        throw BadLine("a quote is not closed")
    }

    /// Up to a comment or the end.
    private static func takeBare(_ remainder: inout Substring, upToComma: Bool) -> String {
        var afterBlank = true
        var end = remainder.startIndex
        while end < remainder.endIndex {
            let character = remainder[end]
            if character == "#" && afterBlank || upToComma && character == "," { break }
            afterBlank = character == " " || character == "\t"
            end = remainder.index(after: end)
        }
        defer { remainder = remainder[end...].first == "#" ? remainder[remainder.endIndex...] : remainder[end...] }
        return String(trim(remainder[..<end]))
    }

    private static func expectEnd(_ remainder: Substring) throws(BadLine) {
        let remainder = trim(remainder)
        guard remainder.isEmpty || remainder.first == "#" else { throw BadLine("text follows a closing quote") }
    }

    private static func trim(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
