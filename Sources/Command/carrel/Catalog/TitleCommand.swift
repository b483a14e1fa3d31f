// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct TitleCommand: Command {
    static let name = "title"
    static let abstract = "Titles in the catalog."
    static let subcommands: [any Command.Type] = [TitleList.self, TitleShow.self]
}

struct TitleList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the titles, oldest first."

    static let rows = "titles"
    static let columns: ListColumns = [
        "ID": "id", "TITLE": .shrinking("title"), "DURATION": .clock("duration", isNumeric: true), "ISBN": "isbn",
    ]

    func list() async throws -> JSON { try await HomeClient(options).pages("/admin/v1/titles", Self.rows) }
}

struct TitleShow: HomeCommand {
    var options = HomeOptions()
    var id = ""

    static let name = "show"
    static let abstract = "Show one title with its chapters."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The title's id.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        console.print(
            try await call(.get, "/admin/v1/titles/\(PercentEncoding.encode(id))")
        )
    }
}
