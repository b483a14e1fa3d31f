// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct KeyCommand: Command {
    static let name = "key"
    static let abstract = "Back-office keys, with which shops and libraries call the API."
    static let subcommands: [any Command.Type] = [KeyCreate.self, KeyList.self, KeyRevoke.self]
}

struct KeyCreate: Command {
    var options = HomeOptions()
    var role = Role.service
    var label: String?

    static let name = "create"
    static let abstract = "Create a back-office key; it is shown once."
    static let examples = [
        Example("carrel key create --role service --name shop", "Creates a key that may place orders."),
        Example("carrel key create --role portal --name films", "Creates a key that may ask for tokens, and nothing else."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.role, "--role", help: "service for orders, portal for tokens alone, admin for the catalog too."),
            .option(\.label, "--name", value: "name", help: "A label; default: the role's name."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let key = try await HomeClient(options).call(
            .post,
            "/admin/v1/service-keys",
            ["name": .string(label ?? role.rawValue), "role": .string(role.rawValue)]
        )
        if options.json { return console.print(key) }
        console.print(key["key"]?.string ?? "")
        console.note("save this key now, it is shown once; revoke it with 'carrel key revoke \(key["id"]?.string ?? "")'")
    }
}

extension Role: TextValue {}

struct KeyList: Command {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the back-office keys; their text is not shown."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.get, "/admin/v1/service-keys")
        if options.json { return console.print(answer) }
        var table = TextTable(["ID", "NAME", "ROLE", "CREATED", "REVOKED"].map { TextTable.Column($0) })
        for key in answer["keys"]?.array ?? [] {
            table.add(["id", "name", "role", "createdAt", "revokedAt"].map { key[$0]?.string ?? "" })
        }
        console.print(table)
    }
}

struct KeyRevoke: Command {
    var options = HomeOptions()
    var id = ""

    static let name = "revoke"
    static let abstract = "Revoke a back-office key."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The key's id, as 'carrel key list' shows it.")]
        + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        _ = try await HomeClient(options).call(.delete, "/admin/v1/service-keys/\(PercentEncoding.encode(id))")
        console.note("revoked")
    }
}
