// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct IdentityCommand: Command {
    static let name = "identity"
    static let abstract = "Identities at an OpenID provider that sign in to an account."
    static let subcommands: [any Command.Type] = [IdentityList.self, IdentityLink.self, IdentityUnlink.self]
}

struct IdentityList: ListCommand, OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "list"
    static let abstract = "List an account's identities."

    static let rows = "identities"
    static let columns: ListColumns = ["ISSUER": "issuer", "SUBJECT": "subject", "SINCE": "createdAt", "LAST SIGN-IN": "seenAt"]

    func list() async throws -> JSON { try await call(.get, "/identities", account: account) }
}

struct IdentityLink: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var issuer = ""
    var subject = ""

    static let name = "link"
    static let abstract = "Link an identity to an account, so that it can sign in."
    static let discussion = """
        An identity is a provider and a subject id there. Names and email addresses are not identities: providers may reassign \
        them.
        """
    static let examples = [
        Example("carrel account identity link alice https://id.example.org 248289761001", "Lets that subject in as alice.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.issuer, "issuer", help: "The provider's issuer URL."),
            .positional(\.subject, "subject", help: "The provider's subject id (sub claim)."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let body: JSON = ["issuer": .string(issuer), "subject": .string(subject)]
        let answer = try await call(.post, "/identities", account: account, body)
        if options.json { console.print(answer) }
    }
}

struct IdentityUnlink: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var issuer = ""
    var subject = ""

    static let name = "unlink"
    static let abstract = "Unlink an identity from an account."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.issuer, "issuer", help: "The provider's issuer URL, as 'identity list' shows it."),
            .positional(\.subject, "subject", help: "The provider's subject id (sub claim)."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let query = "issuer=\(PercentEncoding.encode(issuer))&subject=\(PercentEncoding.encode(subject))"
        _ = try await call(.delete, "/identities?\(query)", account: account)
    }
}
