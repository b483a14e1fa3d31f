// SPDX-License-Identifier: Apache-2.0

package import CarrelCommandLine

/// Settings that were written on a command line.
package struct SettingOverrides<Table: SettingsTable>: Sendable {
    /// The written value, by the setting's name, and its flag.
    var texts: [String: (values: [String], flag: String)] = [:]

    package init() {}

    /// Sets a setting as its flag would.
    ///
    /// - Parameters:
    ///   - name: the setting's, such as `http.port`.
    ///   - text: its value as it would be written.
    package mutating func set(_ name: String, _ text: String) {
        let flag = Table.settings.first { $0.name == name }?.flags.first ?? name
        texts[name, default: ([], flag)].values.append(text)
    }
}

extension Parameter {
    /// An option for every setting of a table that is not secret: `--http-port`, and its shorter forms.
    ///
    /// - Parameters:
    ///   - path: the property that stores the written values.
    ///   - group: their heading in help.
    /// - Returns: one row per setting, in the table's order.
    package static func settings<Table: SettingsTable>(
        _ path: any WritableKeyPath<Root, SettingOverrides<Table>> & Sendable,
        group: String = "Settings"
    ) -> [Parameter] {
        let defaults = Table()
        return Table.settings.filter { !$0.isSecret }.map { setting in
            let inverse = setting.isSwitch ? setting.flags.first.map { "--no-\($0.dropFirst(2))" } : nil
            var about = ParameterDescription(
                kind: setting.isSwitch ? .flag(inverse: inverse) : .option,
                names: setting.flags,
                valueName: setting.isSwitch ? "" : setting.valueName,
                help: setting.help,
                group: group
            )
            about.isRepeated = setting.isList
            about.allowed = setting.allowed
            if !setting.choices.isEmpty, !setting.isSwitch { about.completion = .words(setting.choices) }
            let defaultText = setting.texts(defaults)?.joined(separator: ", ")
            return Parameter(
                description: about,
                apply: { (root, text) throws(InvalidValue) in
                    var scratch = Table()
                    try setting.read(&scratch, [text])
                    root[keyPath: path].set(setting.name, text)
                },
                current: { _ in defaultText }
            )
        }
    }
}
