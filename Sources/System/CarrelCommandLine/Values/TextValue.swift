// SPDX-License-Identifier: Apache-2.0

/// A value that is written as one word: on a command line, in a settings file, in the environment.
///
/// An enumeration with `String` raw values that is `CaseIterable` conforms by declaring it.
package protocol TextValue: Sendable {
    /// Parses the value from its text.
    ///
    /// - Throws: `InvalidValue` with the reason, as the end of a sentence that begins with the text.
    init(written text: String) throws(InvalidValue)

    /// The value as it would be written; reading it gives the same value.
    var written: String { get }

    /// The placeholder of the value in help, such as `number` in `--port <number>`.
    static var valueName: String { get }

    /// Every way to write a value of the type, when there are few; empty otherwise.
    static var choices: [String] { get }

    /// Words of earlier versions that are still read, and never shown.
    static var earlierNames: [String: Self] { get }
}

extension TextValue {
    package static var choices: [String] { [] }
    package static var earlierNames: [String: Self] { [:] }
}

extension TextValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    package init(written text: String) throws(InvalidValue) {
        guard let value = Self(rawValue: text) ?? Self.earlierNames[text] else {
            throw InvalidValue(
                "is not one of \(Self.choices.joined(separator: ", "))",
                hint: Suggestion.hint(for: text, among: Self.choices)
            )
        }
        self = value
    }

    package var written: String { rawValue }
    package static var valueName: String { choices.joined(separator: "|") }
    package static var choices: [String] { allCases.map(\.rawValue) }
}
