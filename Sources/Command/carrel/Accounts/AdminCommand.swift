// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct AdminCommand: Command {
    static let name = "admin"
    static let abstract = "Staff: create the first owner, set roles."
    static let subcommands: [any Command.Type] = [AdminSetupLink.self, AdminList.self, AdminRole.self]
}

struct AdminSetupLink: Command {
    var base = PublicURLOptions()

    static let name = "setup-link"
    static let abstract = "Create a one-time setup link for a new owner."
    static let discussion = """
        The link works once, within an hour. It asks for a name and a password and signs in to the administrators' page. \
        A server without an owner prints such a link when it starts.
        """
    static let parameters: [Parameter<Self>] = Parameter.group(\.base)

    var output: OutputOptions { base.options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(base.options).call(.post, "/admin/v1/setup-links", [:])
        let address = try base.address(of: answer["path"]?.string ?? "", console)
        if base.options.json {
            return console.print(["url": .string(address), "expiresIn": answer["expiresIn"] ?? .null])
        }
        console.print(address)
    }
}

struct AdminList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the accounts with a staff role."

    static let rows = "staff"
    static let columns: ListColumns = ["NAME": "name", "ROLE": "role", "STATE": .accountState, "SINCE": "createdAt"]

    func list() async throws -> JSON { try await call(.get, "/admin/v1/staff") }
}

struct AdminRole: Command {
    var base = PublicURLOptions()
    var account = ""
    var role = Role.support

    static let name = "role"
    static let abstract = "Set an account's role: owner, admin, support or reader."
    static let discussion = """
        An owner may do everything; an admin everything except appoint staff; support manages readers' accounts and orders. \
        An account that becomes staff loses its password, sessions, links, app passwords and the identities that staff linked, because others \
        may know them. The command prints a link to choose a new password and sign in at /admin/; it works once, within an hour.
        """
    static let examples = [Example("carrel admin role carol support", "Lets carol help readers.")]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.role, "role", help: "The new role."),
        ] + Parameter.group(\.base)

    var output: OutputOptions { base.options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(base.options)
        let answer = try await client.call(
            .put,
            try await client.accountPath(account) + "/role",
            ["role": .string(role.rawValue)]
        )
        let address = try answer["path"]?.string.map { try base.address(of: $0, console) }
        guard base.options.json, var object = answer.object else { return address.map { console.print($0) } ?? () }
        if let address { object["url"] = .string(address) }
        console.print(.object(object))
    }
}
