// SPDX-License-Identifier: Apache-2.0

/// `help`: explains the program or one of its commands, for a reader, `man` or a machine.
struct HelpCommand: ProgramCommand {
    var words: [String] = []
    var form = Form.text

    enum Form: String, CaseIterable, TextValue {
        case text, man, json
    }

    static let name = "help"
    static let abstract = "Explain a command."
    static let discussion = "The manual page covers every command, whichever is named."
    static let parameters: [Parameter<Self>] = [
        .positional(\.words, "command", help: "The words that call it."),
        .option(\.form, "--format", help: "Text to read here, a manual page for man, or the command table as JSON."),
    ]

    func run(_ console: Console, of program: CommandDescription, version: String) throws {
        let about = try program.find(words)
        switch form {
        case .text: console.print(HelpText(about).text(for: console.output))
        case .man: console.print(ManualPage(program, version: version).text)
        case .json: console.print(CommandJSON(about).text)
        }
    }
}
