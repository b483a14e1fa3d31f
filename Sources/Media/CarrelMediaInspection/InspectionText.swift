// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// Facts as lines of text: a name and a value per line, 80 columns if the values allow it.
///
/// Members of an object are consecutive lines. Each item of a list of objects is one line if it fits, otherwise a block with a
/// dash on its first line. Empty lists are left out.
struct InspectionText {
    private static let width = 80
    private var lines: [String] = []

    init(_ facts: JSON) {
        write(facts, indent: "")
    }

    var text: String { lines.joined(separator: "\n") }

    private mutating func write(_ value: JSON, indent: String) {
        for member in value.object ?? [:] {
            let name = Self.words(member.name)
            if let items = member.value.array {
                write(items, named: member.name, indent: indent)
            } else if member.value.object != nil {
                lines.append("\(indent)\(name):")
                write(member.value, indent: indent + "  ")
            } else if !member.value.isNull {
                lines.append("\(indent)\(name): \(Self.plain(member.value))")
            }
        }
    }

    private mutating func write(_ items: [JSON], named name: String, indent: String) {
        guard !items.isEmpty else { return }
        guard items.contains(where: { $0.object != nil }) else {
            return writeWrapped("\(indent)\(Self.words(name)):", items.map(Self.plain), indent: indent + "  ")
        }
        lines.append("\(indent)\(Self.words(name)):")
        for item in items {
            if name == "boxes" {
                writeBox(item, indent: indent + "  ")
            } else if let line = Self.line(item), indent.count + 4 + line.count <= Self.width {
                lines.append("\(indent)  - \(line)")
            } else {
                let first = lines.count
                write(item, indent: indent + "    ")
                if first < lines.count { lines[first] = indent + "  - " + lines[first].dropFirst(indent.count + 4) }
            }
        }
    }

    /// Writes values after a name, separated by commas, on as many lines as they need.
    private mutating func writeWrapped(_ name: String, _ values: [String], indent: String) {
        var line = name
        for (index, value) in values.enumerated() {
            let more = " " + value + (index + 1 < values.count ? "," : "")
            if line.count + more.count > Self.width, line != name {
                lines.append(line)
                line = indent + more.dropFirst()
            } else {
                line += more
            }
        }
        lines.append(line)
    }

    /// An object of plain members in one line; nil if it has others.
    private static func line(_ value: JSON) -> String? {
        var parts: [String] = []
        for member in value.object ?? [:] {
            if let items = member.value.array {
                guard items.isEmpty else { return nil }
            } else if member.value.object != nil {
                return nil
            } else if !member.value.isNull {
                parts.append("\(words(member.name)): \(plain(member.value))")
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private mutating func writeBox(_ box: JSON, indent: String) {
        lines.append(
            "\(indent)\(Self.plain(box["type"] ?? nil)) at \(Self.plain(box["offset"] ?? nil)), \(Self.plain(box["size"] ?? nil)) bytes"
        )
        for child in box["boxes"]?.array ?? [] { writeBox(child, indent: indent + "  ") }
    }

    /// A member's name as words: `contentIds` is `content ids`.
    private static func words(_ name: String) -> String {
        var words = ""
        var isUppercase = false
        for character in name {
            if character.isUppercase, !isUppercase { words += " " }
            isUppercase = character.isUppercase
            words += character.lowercased()
        }
        return words
    }

    private static func plain(_ value: JSON) -> String {
        if let text = value.string { return printable(text) }
        if let number = value.int { return String(number) }
        if let number = value.double { return String((number * 1000).rounded() / 1000) }
        if let isTrue = value.bool { return isTrue ? "yes" : "no" }
        return "unknown"
    }

    /// The text of a file without its control characters: a terminal would obey them.
    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        var out = ""
        for scalar in text.unicodeScalars {
            out.unicodeScalars.append(scalar.properties.generalCategory == .control ? "\u{fffd}" : scalar)
        }
        return out
    }
}
