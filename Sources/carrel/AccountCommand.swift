import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct AccountCommand: Command {
    static let name = "account"
    static let abstract = "Accounts of readers: create, change, let in."
    static let subcommands: [any Command.Type] = [
        AccountCreate.self, AccountList.self, AccountPassword.self, AccountSuspend.self, AccountResume.self,
        AccountSignInLink.self, AccountToken.self,
    ]
}

struct AccountSignInLink: Command {
    var options = HomeOptions()
    var account = ""
    var url = "http://127.0.0.1:8080"

    static let name = "sign-in-link"
    static let abstract = "Make a link that signs a reader's browser in."
    static let discussion = "The link works once, within an hour. The account is created when it is new."
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
        let address = (url.hasSuffix("/") ? String(url.dropLast()) : url) + (link["path"]?.string ?? "")
        if options.json {
            if var object = link.object {
                object["url"] = .string(address)
                link = .object(object)
            }
            return console.print(link)
        }
        console.print(address)
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
