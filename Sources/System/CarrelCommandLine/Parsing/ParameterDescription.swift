// SPDX-License-Identifier: Apache-2.0

/// The description of a parameter for help, completion and documentation: all but its effect.
package struct ParameterDescription: Sendable, Equatable {
    /// The syntax of a parameter.
    package enum Kind: Sendable, Equatable {
        /// `--name <value>`
        case option
        /// `--name`; with `inverse`, `--no-name` too.
        case flag(inverse: String?)
        /// Known by its place.
        case positional
    }

    /// The completions that a shell offers for the value.
    package enum Completion: Sendable, Equatable {
        case nothing
        case file
        case directory
        case words([String])
    }

    package var kind: Kind
    /// `--port`, `-p`; for a positional, its name without brackets.
    package var names: [String]
    /// Stands for the value in help; empty for a flag.
    package var valueName = ""
    package var help: String
    /// Its heading in help; nil for the common heading.
    package var group: String?
    package var isRequired = false
    package var isRepeated = false
    /// The allowed values, in words.
    package var allowed: String?
    /// The value without it, as it would be written.
    package var defaultText: String?
    /// The environment variable that counts when it is not written.
    package var environment: String?
    package var completion = Completion.nothing

    /// - Parameters:
    ///   - kind: its syntax.
    ///   - names: `--port`, `-p`; for a positional, its name without brackets.
    ///   - valueName: the placeholder in help; empty for a flag.
    ///   - help: its purpose, as one sentence.
    ///   - group: its heading in help; nil for the common heading.
    package init(kind: Kind, names: [String], valueName: String = "", help: String, group: String? = nil) {
        self.kind = kind
        self.names = names
        self.valueName = valueName
        self.help = help
        self.group = group
    }

    /// The name for messages: the first long name.
    package var title: String {
        kind == .positional ? "<\(names.first ?? "")>" : names.first { $0.hasPrefix("--") } ?? names.first ?? ""
    }

    var takesValue: Bool {
        if case .flag = kind { false } else { true }
    }

    /// `--name`, its short form and its inverse.
    var allNames: [String] {
        if case .flag(let inverse?) = kind { names + [inverse] } else { names }
    }
}
