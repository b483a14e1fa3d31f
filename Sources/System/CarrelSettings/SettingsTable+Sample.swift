// SPDX-License-Identifier: Apache-2.0

extension SettingsTable {
    /// A settings file that changes nothing: every setting with its help and default, commented out.
    package static var sampleFile: String {
        sampleFile(heading: [
            "# Settings of Carrel. A line is `name = value`; what is commented out is the default.",
            "# An environment variable (CARREL_HTTP_PORT for http.port) counts before this file, a flag (--http-port) before both.",
        ])
    }

    /// The same with another heading, whose lines begin with `#`.
    package static func sampleFile(heading: [String]) -> String {
        let defaults = Self()
        var lines = heading
        var part: Substring = ""
        for setting in settings {
            let first = setting.name.prefix { $0 != "." }
            lines.append("")
            if first != part { lines += ["#", "# \(first)", "#", ""] }
            part = first
            let facts = [setting.choices.isEmpty ? nil : "one of \(setting.choices.joined(separator: ", "))", setting.allowed]
                .compactMap(\.self)
            lines.append("# \(setting.help)\(facts.isEmpty ? "" : " (\(facts.joined(separator: "; ")))")")
            let values = setting.isSecret ? nil : setting.texts(defaults)
            lines.append("# \(setting.name) = \(values.map { format($0, setting.isList) } ?? "<\(setting.valueName)>")")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func format(_ values: [String], _ isList: Bool) -> String {
        if values.isEmpty { return "\"\"" }
        return values.map { value in
            let needsQuotes =
                value.isEmpty || value.contains { "\"\\#\n\t".contains($0) || isList && $0 == "," } || value.first == " "
                || value.last == " "
            guard needsQuotes else { return value }
            let escaped = value.map { character in
                switch character {
                case "\"", "\\": "\\\(character)"
                case "\n": "\\n"
                case "\t": "\\t"
                default: "\(character)"
                }
            }
            return "\"\(escaped.joined())\""
        }.joined(separator: ", ")
    }
}
