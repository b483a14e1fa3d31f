// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelRelay
import CarrelSettings

/// The relays of a home: each file `relay/NAME.conf`.
struct RelayFiles {
    /// The files, in the order of their names.
    let files: [(name: String, file: LoadedSettings<RelayFile>)]

    /// Reads the files; prints warnings immediately.
    ///
    /// - Throws: ``SettingsError`` for a file that cannot be used, ``ServerError`` for a name that is none.
    init(home: Home, console: Console) throws {
        files = try home.relayNames().map { name in
            guard UpstreamFile.isName(name) else {
                let path = home.relaySettingsPath(name)
                throw ServerError(.invalid, "\(path): the name of a relay has lower-case letters, digits and '-'")
            }
            guard let file = try Self.file(of: home, name, console) else {
                throw ServerError(.notFound, "there is no file \(home.relaySettingsPath(name))")
            }
            return (name, file)
        }
    }

    /// The file of one relay; nil without one. Prints warnings immediately.
    static func file(of home: Home, _ name: String, _ console: Console) throws -> LoadedSettings<RelayFile>? {
        guard let file = try SettingsFile.read(home.relaySettingsPath(name)) else { return nil }
        let loaded = try LoadedSettings<RelayFile>(file: file)
        for warning in loaded.warnings { console.warning(warning) }
        return loaded
    }

    /// The service's settings.
    var settings: [RelaySettings] { files.compactMap { $0.file.values.settings(name: $0.name) } }

    /// The settings of the server and, under `relay`, of each relay.
    func json(beside settings: JSON) -> JSON {
        guard !files.isEmpty, let object = settings.object else { return settings }
        let relays = JSON.object(JSONObject(files.map { ($0.name, $0.file.json) }))
        return .object(JSONObject(object.map { ($0.name, $0.value) } + [("relay", relays)]))
    }
}
