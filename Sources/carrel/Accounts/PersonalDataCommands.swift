import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct AccountExport: Command {
    var options = HomeOptions()
    var account = ""

    static let name = "export"
    static let abstract = "Write everything that is known about a reader, as JSON."
    static let discussion = """
        The account, its devices, sessions, app passwords, plans, purchases, orders, every stretch listened to, bookmarks, and what the \
        audit log and systems upstream say of them; no password, key or token. That it was written is in the audit log.
        """
    static let examples = [Example("carrel account export alice > alice.json", "Writes a file to hand over.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.account, "name", help: "The account's name.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        try await client.copy(try await client.accountPath(account) + "/export") { console.write($0) }
    }
}

struct AccountHistory: Command {
    var options = HomeOptions()
    var account = ""
    var asTable = false

    static let name = "history"
    static let abstract = "Show what a reader listened to: each title, where they are in it, and since when."
    static let discussion = "That somebody looked is in the audit log."
    static let examples = [
        Example("carrel account history alice --csv > alice.csv", "Writes every stretch listened to, for a spreadsheet.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .flag(\.asTable, "--csv", help: "Write every stretch, as comma-separated values."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        if asTable, options.json { throw UsageError(.contradiction, "--csv and --json are two forms of the same") }
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account) + "/history"
        if asTable { return try await client.copy(path + ".csv") { console.write($0) } }
        let answer = try await client.call(.get, path)
        if options.json { return console.print(answer) }
        var table = TextTable(["TITLE", "AT", "OF", "LAST HEARD", "ON"].map { TextTable.Column($0) })
        for item in answer["titles"]?.array ?? [] {
            table.add([
                item["title"]?.string ?? "", Self.clock(item["seconds"]), Self.clock(item["duration"]),
                item["lastHeard"]?.string ?? "", item["device"]?.string ?? "",
            ])
        }
        console.print(table)
    }

    private static func clock(_ value: JSON?) -> String {
        let seconds = Int(value?.double ?? 0)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}

struct AccountErase: Command {
    var options = HomeOptions()
    var account = ""

    static let name = "erase"
    static let abstract = "Forget a reader, at once and for good."
    static let discussion = """
        Deletes devices, sessions, app passwords, bookmarks and every stretch listened to, ends what runs, and takes name and password \
        away. What was sold and lent stays for the accounts, and the audit log stays for its seals; both then say no more than that \
        there was somebody. Backups hold the old state until they are replaced.
        """
    static let examples = [Example("carrel account erase alice", "Forgets alice, and says what is kept.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.account, "name", help: "The account's name.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account) + "/erase"
        let answer = try await client.call(.post, path, ["name": .string(account)])
        if options.json { return console.print(answer) }
        console.note("\(account) is forgotten. Kept, without saying who it was:")
        for kept in answer["kept"]?.array ?? [] {
            console.note("  \(kept["what"]?.string ?? ""): \(kept["because"]?.string ?? "")")
        }
    }
}
