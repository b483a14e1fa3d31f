// SPDX-License-Identifier: Apache-2.0

/// Settings with where each came from. A flag counts before the environment, that before the file, that before the default.
package struct LoadedSettings<Table: SettingsTable>: Sendable {
    /// The effective value of every setting.
    package let values: Table
    /// Probable mistakes, as sentences.
    package let warnings: [String]
    private let origins: [String: SettingOrigin]

    /// Reads the settings from everywhere.
    ///
    /// - Parameters:
    ///   - file: the settings file, where there is one.
    ///   - environment: the process's variables. One that begins with `CARREL_` must name a setting, be listed by the table, or
    ///     look like those by which Kubernetes announces a service; an empty one is as good as none.
    ///   - overrides: what was written on the command line.
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
        self = try reader.finish()
    }

    init(values: Table, warnings: [String], origins: [String: SettingOrigin]) {
        self.values = values
        self.warnings = warnings
        self.origins = origins
    }

    /// The origin of a setting's value.
    package func origin(_ name: String) -> SettingOrigin { origins[name] ?? .builtIn }

    /// Every setting with its value and where that came from, in the table's order. Secrets are not shown.
    package func explain() -> [SettingExplanation] {
        let defaults = Table()
        return Table.settings.map { SettingExplanation($0, values, defaults, origin($0.name)) }
    }
}
