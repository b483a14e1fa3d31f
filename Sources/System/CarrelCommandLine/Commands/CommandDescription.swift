// SPDX-License-Identifier: Apache-2.0

/// The description of a command and its subcommands, for help, the manual and completions.
package struct CommandDescription: Sendable, Equatable {
    /// The words that call it, the program's own first.
    package let path: [String]
    package let abstract: String
    package let discussion: String
    package let examples: [Example]
    /// With default values filled in.
    package let parameters: [ParameterDescription]
    package let subcommands: [CommandDescription]
    /// The heading of this command in the help of the command that it belongs to.
    let heading: String?
    /// Subcommands that work here too, and are not listed.
    let aliases: [CommandDescription]
    private let suggestions: [String: String]

    /// - Parameters:
    ///   - type: the command.
    ///   - parents: the words before its own.
    ///   - heading: the heading of the command in its parent's help.
    ///   - extra: subcommands that the table of `type` does not have.
    init<C: Command>(
        _ type: C.Type,
        after parents: [String] = [],
        under heading: String? = nil,
        adding extra: [any Command.Type] = []
    ) {
        let path = parents + [type.name]
        let blank = C()
        self.path = path
        abstract = type.abstract
        discussion = type.discussion
        examples = type.examples
        parameters = type.parameters.map { parameter in
            var about = parameter.description
            about.defaultText = parameter.current(blank).flatMap { $0.isEmpty ? nil : $0 }
            return about
        }
        self.heading = heading
        let headings = type.headings.flatMap { heading, commands in commands.map { ($0.name, heading) } }
        subcommands = (type.subcommands + extra).map { command in
            CommandDescription(command, after: path, under: headings.first { $0.0 == command.name }?.1)
        }
        aliases = type.aliases.map { CommandDescription($0, after: path) }
        suggestions = type.suggestions
    }

    /// The last of the words that call it.
    package var name: String { path.last ?? "" }

    /// All the words that call it.
    package var call: String { path.joined(separator: " ") }

    var positionals: [ParameterDescription] { parameters.filter { $0.kind == .positional } }
    var options: [ParameterDescription] { parameters.filter { $0.kind != .positional } }

    /// This command and all below it, in the order of the tables.
    package var flattened: [CommandDescription] { [self] + subcommands.flatMap(\.flattened) }

    /// Finds the command named by `words`, each a subcommand of the previous one.
    package func find(_ words: some Collection<String>) throws(UsageError) -> CommandDescription {
        guard let word = words.first else { return self }
        guard let next = child(word) else { throw unknown(word) }
        return try next.find(words.dropFirst())
    }

    /// The subcommand of a name, or the alias.
    func child(_ word: String) -> CommandDescription? { (subcommands + aliases).first { $0.name == word } }

    func unknown(_ word: String) -> UsageError {
        if subcommands.isEmpty {
            return UsageError(.unexpectedArgument, "'\(call)' has no subcommands: unexpected '\(word)'")
        }
        if word.hasPrefix("-") {
            return UsageError(
                .unknownOption,
                "'\(call)' has no option '\(word)'",
                hint: "options come after the command, as in '\(example)'"
            )
        }
        return UsageError(
            .unknownCommand,
            "'\(word)' is not a command of '\(call)'",
            hint: suggestions[word].map { "did you mean '\($0)'?" }
                ?? Suggestion.hint(for: word, among: subcommands.map(\.name))
        )
    }

    private var example: String { "\(subcommands.first?.call ?? call) --help" }

    /// The synopsis in one line: required parameters by name, the others as `[options]`.
    package var synopsis: String {
        guard subcommands.isEmpty else { return "\(call) <command>" }
        var words = [call]
        for option in options where option.isRequired { words.append("\(option.title) <\(option.valueName)>") }
        if options.contains(where: { !$0.isRequired }) { words.append("[options]") }
        for argument in positionals {
            let name = argument.isRepeated ? "\(argument.title)..." : argument.title
            words.append(argument.isRequired ? name : "[\(name)]")
        }
        return words.joined(separator: " ")
    }
}
