// SPDX-License-Identifier: Apache-2.0

extension CommandDescription {
    /// Errors in the tables themselves, command by command; a program's tests expect none.
    package var problems: [String] {
        flattened.flatMap { command in command.ownProblems.map { "\(command.call): \($0)" } }
    }

    private var ownProblems: [String] {
        var problems: [String] = []
        let words = subcommands.map(\.name) + parameters.flatMap(\.allNames)
        for word in Set(words).sorted() where words.count(where: { $0 == word }) > 1 {
            problems.append("'\(word)' is there twice")
        }
        if !subcommands.isEmpty, !parameters.isEmpty { problems.append("a group of commands has parameters") }
        for option in options {
            for name in option.allNames where !isWellFormed(name) { problems.append("'\(name)' is not the name of an option") }
            for name in option.allNames where name == "-h" || name == "--help" { problems.append("'\(name)' is taken") }
        }
        for positional in positionals.dropLast() where positional.isRepeated {
            problems.append("\(positional.title) leaves nothing to the next")
        }
        for (one, next) in zip(positionals, positionals.dropFirst()) where !one.isRequired && next.isRequired {
            problems.append("\(next.title) must be there and \(one.title) before it need not")
        }
        for parameter in parameters where !parameter.help.hasSuffix(".") {
            problems.append("the help of \(parameter.title) is not a sentence")
        }
        if !abstract.hasSuffix(".") { problems.append("the abstract is not a sentence") }
        return problems
    }

    private func isWellFormed(_ name: String) -> Bool {
        let letters = name.drop { $0 == "-" }
        let dashes = name.count - letters.count
        let isValid = letters.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return isValid && (dashes == 1 ? letters.count == 1 : dashes == 2 && letters.count > 1)
    }
}
