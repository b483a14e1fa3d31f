// SPDX-License-Identifier: Apache-2.0

/// A setting in force, with its source.
package struct SettingExplanation: Sendable, Equatable {
    /// As the file says it.
    package let name: String
    /// The value as written in a file; nil if unset. Never a secret.
    package let value: String?
    /// Whether its value is never shown.
    package let isSecret: Bool
    /// The origin of its value.
    package let origin: SettingOrigin
    /// The value without anything written; nil if there is none.
    package let builtIn: String?
    /// Its purpose, as one sentence.
    package let help: String
    /// As the environment says it.
    package let environmentName: String
    /// The command-line flags.
    package let flags: [String]

    init<Root>(_ setting: Setting<Root>, _ values: Root, _ defaults: Root, _ origin: SettingOrigin) {
        name = setting.name
        value = setting.isSecret ? nil : setting.texts(values)?.joined(separator: ", ")
        isSecret = setting.isSecret
        self.origin = origin
        builtIn = setting.isSecret ? nil : setting.texts(defaults)?.joined(separator: ", ")
        help = setting.help
        environmentName = setting.environmentName
        flags = setting.flags
    }

    /// The value for a reader: `(secret)` and `(not set)` if there is none to show.
    package var shown: String {
        if isSecret { return origin == .builtIn ? "(not set)" : "(secret)" }
        guard let value else { return "(not set)" }
        return value.isEmpty ? "\"\"" : value
    }
}
