// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelSettings

struct ConfigCommand: Command {
    static let name = "config"
    static let abstract = "Check and sample settings."
    static let subcommands: [any Command.Type] = [ConfigCheck.self, ConfigSample.self]
}

struct ConfigCheck: HomeCommand {
    var options = HomeOptions()
    var overrides = SettingOverrides<ServeSettings>()

    static let name = "check"
    static let abstract = "Check the settings, and show each with its value and source."
    static let discussion = """
        Settings come from the command line, the environment (CARREL_HTTP_PORT), the file carrel.conf in the home \
        (http.port = 8080), and defaults, in this order. A name that is not a setting is an error.
        """
    static let parameters: [Parameter<Self>] = Parameter.settings(\.overrides) + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let home = try options.find()
        let loaded = try LoadedSettings(home: home, overrides: overrides, console: console)
        let upstream = try UpstreamFiles(home: home, loaded.values, console: console)
        let relays = try RelayFiles(home: home, console: console)
        if options.json { return console.print(relays.json(beside: upstream.json(beside: loaded.json))) }
        console.print(loaded.table)
        for (name, file) in upstream.files {
            console.print("")
            console.print("upstream/\(name).conf")
            console.print(file.table)
        }
        for (name, file) in relays.files {
            console.print("")
            console.print("relay/\(name).conf")
            console.print(file.table)
        }
    }
}

struct ConfigSample: Command {
    var output = OutputOptions()
    var upstream = false
    var relay = false

    static let name = "sample"
    static let abstract = "Print a settings file with every setting at its default, commented out."
    static let examples = [
        Example("carrel config sample > carrel-home/carrel.conf", "Creates a settings file."),
        Example("carrel config sample --upstream > carrel-home/upstream/bureau.conf", "Creates the file of an upstream system."),
        Example("carrel config sample --relay > carrel-home/relay/fairplay.conf", "Creates the file of a relay."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .flag(\.upstream, "--upstream", help: "Print a file for an upstream system in subscription.sources."),
            .flag(\.relay, "--relay", help: "Print a file for a relay to another vendor's license server."),
        ] + Parameter.group(\.output)

    func validate() throws(UsageError) {
        guard !(upstream && relay) else { throw UsageError(.contradiction, "--upstream and --relay exclude each other") }
    }

    func run(_ console: Console) async throws {
        console.write(Array((upstream ? UpstreamFile.sample : relay ? RelayFile.sample : ServeSettings.sampleFile).utf8))
    }
}

extension LoadedSettings where Table == ServeSettings {
    /// The settings of a home; prints warnings immediately.
    init(home: Home, overrides: SettingOverrides<ServeSettings>, console: Console) throws {
        let file = try SettingsFile.read(home.settingsPath)
        try self.init(file: file, environment: console.environment, overrides: overrides)
        for warning in warnings { console.warning(warning) }
    }
}
