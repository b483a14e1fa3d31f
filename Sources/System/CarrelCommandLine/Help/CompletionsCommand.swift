// SPDX-License-Identifier: Apache-2.0

/// `completions`: prints what teaches a shell to complete the program's command lines.
struct CompletionsCommand: ProgramCommand {
    var shell = Shell.bash

    enum Shell: String, CaseIterable, TextValue {
        case bash, zsh, fish
    }

    static let name = "completions"
    static let abstract = "Print a completion script for a shell."
    static let discussion = """
        For bash, load it from ~/.bashrc with: source <(carrel completions bash)

        For zsh, write it to a file called _carrel in a folder of $fpath. For fish, write it to \
        ~/.config/fish/completions/carrel.fish.
        """
    static let parameters: [Parameter<Self>] = [.positional(\.shell, "shell", help: "The shell.")]

    func run(_ console: Console, of program: CommandDescription, version: String) {
        switch shell {
        case .bash: console.print(BashCompletions(program).text)
        case .zsh: console.print(ZshCompletions(program).text)
        case .fish: console.print(FishCompletions(program).text)
        }
    }
}
