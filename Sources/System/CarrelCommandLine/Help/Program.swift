// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A command tree with a version, which runs command lines.
package struct Program: Sendable {
    /// The whole tree, with the `help` and `completions` that every program has.
    package let description: CommandDescription
    package let version: String
    private let root: any Command.Type

    /// - Parameters:
    ///   - root: the root command with the program's name.
    ///   - version: the version printed by `--version`.
    package init(_ root: any Command.Type, version: String) {
        self.root = root
        self.version = version
        description = CommandDescription(root, adding: root.subcommands.isEmpty ? [] : Program.builtIn)
    }

    static let builtIn: [any ProgramCommand.Type] = [HelpCommand.self, CompletionsCommand.self]

    /// Runs the process's own command line on its own terminal and ends the process.
    ///
    /// From here on a write to a closed pipe is an error and not a signal; a child process that should die of the signal must
    /// have it restored (`POSIX_SPAWN_SETSIGDEF`).
    package func main() async -> Never {
        signal(SIGPIPE, SIG_IGN)
        let status = await run(Array(Swift.CommandLine.arguments.dropFirst()), on: .standard(name: description.name))
        exit(status.rawValue)
    }

    /// Runs one command line and reports the outcome on the console.
    ///
    /// - Parameters:
    ///   - words: the command line without the program's name.
    ///   - console: the console for results, notes and errors.
    /// - Returns: the exit status for the process.
    package func run(_ words: [String], on console: Console) async -> ExitStatus {
        var status = ExitStatus.success
        do {
            try await perform(words, on: console)
        } catch {
            status = console.report(
                error,
                usage: "\(description.call) help",
                asJSON: words.prefix { $0 != "--" }.contains("--json")
            )
        }
        switch console.outputFailure {
        case nil: return status
        case EPIPE: return status == .success ? .outputClosed : status
        case let code?:
            console.error("writing the results failed: \(unsafe String(cString: strerror(code)))")
            return status == .success ? .inputOutput : status
        }
    }

    private func perform(_ words: [String], on console: Console) async throws {
        let beforeArguments = words.prefix { $0 != "--" }
        if words.first == "--version" {
            return console.print("\(description.name) \(version)")
        }
        if beforeArguments.contains("--help") || beforeArguments.contains("-h") {
            let leading = beforeArguments.prefix { !$0.hasPrefix("-") }
            return console.print(HelpText(try findDeepest(leading)).text(for: console.output))
        }
        let command = try resolve(words)
        try await start(command.type, command.words, command.call, on: console)
    }

    /// The command to explain when `--help` was among the words: arguments may come before it.
    ///
    /// - Throws: ``UsageError`` `usage.unknown-command` for a word that must be a subcommand, and is none.
    private func findDeepest(_ words: some Collection<String>) throws(UsageError) -> CommandDescription {
        var deepest = description
        for word in words where !deepest.subcommands.isEmpty {
            guard let next = deepest.child(word) else { throw deepest.unknown(word) }
            deepest = next
        }
        return deepest
    }

    private func resolve(_ words: [String]) throws(UsageError) -> (type: any Command.Type, words: [String], call: String) {
        var type = root
        var about = description
        var remainder = words[...]
        while !about.subcommands.isEmpty {
            guard let word = remainder.first else {
                throw UsageError(.missingCommand, "'\(about.call)' needs a command", hint: "see '\(about.call) --help'")
            }
            let children = type.subcommands + type.aliases + (about.path.count == 1 ? Program.builtIn : [])
            guard let next = children.first(where: { $0.name == word }) else { throw about.unknown(word) }
            about = try about.find([word])
            type = next
            remainder.removeFirst()
        }
        return (type, Array(remainder), about.call)
    }

    private func start<C: Command>(_ type: C.Type, _ words: [String], _ call: String, on console: Console) async throws {
        do {
            var command = try ArgumentParser<C>(call: call, environment: console.environment).parse(words)
            let console = console.with(command.output)
            if let command = command as? any ProgramCommand {
                try command.run(console, of: description, version: version)
            } else {
                try await command.run(console)
            }
        } catch let error as UsageError where error.hint == nil {
            throw UsageError(error.code, error.message, hint: "see '\(call) --help'")
        }
    }
}
