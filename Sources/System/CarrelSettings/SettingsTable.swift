// SPDX-License-Identifier: Apache-2.0

/// Everything that can be configured, as properties with their defaults and one table over them.
///
/// The table serves the settings file, the environment and the command line; see ``LoadedSettings``.
package protocol SettingsTable: Sendable {
    /// The defaults.
    init()

    /// One row per property.
    static var settings: [Setting<Self>] { get }

    /// Environment variables that begin like a setting's and are none; by default there are none.
    static var otherVariables: Set<String> { get }

    /// Contradictions between values of which each alone is right: the setting to change and the mistake.
    var contradictions: [(setting: String, problem: String)] { get }
}

extension SettingsTable {
    package static var otherVariables: Set<String> { [] }
    package var contradictions: [(setting: String, problem: String)] { [] }

    /// Errors in the table itself; a test expects none.
    package static var problems: [String] {
        var problems: [String] = []
        let names = settings.map(\.name)
        for name in Set(names).sorted() where names.count(where: { $0 == name }) > 1 { problems.append("\(name) is there twice") }
        let variables = settings.map(\.environmentName)
        for name in Set(variables).sorted() where variables.count(where: { $0 == name }) > 1 {
            problems.append("\(name) is there twice")
        }
        let flags = settings.flatMap(\.flags)
        for flag in Set(flags).sorted() where flags.count(where: { $0 == flag }) > 1 { problems.append("\(flag) is there twice") }
        for setting in settings {
            let words = setting.name.split(separator: ".", omittingEmptySubsequences: false)
            let isWellFormed = words.allSatisfy { word in
                !word.isEmpty && word.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-") }
            }
            if !isWellFormed { problems.append("'\(setting.name)' is not the name of a setting") }
            if !setting.help.hasSuffix(".") { problems.append("the help of \(setting.name) is not a sentence") }
        }
        return problems
    }
}
