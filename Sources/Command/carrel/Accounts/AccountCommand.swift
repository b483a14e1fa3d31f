// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct AccountCommand: Command {
    static let name = "account"
    static let abstract = "Reader accounts: create, change, sign in."
    static let subcommands: [any Command.Type] = [
        AccountCreate.self, AccountList.self, AccountShow.self, AccountPassword.self, AccountSuspend.self, AccountResume.self,
        AccountDeviceLimit.self, AccountHistory.self, AccountSignInLink.self, AccountResetLink.self, AppPasswordCommand.self,
        IdentityCommand.self, AccountToken.self, AccountExport.self, AccountErase.self,
    ]
}

struct AccountSignInLink: Command {
    var link = LinkOptions()

    static let name = "sign-in-link"
    static let abstract = "Create a one-time link that signs a reader in."
    static let discussion =
        "The link works once, within an hour; opening its page does not use it up, signing in does. Creates the account if it does not exist."
    static let examples = [Example("carrel account sign-in-link alice", "Prints a link for alice.")]
    static let parameters: [Parameter<Self>] = Parameter.group(\.link)

    var output: OutputOptions { link.options.output }

    func run(_ console: Console) async throws {
        let body: JSON = ["account": .string(link.account)]
        try link.print(try await HomeClient(link.options).call(.post, "/admin/v1/sign-in-links", body), console)
    }
}

struct AccountResetLink: Command {
    var link = LinkOptions()

    static let name = "reset-link"
    static let abstract = "Create a one-time link to choose a new password."
    static let discussion = """
        The link works once, within an hour. Using it ends all sessions and app passwords of the account.
        """
    static let examples = [Example("carrel account reset-link alice", "Prints a link for alice.")]
    static let parameters: [Parameter<Self>] = Parameter.group(\.link)

    var output: OutputOptions { link.options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(link.options)
        let path = try await client.accountPath(link.account) + "/reset-links"
        try link.print(try await client.call(.post, path), console)
    }
}

struct AccountToken: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "token"
    static let abstract = "Create a session token for an app that acts for an account."
    static let discussion = "The token is shown once. Send it as 'Authorization: Bearer TOKEN'."

    func run(_ console: Console) async throws {
        let answer = try await call(.post, "/admin/v1/sessions", ["account": .string(account)])
        show(answer, as: answer["token"]?.string ?? "", console)
    }
}
