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

struct TitleList: Command {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the titles, oldest first."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        var titles: [JSON] = []
        var next: String?
        repeat {
            let after = next.map { "&after=\(PercentEncoding.encode($0))" } ?? ""
            let page = try await client.call(.get, "/admin/v1/titles?limit=1000\(after)")
            titles += page["titles"]?.array ?? []
            next = page["next"]?.string
        } while next != nil
        if options.json { return console.print(["titles": .array(titles)]) }
        var table = TextTable([.init("ID"), .init("TITLE", canShrink: true), .init("DURATION", isNumeric: true), .init("ISBN")])
        for title in titles {
            table.add([
                title["id"]?.string ?? "", title["title"]?.string ?? "", Self.clock(title["duration"]?.double ?? 0),
                title["isbn"]?.string ?? "",
            ])
        }
        console.print(table)
    }

    /// Hours, minutes and seconds: `11:02:07`.
    private static func clock(_ duration: Double) -> String {
        let seconds = Int(duration)
        let parts = [seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(seconds / 3600):\(parts.joined(separator: ":"))"
    }
}

struct TitleShow: Command {
    var options = HomeOptions()
    var id = ""

    static let name = "show"
    static let abstract = "Show one title with its chapters."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The title's id.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        console.print(
            try await HomeClient(options).call(.get, "/admin/v1/titles/\(PercentEncoding.encode(id))")
        )
    }
}
