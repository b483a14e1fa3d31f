import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct AccountCommand: Command {
    static let name = "account"
    static let abstract = "Accounts of readers: create, change, let in."
    static let subcommands: [any Command.Type] = [
        AccountCreate.self, AccountList.self, AccountShow.self, AccountPassword.self, AccountSuspend.self, AccountResume.self,
        AccountSignInLink.self, AccountResetLink.self, AppPasswordCommand.self, IdentityCommand.self, AccountToken.self,
        AccountExport.self, AccountErase.self,
    ]
}

struct AccountSignInLink: Command {
    var options = HomeOptions()
    var account = ""
    var url = "http://127.0.0.1:8080"

    static let name = "sign-in-link"
    static let abstract = "Make a link that signs a reader's browser in."
    static let discussion =
        "The link shows a page that signs in, once, within an hour: looking at it does not use it up. The account is created when it is new."
    static let examples = [Example("carrel account sign-in-link alice", "Prints a link for alice.")]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .option(\.url, "--url", value: "url", help: "Where readers reach the server."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        var link = try await HomeClient(options).call(
            .post,
            "/admin/v1/sign-in-links",
            ["account": .string(account)]
        )
        link.printLink(at: url, options, console)
    }
}

struct AccountResetLink: Command {
    var options = HomeOptions()
    var account = ""
    var url = "http://127.0.0.1:8080"

    static let name = "reset-link"
    static let abstract = "Make a link by which a reader chooses a new password."
    static let discussion = """
        The link works once, within an hour. When it is used, the account is signed out everywhere, and its app passwords end.
        """
    static let examples = [Example("carrel account reset-link alice", "Prints a link for alice.")]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .option(\.url, "--url", value: "url", help: "Where readers reach the server."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        var link = try await client.call(.post, try await client.accountPath(account) + "/reset-links")
        link.printLink(at: url, options, console)
    }
}

extension JSON {
    /// Prints the address of a link that the service answered with.
    fileprivate mutating func printLink(at url: String, _ options: HomeOptions, _ console: Console) {
        let address = (url.hasSuffix("/") ? String(url.dropLast()) : url) + (self["path"]?.string ?? "")
        guard options.json else { return console.print(address) }
        if var object = self.object {
            object["url"] = .string(address)
            self = .object(object)
        }
        console.print(self)
    }
}

struct AccountToken: Command {
    var options = HomeOptions()
    var account = ""

    static let name = "token"
    static let abstract = "Make a session token for an app that acts for an account."
    static let discussion = "The token is shown once. Send it as 'Authorization: Bearer TOKEN'."
    static let parameters: [Parameter<Self>] =
        [.positional(\.account, "name", help: "The account's name.")]
        + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.post, "/admin/v1/sessions", ["account": .string(account)])
        if options.json { return console.print(answer) }
        console.print(answer["token"]?.string ?? "")
    }
}
