// SPDX-License-Identifier: Apache-2.0

/// One command of a program: its words and parameters as a table, and its action.
///
/// ```swift
/// struct Serve: Command {
///     var port: UInt16 = 8080
///     static let name = "serve"
///     static let abstract = "Serve the library."
///     static let parameters: [Parameter<Self>] = [.option(\.port, "--port", "-p", help: "The port to listen on.")]
///     func run(_ console: Console) async throws { … }
/// }
/// ```
///
/// A command with subcommands has no parameters and does nothing itself: `carrel order` groups `create`, `list` and the like.
package protocol Command: SendableMetatype {
    init()

    /// The word that calls it, such as `create`.
    static var name: String { get }
    /// A summary in one sentence.
    static var abstract: String { get }
    /// Details for the user; an empty line separates paragraphs.
    static var discussion: String { get }
    static var examples: [Example] { get }
    static var parameters: [Parameter<Self>] { get }
    static var subcommands: [any Command.Type] { get }
    /// The subcommands under the headings that help shows them with; empty for a command whose subcommands have no headings.
    static var headings: KeyValuePairs<String, [any Command.Type]> { get }
    /// Subcommands that work here too, but belong to another place: help, the manual and completions do not list them.
    static var aliases: [any Command.Type] { get }
    /// Command lines to suggest for words that name no subcommand.
    static var suggestions: [String: String] { get }

    /// The output options; the program reads them before `run`.
    var output: OutputOptions { get }

    /// Checks what no single parameter can: contradictions, one of two.
    func validate() throws(UsageError)

    /// Does it. Results go to `console.print`, everything else to its notes.
    mutating func run(_ console: Console) async throws
}

extension Command {
    package static var discussion: String { "" }
    package static var examples: [Example] { [] }
    package static var parameters: [Parameter<Self>] { [] }
    package static var subcommands: [any Command.Type] { headings.flatMap(\.value) }
    package static var headings: KeyValuePairs<String, [any Command.Type]> { [:] }
    package static var aliases: [any Command.Type] { [] }
    package static var suggestions: [String: String] { [:] }
    package var output: OutputOptions { OutputOptions() }
    package func validate() throws(UsageError) {}

    /// A group of subcommands: there is nothing to do without one of them.
    package mutating func run(_ console: Console) async throws {
        throw UsageError(.missingCommand, "'\(Self.name)' needs one of its commands")
    }
}
