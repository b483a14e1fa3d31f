// SPDX-License-Identifier: Apache-2.0

/// A script that teaches zsh to complete the program's command lines.
struct ZshCompletions {
    private let program: CommandDescription

    init(_ program: CommandDescription) {
        self.program = program
    }

    var text: String {
        let head =
            "#compdef \(program.name)\n# Completion of \(program.name) command lines in zsh; made by: \(program.name) completions zsh"
        let start = """
            if [ "$funcstack[1]" = "\(function(program))" ]; then
                \(function(program)) "$@"
            else
                compdef \(function(program)) \(program.name)
            fi
            """
        return ([head] + program.flattened.map(define) + [start]).joined(separator: "\n\n")
    }

    private func function(_ command: CommandDescription) -> String {
        "_" + command.path.map(\.shellWord).joined(separator: "_")
    }

    private func define(_ command: CommandDescription) -> String {
        let options = command.options.flatMap(specifications) + ["'(-h --help)'{-h,--help}'[Show this help.]'"]
        guard !command.subcommands.isEmpty else {
            let arguments = command.positionals.map { positional in
                let prefix = positional.isRepeated ? "*" : ""
                return "'\(prefix):\(escape(positional.valueName)):\(action(positional.completion))'"
            }
            return """
                \(function(command))() {
                    _arguments -s -S \\
                \((options + arguments).map { "        \($0)" }.joined(separator: " \\\n"))
                }
                """
        }
        let children = command.subcommands
        return """
            \(function(command))() {
                local context state line
                typeset -A opt_args
                _arguments -C \\
            \((options + ["'1: :->command'", "'*:: :->rest'"]).map { "        \($0)" }.joined(separator: " \\\n"))
                case $state in
                    command)
                        local -a commands=(
            \(children.map { "                '\($0.name):\(escape($0.abstract))'" }.joined(separator: "\n"))
                        )
                        _describe command commands ;;
                    rest)
                        case $line[1] in
            \(children.map { "                \($0.name)) \(function($0)) ;;" }.joined(separator: "\n"))
                        esac ;;
                esac
            }
            """
    }

    private func specifications(_ option: ParameterDescription) -> [String] {
        let names = option.allNames
        let value = option.takesValue ? ":\(escape(option.valueName)):\(action(option.completion))" : ""
        let excluded = option.isRepeated ? "'*'" : "'(\(names.joined(separator: " ")))'"
        return names.map { name in
            let equals = option.takesValue ? (name.hasPrefix("--") ? "=" : "+") : ""
            return "\(excluded)'\(name)\(equals)[\(escape(option.help))]\(value)'"
        }
    }

    private func action(_ completion: ParameterDescription.Completion) -> String {
        switch completion {
        case .nothing: " "
        case .file: "_files"
        case .directory: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    /// Text inside single quotes, where brackets and colons part a specification.
    private func escape(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "'": out += "'\\''"
            case "[", "]", ":", "\\": out += "\\\(character)"
            case "\n": out += " "
            default: out.append(character)
            }
        }
        return out
    }
}
