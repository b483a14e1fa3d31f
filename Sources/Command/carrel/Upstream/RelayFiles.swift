// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelCrypto
import CarrelHome
import CarrelJSON
import CarrelRelay
import CarrelSettings
import CarrelTokens

/// The relays of a home: each file `relay/NAME.conf`.
struct RelayFiles {
    /// The files, in the order of their names.
    let files: [(name: String, file: LoadedSettings<RelayFile>)]

    /// Reads the files; prints warnings immediately.
    ///
    /// - Throws: ``SettingsError`` for a file that cannot be used, ``ServerError`` for a name that is none, and for two relays with one key.
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
        // a message for one would open the other
        for (number, relay) in settings.enumerated() {
            let others = settings[..<number]
            let setting: String
            let other: RelaySettings
            if let found = others.first(where: { $0.key.id == relay.key.id }) {
                (setting, other) = ("relay.key-id", found)
            } else if let found = others.first(where: { $0.key.secret == relay.key.secret }) {
                (setting, other) = ("relay.key", found)
            } else {
                continue
            }
            let (path, taken) = (home.relaySettingsPath(relay.name), home.relaySettingsPath(other.name))
            throw ServerError(.invalid, "\(path): \(setting) is the same as in \(taken): each relay has a key of its own")
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
