// SPDX-License-Identifier: Apache-2.0

/// Settings and their origins. A flag takes precedence over the environment, then the file, then the default.
package struct LoadedSettings<Table: SettingsTable>: Sendable {
    /// The effective value of every setting.
    package let values: Table
    /// Probable mistakes, as sentences.
    package let warnings: [String]
    private let origins: [String: SettingOrigin]

    /// Reads the settings from all sources.
    ///
    /// - Parameters:
    ///   - file: the settings file, if any.
    ///   - environment: the process's variables. A variable that begins with `CARREL_` must name a setting, be listed by the
    ///     table, or look like Kubernetes' service variables; an empty one counts as unset.
    ///   - overrides: the values from the command line.
    /// - Throws: all errors together.
    package init(
        file: SettingsFile? = nil,
        environment: [String: String] = [:],
        overrides: SettingOverrides<Table> = SettingOverrides()
    ) throws(SettingsError) {
        var reader = SettingsReader<Table>()
        if let file { reader.take(file) }
        reader.take(environment)
        reader.take(overrides)
        (values, warnings, origins) = try reader.finish()
    }

    /// The origin of a setting's value.
    package func origin(_ name: String) -> SettingOrigin { origins[name] ?? .builtIn }
}
