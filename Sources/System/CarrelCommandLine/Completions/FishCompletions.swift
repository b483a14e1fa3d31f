// SPDX-License-Identifier: Apache-2.0

/// A script that teaches fish to complete the program's command lines.
struct FishCompletions {
    private let program: CommandDescription

    init(_ program: CommandDescription) {
        self.program = program
    }

    var text: String {
        let name = program.name
        let function = "__\(name.shellWord)_at"
        let head = """
            # Completion of \(name) command lines in fish; made by: \(name) completions fish

            # Whether the words before the first option are these, or begin with these for a command without subcommands.
            function \(function) --argument-names exactly
                set -l words (commandline -opc)
                set -e words[1]
                set -l leading
                for word in $words
                    string match -q -- '-*' $word; and break
                    set -a leading $word
                end
                set -l wanted $argv[2..]
                test (count $leading) -ge (count $wanted); or return 1
                test $exactly = begin; or test (count $leading) -eq (count $wanted); or return 1
                set -l count (count $wanted)
                test $count -eq 0; or test "$leading[1..$count]" = "$wanted"
            end

            complete -c \(name) -f
            """
        return ([head] + program.flattened.map { lines($0, function).joined(separator: "\n") }).joined(separator: "\n\n")
    }

    private func lines(_ command: CommandDescription, _ function: String) -> [String] {
        let words = ([command.subcommands.isEmpty ? "begin" : "exactly"] + command.path.dropFirst()).joined(separator: " ")
        let start = "complete -c \(program.name) -n '\(function) \(words)'"
        var lines = command.subcommands.map { "\(start) -a \($0.name) -d \(quote($0.abstract))" }
        for option in command.options {
            let names = option.names.map { $0.hasPrefix("--") ? "-l \($0.dropFirst(2))" : "-s \($0.dropFirst())" }.joined(
                separator: " "
            )
            let value = option.takesValue ? " -r \(offer(option.completion))" : ""
            lines.append("\(start) \(names)\(value) -d \(quote(option.help))")
            if case .flag(let inverse?) = option.kind {
                lines.append("\(start) -l \(inverse.dropFirst(2)) -d \(quote(option.help))")
            }
        }
        if let first = command.positionals.first, first.completion != .nothing {
            lines.append("\(start) \(offer(first.completion)) -d \(quote(first.help))")
        }
        return lines + ["\(start) -s h -l help -d 'Show this help.'"]
    }

    private func offer(_ completion: ParameterDescription.Completion) -> String {
        switch completion {
        case .nothing: "-f"
        case .file: "-F"
        case .directory: "-f -a '(__fish_complete_directories)'"
        case .words(let words): "-f -a '\(words.joined(separator: " "))'"
        }
    }

    private func quote(_ text: String) -> String {
        let escaped = text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : $0 == "\n" ? " " : "\($0)" }.joined()
        return "'\(escaped)'"
    }
}
