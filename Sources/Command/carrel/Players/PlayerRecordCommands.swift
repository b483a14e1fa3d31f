// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct PlayerRedemptions: Command {
    var options = HomeOptions()
    var player = ""

    static let name = "redemptions"
    static let abstract = "List the tokens that a player redeemed, the newest first."
    static let parameters: [Parameter<Self>] =
        [.positional(\.player, "id", help: "The player's id.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let path = "/admin/v1/players/\(PercentEncoding.encode(player))/redemptions"
        let answer = try await HomeClient(options).call(.get, path)
        if options.json { return console.print(answer) }
        var table = TextTable(["TIME", "CONTENT", "LICENSE", "COOKIE"].map { TextTable.Column($0) })
        for record in answer["redemptions"]?.array ?? [] {
            table.add(["time", "contentId", "license", "cookie"].map { record[$0]?.string ?? "" })
        }
        console.print(table)
    }
}

struct PlayerDenials: Command {
    var options = HomeOptions()
    var player = ""

    static let name = "denials"
    static let abstract = "Explain why a player was denied a license, the newest first."
    static let parameters: [Parameter<Self>] =
        [.positional(\.player, "id", help: "The player's id.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let path = "/admin/v1/players/\(PercentEncoding.encode(player))/denials"
        let answer = try await HomeClient(options).call(.get, path)
        if options.json { return console.print(answer) }
        var table = TextTable(["TIME", "CODE", "MEANING"].map { TextTable.Column($0) })
        for denial in answer["denials"]?.array ?? [] {
            table.add(["at", "code", "explanation"].map { denial[$0]?.string ?? "" })
        }
        console.print(table)
    }
}

struct PlayerStreams: Command {
    var options = HomeOptions()
    var account = ""

    static let name = "streams"
    static let abstract = "Count the streams of an account: listeners and licenses."
    static let parameters: [Parameter<Self>] =
        [.positional(\.account, "name", help: "The account's name.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        let answer = try await client.call(.get, try await client.accountPath(account) + "/streams")
        if options.json { return console.print(answer) }
        let (held, limit) = (answer["held"]?.int ?? 0, answer["limit"]?.int ?? 0)
        let wait = answer["retryAfter"]?.int.map { "; the first place is free in \($0) s" } ?? ""
        console.print(limit == 0 ? "\(held) streams, no limit" : "\(held) of \(limit) streams\(wait)")
    }
}
