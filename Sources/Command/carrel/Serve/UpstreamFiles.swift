// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelSettings

/// The settings of the upstream systems in a home's `subscription.sources`.
struct UpstreamFiles {
    /// The files, in the order of the sources.
    let files: [(name: String, file: LoadedSettings<UpstreamFile>)]
    private let names: [String]

    /// Reads the files; prints warnings immediately.
    init(home: Home, _ settings: ServeSettings, console: Console) throws {
        names = settings.sources
        files = try settings.sources.filter { $0 != "accounts" }.map { name in
            let path = home.upstreamSettingsPath(name)
            guard let file = try SettingsFile.read(path) else {
                throw ServerError(.invalid, "subscription.sources names '\(name)', but there is no file \(path)")
            }
            let loaded = try LoadedSettings<UpstreamFile>(file: file)
            for warning in loaded.warnings { console.warning(warning) }
            return (name, loaded)
        }
    }

    /// The sources of entitlements, in order.
    var sources: [SubscriptionSettings.Source] {
        names.map { name in
            files.first { $0.name == name }.map { .upstream($0.file.values.settings(name: name)) } ?? .accounts
        }
    }

    /// The settings of the server and, under `upstream`, of each system.
    func json(beside settings: JSON) -> JSON {
        guard !files.isEmpty, let object = settings.object else { return settings }
        let systems = JSON.object(JSONObject(files.map { ($0.name, $0.file.json) }))
        return .object(JSONObject(object.map { ($0.name, $0.value) } + [("upstream", systems)]))
    }
}

extension UpstreamFile {
    /// A file that is complete except for the system's URL.
    static var sample: String {
        sampleFile(heading: [
            "# An upstream system; its name in subscription.sources is this file's name. A line is `name = value`; lines commented",
            "# out are defaults. upstream.url is required; the webhook also needs upstream.secret, and a file that others cannot read.",
        ])
    }
}
