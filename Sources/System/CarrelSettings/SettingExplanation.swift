// SPDX-License-Identifier: Apache-2.0

/// One setting as it is in force.
package struct SettingExplanation: Sendable, Equatable {
    /// As the file says it.
    package let name: String
    /// As it would be written; nil when it is not set. A secret is never here.
    package let value: String?
    /// Whether its value is never shown.
    package let isSecret: Bool
    /// The origin of its value.
    package let origin: SettingOrigin
    /// The value without anything written; nil when there is none.
    package let builtIn: String?
    /// Its purpose, as one sentence.
    package let help: String
    /// As the environment says it.
    package let environmentName: String
    /// How a command line says it.
    package let flags: [String]

    init<Root>(_ setting: Setting<Root>, _ values: Root, _ defaults: Root, _ origin: SettingOrigin) {
        name = setting.name
        value = setting.isSecret ? nil : setting.written(values)?.joined(separator: ", ")
        isSecret = setting.isSecret
        self.origin = origin
        builtIn = setting.isSecret ? nil : setting.written(defaults)?.joined(separator: ", ")
        help = setting.help
        environmentName = setting.environmentName
        flags = setting.flags
    }

    /// The value for a reader: `(secret)` and `(not set)` where there is none to show.
    package var shown: String {
        if isSecret { return origin == .builtIn ? "(not set)" : "(secret)" }
        guard let value else { return "(not set)" }
        return value.isEmpty ? "\"\"" : value
    }
}
