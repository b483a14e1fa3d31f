// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct AppPasswordCommand: Command {
    static let name = "app-password"
    static let abstract = "App passwords: each lets one app in, for one purpose, until revoked."
    static let subcommands: [any Command.Type] = [AppPasswordCreate.self, AppPasswordList.self, AppPasswordRevoke.self]
}

extension AppPassword.Scope: TextValue {}

struct AppPasswordCreate: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var label = ""
    var scopes: [AppPassword.Scope] = []
    var expires: EndTime?

    static let name = "create"
    static let abstract = "Create a password for an app that signs in with name and password."
    static let discussion = """
        It is shown once. The app sends it with the account's name in HTTP Basic; hyphens, spaces and case do not \
        matter. Scope 'opds' allows feeds and the editions they link to, scope 'sync' listening positions.
        """
    static let examples = [
        Example("carrel account app-password create alice 'e-reader' --scope opds", "Prints a password for feeds.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.label, "label", help: "A label, such as the app's name."),
            .option(\.scopes, "--scope", help: "What the password gives access to."),
            .option(\.expires, "--expires", help: "When the password expires, such as 2027-01-31 or +90d; default: never."),
        ] + Parameter.group(\.options)

    func validate() throws(UsageError) { try expires?.requireFuture("--expires") }

    func run(_ console: Console) async throws {
        guard !scopes.isEmpty else { throw UsageError(.badValue, "give --scope opds, --scope sync, or both") }
        let body: JSON = [
            "name": .string(label), "scopes": .array(scopes.map { .string($0.rawValue) }),
            "expiresAt": expires.map { .string($0.written) } ?? .null,
        ]
        let made = try await call(.post, "/app-passwords", account: account, body)
        show(made, as: made["password"]?.string ?? "", console)
    }
}

struct AppPasswordList: ListCommand, OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "list"
    static let abstract = "List an account's app passwords, the oldest first."

    static let rows = "appPasswords"
    static let columns: ListColumns = [
        "ID": "id", "LABEL": "name", "SCOPES": .texts("scopes"), "SINCE": "createdAt", "LAST USE": "seenAt", "ENDS": "expiresAt",
    ]

    func list() async throws -> JSON { try await call(.get, "/app-passwords", account: account) }
}

struct AppPasswordRevoke: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var password = ""

    static let name = "revoke"
    static let abstract = "Revoke an app password."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.password, "id", help: "The app password's id, as 'app-password list' shows it."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.delete, "/app-passwords/\(PercentEncoding.encode(password))", account: account)
    }
}
