// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer
import Glibc

struct AccountExport: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "export"
    static let abstract = "Export all data about a reader, as JSON."
    static let discussion = """
        Contains the account, devices, sessions, app passwords, plans, purchases, orders, intervals listened to, bookmarks, audit \
        entries and the data cached from upstream systems; no password, key or token. The audit log records the export.
        """
    static let examples = [Example("carrel account export alice > alice.json", "Writes a file for the reader.")]

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        try await client.copy(try await client.accountPath(account) + "/export") { console.write($0) }
    }
}

struct AccountHistory: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var asTable = false

    static let name = "history"
    static let abstract = "Show a reader's listening history: titles, positions and dates."
    static let discussion = "The audit log records the access."
    static let examples = [
        Example("carrel account history alice --csv > alice.csv", "Writes every interval listened to, for a spreadsheet.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .flag(\.asTable, "--csv", help: "Write every interval, as comma-separated values."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        if asTable, options.json { throw UsageError(.contradiction, "--csv and --json exclude each other") }
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account) + "/history"
        if asTable { return try await client.copy(path + ".csv") { console.write($0) } }
        let answer = try await client.call(.get, path)
        if options.json { return console.print(answer) }
        let columns: ListColumns = [
            "TITLE": "title", "AT": .clock("seconds"), "OF": .clock("duration"), "LAST HEARD": "lastHeard", "ON": "device",
        ]
        console.print(columns.table(answer["titles"]))
    }
}

struct AccountErase: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var isConfirmed = false

    static let name = "erase"
    static let abstract = "Erase a reader's personal data. This cannot be undone."
    static let discussion = """
        Deletes name, password, devices, sessions, app passwords, bookmarks and listening history, and ends running orders and plans. \
        Orders, plans, purchases and the audit log are kept, without personal data. \
        Backups contain the old data until they are replaced. On a terminal, the name must be typed again, unless --yes is given.
        """
    static let examples = [Example("carrel account erase alice", "Erases alice's data, and lists the records kept.")]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .flag(\.isConfirmed, "--yes", help: "Erase without asking."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account) + "/erase"
        if !isConfirmed, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 {
            console.note("This erases \(account) for good. Type the name to go ahead:")
            guard readLine(strippingNewline: true) == account else {
                throw UsageError(.badValue, "nothing was erased: the name was not typed", hint: "--yes erases without asking")
            }
        }
        let answer = try await client.call(.post, path, ["name": .string(account)])
        if options.json { return console.print(answer) }
        console.note("\(account) is erased. Kept, without personal data:")
        for kept in answer["kept"]?.array ?? [] {
            console.note("  \(kept["what"]?.string ?? ""): \(kept["because"]?.string ?? "")")
        }
    }
}
