// SPDX-License-Identifier: Apache-2.0

/// The program's page of section 1 of the manual, in roff with the `man` macros; every command is on it.
struct ManualPage {
    private let about: CommandDescription
    private let version: String

    init(_ about: CommandDescription, version: String) {
        self.about = about
        self.version = version
    }

    var text: String {
        var lines = [
            ".TH \(about.name.uppercased()) 1 \"\" \"\(roff("\(about.name) \(version)"))\" \"User Commands\"",
            ".SH NAME",
            "\(roff(about.name)) \\- \(roff(about.abstract))",
            ".SH SYNOPSIS",
            ".B \(roff(about.name))",
            roff(String(about.synopsis.dropFirst(about.name.count + 1))),
        ]
        lines += section("DESCRIPTION", paragraphs(about.discussion))
        lines += section("OPTIONS", about.options.flatMap(entry))
        if !about.subcommands.isEmpty {
            lines.append(".SH COMMANDS")
            for command in about.flattened.dropFirst() where command.subcommands.isEmpty { lines += describe(command) }
        }
        lines += section("EXAMPLES", examples(about))
        lines += section("EXIT STATUS", ExitStatus.all.flatMap { [".TP", ".B \($0.0.rawValue)", roff($0.1)] })
        let variables = about.flattened.flatMap(\.parameters).compactMap(\.environment)
        let unique = variables.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } } + ["NO_COLOR"]
        lines += section("ENVIRONMENT", unique.flatMap { [".TP", ".B \(roff($0))", roff(explain(variable: $0))] })
        return lines.joined(separator: "\n")
    }

    private func describe(_ command: CommandDescription) -> [String] {
        var lines = [
            ".SS \(roff(command.path.dropFirst().joined(separator: " ")))", ".B \(roff(command.synopsis))", ".PP",
            roff(command.abstract),
        ]
        if !command.discussion.isEmpty { lines += [".PP"] + paragraphs(command.discussion) }
        lines += (command.positionals + command.options).flatMap(entry)
        let examples = examples(command)
        if !examples.isEmpty { lines += [".PP"] + examples }
        return lines
    }

    private func entry(_ parameter: ParameterDescription) -> [String] {
        [".TP", ".B \(roff(parameter.usage.trimmedLeft))", roff(parameter.fullHelp)]
    }

    private func examples(_ about: CommandDescription) -> [String] {
        about.examples.flatMap { [".TP", ".B \(roff($0.line))", roff($0.explanation)] }
    }

    private func explain(variable: String) -> String {
        if variable == "NO_COLOR" { return "When it is set, nothing is colored." }
        let parameter = about.flattened.flatMap(\.parameters).first { $0.environment == variable }
        return "Stands in for \(parameter?.title ?? "an option") where that is not written."
    }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : [".SH \(title)"] + lines
    }

    private func paragraphs(_ text: String) -> [String] {
        guard !text.isEmpty else { return [] }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? ".PP" : roff(String($0)) }
    }

    /// Text in which roff sees no commands: its escape character, hyphens that must be copied as such, and lines that begin
    /// like requests.
    private func roff(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "\\": out += "\\e"
            case "-": out += "\\-"
            case "\"": out += "\\(dq"
            default: out.append(character)
            }
        }
        return out.hasPrefix(".") || out.hasPrefix("'") ? "\\&\(out)" : out
    }
}

extension String {
    fileprivate var trimmedLeft: String { String(drop { $0 == " " }) }
}
