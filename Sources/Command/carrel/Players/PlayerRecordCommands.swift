// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct PlayerRedemptions: ListCommand {
    var options = HomeOptions()
    var player = ""

    static let name = "redemptions"
    static let abstract = "List the tokens that a player redeemed, the newest first."
    static let parameters: [Parameter<Self>] =
        [.positional(\.player, "id", help: "The player's id.")] + Parameter.group(\.options)

    static let rows = "redemptions"
    static let columns: ListColumns = ["TIME": "time", "CONTENT": "contentId", "LICENSE": "license", "COOKIE": "cookie"]

    func list() async throws -> JSON {
        let path = "/admin/v1/players/\(PercentEncoding.encode(player))/redemptions"
        return try await call(.get, path)
    }
}

struct PlayerDenials: ListCommand {
    var options = HomeOptions()
    var player = ""

    static let name = "denials"
    static let abstract = "Explain why a player was denied a license, the newest first."
    static let parameters: [Parameter<Self>] =
        [.positional(\.player, "id", help: "The player's id.")] + Parameter.group(\.options)

    static let rows = "denials"
    static let columns: ListColumns = ["TIME": "at", "CODE": "code", "MEANING": "explanation"]

    func list() async throws -> JSON {
        let path = "/admin/v1/players/\(PercentEncoding.encode(player))/denials"
        return try await call(.get, path)
    }
}

struct PlayerStreams: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "streams"
    static let abstract = "Count the streams of an account: listeners and licenses."

    func run(_ console: Console) async throws {
        let answer = try await call(.get, "/streams", account: account)
        if options.json { return console.print(answer) }
        let (held, limit) = (answer["held"]?.int ?? 0, answer["limit"]?.int ?? 0)
        let wait = answer["retryAfter"]?.int.map { "; the first place is free in \($0) s" } ?? ""
        console.print(limit == 0 ? "\(held) streams, no limit" : "\(held) of \(limit) streams\(wait)")
    }
}
