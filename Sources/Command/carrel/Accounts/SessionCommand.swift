// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct SessionCommand: Command {
    static let name = "session"
    static let abstract = "Sessions in browsers, apps and the administrators' page."
    static let subcommands: [any Command.Type] = [SessionList.self, SessionEnd.self]
}

struct SessionList: ListCommand {
    var options = HomeOptions()
    var limit = 100
    var account: String?

    static let name = "list"
    static let abstract = "List all sessions, the newest first, or those of an account, the oldest first."
    static let parameters: [Parameter<Self>] =
        [
            .option(\.limit, "--limit", help: "Maximum number of sessions, when no account is given.", allowed: .range(1...1000)),
            .positional(\.account, "name", help: "The account's name."),
        ] + Parameter.group(\.options)

    static let rows = "sessions"
    static let columns: ListColumns = [
        "ID": "id", "ACCOUNT": .text { $0["account"]?["name"]?.string ?? "" }, "KIND": "kind", "DEVICE": "deviceName",
        "CREATED": "createdAt", "SEEN": "seenAt",
    ]
    private static let columnsOfAccount: ListColumns = [
        "ID": "id", "DEVICE": "device", "CREATED": "createdAt", "SEEN": "seenAt", "EXPIRES": "expiresAt",
    ]

    var columns: ListColumns { account == nil ? Self.columns : Self.columnsOfAccount }

    func list() async throws -> JSON {
        if let account { return try await call(.get, "/sessions", account: account) }
        return try await call(.get, "/admin/v1/sessions?limit=\(limit)")
    }
}

struct SessionEnd: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var session: String?
    var all = false

    static let name = "end"
    static let abstract = "End a session of an account, or all of them."
    static let discussion =
        "--all also ends its sessions at the administrators' page and revokes the links it was sent."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.session, "id", help: "The session's id, as 'session list' shows it."),
            .flag(\.all, "--all", help: "End all of them."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard all == (session == nil) else {
            throw UsageError(.badValue, "give the id of a session, or --all")
        }
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account) + "/sessions"
        if let session {
            _ = try await client.call(.delete, "\(path)/\(PercentEncoding.encode(session))")
        } else {
            let answer = try await client.call(.delete, path)
            if options.json { return console.print(answer) }
            console.note("ended: \(answer["ended"]?.int ?? 0)")
        }
    }
}
