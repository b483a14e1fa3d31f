// SPDX-License-Identifier: Apache-2.0

package import CarrelCommandLine
package import CarrelJSON

extension LoadedSettings {
    /// Every setting with its value and where that came from, in the table's order. Secrets are not shown.
    package func explain() -> [SettingExplanation] {
        let defaults = Table()
        return Table.settings.map { SettingExplanation($0, values, defaults, origin($0.name)) }
    }

    /// Every setting in a table: name, value, where it came from.
    package var table: TextTable {
        var table = TextTable([.init("setting"), .init("value", canShrink: true), .init("from")])
        for row in explain() { table.add([row.name, row.shown, row.origin.description]) }
        return table
    }

    /// Every setting for a machine, by its name. Secrets have no value.
    package var json: JSON {
        .object(
            JSONObject(
                explain().map { row in
                    let value: JSON = row.value.map { .string($0) } ?? .null
                    return (
                        row.name,
                        [
                            "value": value, "from": .string(row.origin.description), "secret": .bool(row.isSecret),
                            "help": .string(row.help),
                        ]
                    )
                }
            )
        )
    }
}
