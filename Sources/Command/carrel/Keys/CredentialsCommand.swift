// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct CredentialsCommand: Command {
    static let name = "credentials"
    static let abstract = "Issued edition credentials."
    static let subcommands: [any Command.Type] = [CredentialsRevoke.self]
}

struct CredentialsRevoke: HomeCommand {
    var options = HomeOptions()
    var account: String?
    var product: String?
    var all = false

    static let name = "revoke"
    static let abstract = "Revoke issued edition credentials within a second."
    static let discussion = """
        Readers who are still entitled get new credentials at the app's next request. Suspending an account, ending a plan or a purchase, \
        a new password and revoking a device revoke an account's credentials automatically.
        """
    static let examples = [
        Example("carrel credentials revoke --account alice", "Revokes the credentials of alice's apps."),
        Example("carrel credentials revoke --product com.example.issue-7", "Revokes the credentials of one edition."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.account, "--account", value: "name", help: "Revoke those of one account."),
            .option(\.product, "--product", value: "id", help: "Revoke those for one product."),
            .flag(\.all, "--all", help: "Revoke all."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard [account != nil, product != nil, all].count(where: { $0 }) == 1 else {
            throw UsageError(.badValue, "give one of --account, --product and --all")
        }
        var body: JSONObject = [:]
        if let account { body["account"] = .string(account) }
        if let product { body["product"] = .string(product) }
        if all { body["all"] = true }
        _ = try await call(.post, "/admin/v1/credentials/revoke", .object(body))
    }
}
