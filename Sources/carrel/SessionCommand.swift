import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct SessionCommand: Command {
    static let name = "session"
    static let abstract = "Sessions: who is signed in, in browsers, apps and at the administrator's page."
    static let subcommands: [any Command.Type] = [SessionList.self, SessionEnd.self]
}

struct SessionList: Command {
    var options = HomeOptions()
    var limit = 100

    static let name = "list"
    static let abstract = "List the sessions of everybody, the newest first."
    static let parameters: [Parameter<Self>] =
        [.option(\.limit, "--limit", help: "At most this many.", allowed: .range(1...1000))] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.get, "/admin/v1/sessions?limit=\(limit)")
        if options.json { return console.print(answer) }
        var table = TextTable(["ID", "ACCOUNT", "KIND", "DEVICE", "CREATED", "SEEN"].map { TextTable.Column($0) })
        for session in answer["sessions"]?.array ?? [] {
            table.add([
                session["id"]?.string ?? "", session["account"]?["name"]?.string ?? "", session["kind"]?.string ?? "",
                session["deviceName"]?.string ?? "", session["createdAt"]?.string ?? "", session["seenAt"]?.string ?? "",
            ])
        }
        console.print(table)
    }
}

struct SessionEnd: Command {
    var options = HomeOptions()
    var account = ""
    var session = ""

    static let name = "end"
    static let abstract = "End a session at once."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.session, "id", help: "The session's id, as 'session list' shows it."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account) + "/sessions/\(PercentEncoding.encode(session))"
        _ = try await client.call(.delete, path)
    }
}
