// SPDX-License-Identifier: Apache-2.0

/// A script that teaches bash to complete the program's command lines.
struct BashCompletions {
    private let program: CommandDescription

    init(_ program: CommandDescription) {
        self.program = program
    }

    var text: String {
        let name = program.name
        let commands = program.flattened
        let function = "_\(name.shellWord)"
        return """
            # Completion of \(name) command lines in bash; made by: \(name) completions bash

            \(function)() {
                local cur="${COMP_WORDS[COMP_CWORD]}" prev="" path="" i
                [ "$COMP_CWORD" -gt 0 ] && prev="${COMP_WORDS[COMP_CWORD - 1]}"
                # bash takes --name=value for three words
                if [ "$cur" = "=" ]; then
                    cur=""
                elif [ "$prev" = "=" ] && [ "$COMP_CWORD" -gt 1 ]; then
                    prev="${COMP_WORDS[COMP_CWORD - 2]}"
                fi
                for ((i = 1; i < COMP_CWORD; i++)); do
                    case "$path ${COMP_WORDS[i]}" in
            \(commands.dropFirst().map { "            \(pattern($0))) path=\"$path ${COMP_WORDS[i]}\" ;;" }.joined(separator: "\n"))
                        *) break ;;
                    esac
                done
                COMPREPLY=()
                case "$path:$prev" in
            \(commands.flatMap(values).joined(separator: "\n"))
                esac
                case "$path" in
            \(commands.map(words).joined(separator: "\n"))
                esac
            }

            \(function)_words() {
                mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
            }

            \(function)_files() {
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
            }

            complete -F \(function) \(name)
            """
    }

    private func pattern(_ command: CommandDescription) -> String {
        "\" \(command.path.dropFirst().joined(separator: " "))\""
    }

    private func path(_ command: CommandDescription) -> String {
        command.path.count == 1 ? "" : " \(command.path.dropFirst().joined(separator: " "))"
    }

    /// The completions after the options that take a value.
    private func values(_ command: CommandDescription) -> [String] {
        command.options.filter(\.takesValue).map { option in
            let cases = option.names.map { "\"\(path(command)):\($0)\"" }.joined(separator: " | ")
            return "        \(cases)) \(offer(option.completion) ?? ":"); return ;;"
        }
    }

    /// Other words in the command's line: options after a dash, otherwise commands or arguments.
    private func words(_ command: CommandDescription) -> String {
        let options = (command.options.flatMap(\.allNames) + ["--help"]).joined(separator: " ")
        let arguments: String
        if command.subcommands.isEmpty {
            arguments = command.positionals.first.flatMap { offer($0.completion) } ?? ":"
        } else {
            arguments = "_\(program.name.shellWord)_words \"\(command.subcommands.map(\.name).joined(separator: " "))\""
        }
        return """
                    "\(path(command))")
                        case "$cur" in
                            -*) _\(program.name.shellWord)_words "\(options)" ;;
                            *) \(arguments) ;;
                        esac ;;
            """
    }

    private func offer(_ completion: ParameterDescription.Completion) -> String? {
        switch completion {
        case .nothing: nil
        case .file: "_\(program.name.shellWord)_files -f"
        case .directory: "_\(program.name.shellWord)_files -d"
        case .words(let words): "_\(program.name.shellWord)_words \"\(words.joined(separator: " "))\""
        }
    }
}

extension String {
    /// The name with underscores for what a shell function's name may not hold.
    var shellWord: String { String(map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }) }
}
