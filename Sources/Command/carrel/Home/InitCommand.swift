// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelStore

struct InitCommand: HomeCommand {
    var options = HomeOptions()

    static let name = "init"
    static let abstract = "Create a home: its folder, database, media store and master key."
    static let discussion = """
        Prints the folder. An existing home is checked and left unchanged. 'carrel serve', 'carrel ingest' and 'carrel restore' also create \
        a home; every other command refuses a folder that is not a home.
        """
    static let examples = [
        Example("carrel init --home shelf", "Creates the home shelf."),
        Example("carrel init --home shelf --environment qa", "Creates the qa environment of the home shelf."),
    ]

    func run(_ console: Console) async throws {
        let home = try options.find(missing: .create)
        let isNew = !home.isMade
        if !isNew, HomeClient.accepts(home.socketPath) {
            console.note("a server runs on the home \(home.directory)")
        } else {
            try await options.openService(creating: console).database.close()
        }
        if options.json { return console.print(["home": .string(home.directory), "created": .bool(isNew)]) }
        console.print(home.directory)
    }
}
