// SPDX-License-Identifier: Apache-2.0

/// The output of `--help` for one command.
struct HelpText {
    private let about: CommandDescription

    init(_ about: CommandDescription) {
        self.about = about
    }

    func text(for terminal: Terminal) -> String {
        let width = min(terminal.columns, 100)
        var sections = [
            about.abstract.wrapped(to: width), "\(terminal.bold("Usage:")) \(about.synopsis.wrapped(to: width, indent: 7))",
        ]
        if !about.discussion.isEmpty { sections.append(about.discussion.wrapped(to: width)) }
        let column = about.subcommands.map(\.name.columns).max() ?? 0
        let headings = Self.inOrder(about.subcommands.map(\.heading))
        for heading in headings {
            let commands = about.subcommands.filter { $0.heading == heading }
            let title = heading ?? (headings.count > 1 ? "Other commands" : "Commands")
            sections += table(title, commands.map { ($0.name, $0.abstract) }, terminal, width, column: column)
        }
        sections += table("Arguments", about.positionals.map { ($0.usage, $0.fullHelp) }, terminal, width)
        let groups = Self.inOrder(about.options.map(\.group))
        for group in [nil] + groups.filter({ $0 != nil }) {
            var rows = about.options.filter { $0.group == group }.map { ($0.usage, $0.fullHelp) }
            if group == nil {
                rows.append(("-h, --help", "Show this help."))
                if about.path.count == 1 { rows.append(("    --version", "Show the version.")) }
            }
            sections += table(group ?? "Options", rows, terminal, width)
        }
        if !about.examples.isEmpty {
            let lines = about.examples.map { "  $ \($0.line)\n      \($0.explanation.wrapped(to: width, indent: 6))" }
            sections.append("\(terminal.bold("Examples:"))\n\(lines.joined(separator: "\n"))")
        }
        if !about.subcommands.isEmpty { sections.append("More about one: \(about.call) <command> --help") }
        return sections.joined(separator: "\n\n")
    }

    /// Each title once, in the order in which they first appear.
    private static func inOrder(_ titles: [String?]) -> [String?] {
        titles.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// A titled table: names on the left, help on the right. All tables of `column` share the width of their left column.
    private func table(
        _ title: String,
        _ rows: [(left: String, right: String)],
        _ terminal: Terminal,
        _ width: Int,
        column shared: Int? = nil
    ) -> [String] {
        guard !rows.isEmpty else { return [] }
        let limit = min(30, width / 2)
        let column = min(shared ?? rows.map(\.left.columns).filter { $0 <= limit }.max() ?? limit, limit)
        // if too little space is left next to the names, the help is below them
        let isNarrow = width - column - 4 < 28
        let indent = isNarrow ? 8 : column + 4
        let lines = rows.map { row in
            let right = row.right.wrapped(to: width, indent: indent)
            guard !isNarrow, row.left.columns <= column else {
                return "  \(row.left)\n\(String(repeating: " ", count: indent))\(right)"
            }
            return "  \(row.left.padded(to: column))  \(right)"
        }
        return ["\(terminal.bold("\(title):"))\n\(lines.joined(separator: "\n"))"]
    }
}

extension ParameterDescription {
    /// The left column of help: short forms first, so that long forms align.
    var usage: String {
        guard kind != .positional else { return isRepeated ? "\(title)..." : title }
        let short = names.filter { !$0.hasPrefix("--") }
        let long = names.filter { $0.hasPrefix("--") }
        let value = valueName.isEmpty ? "" : " <\(valueName)>"
        let indent = short.isEmpty ? "    " : ""
        var words = short + long
        if case .flag(let inverse?) = kind, let first = long.first {
            words = short + ["--[no-]\(first.dropFirst(2))"] + long.dropFirst()
            assert(inverse == "--no-\(first.dropFirst(2))")
        }
        return indent + words.joined(separator: ", ") + value
    }

    /// Help with the range and default from the table: `(1 to 65535; default 8080)`.
    var fullHelp: String {
        let facts = facts
        return facts.isEmpty ? help : "\(help) (\(facts.joined(separator: "; ")))"
    }

    var facts: [String] {
        var facts: [String] = []
        if case .words(let words) = completion, valueName != words.joined(separator: "|") {
            facts.append("one of \(words.joined(separator: ", "))")
        }
        if let allowed { facts.append(allowed) }
        if isRepeated, kind == .option { facts.append("may be repeated") }
        if let defaultText { facts.append("default \(defaultText)") }
        if let environment { facts.append("environment \(environment)") }
        return facts
    }
}
