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

struct KeyCreate: HomeCommand {
    var options = HomeOptions()
    var role = Role.service
    var label: String?

    static let name = "create"
    static let abstract = "Create a back-office key; it is shown once."
    static let examples = [
        Example("carrel key create --role service --name shop", "Creates a key that may place orders."),
        Example("carrel key create --role portal --name films", "Creates a key that may ask for tokens, and nothing else."),
        Example("carrel key create --role packager --name encoder", "Creates a key that may get content keys, and nothing else."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(
                \.role,
                "--role",
                help: "service for orders, portal for tokens alone, packager for content keys alone, admin for the catalog too."
            ),
            .option(\.label, "--name", value: "name", help: "A label; default: the role's name."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let key = try await call(
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

struct KeyList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the back-office keys; their text is not shown."

    static let rows = "keys"
    static let columns: ListColumns = [
        "ID": "id", "NAME": "name", "ROLE": "role", "CREATED": "createdAt", "REVOKED": "revokedAt",
    ]

    func list() async throws -> JSON { try await call(.get, "/admin/v1/service-keys") }
}

struct KeyRevoke: HomeCommand {
    var options = HomeOptions()
    var id = ""

    static let name = "revoke"
    static let abstract = "Revoke a back-office key."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The key's id, as 'carrel key list' shows it.")]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.delete, "/admin/v1/service-keys/\(PercentEncoding.encode(id))")
        console.note("revoked")
    }
}
