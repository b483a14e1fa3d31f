import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct CredentialsCommand: Command {
    static let name = "credentials"
    static let abstract = "Credentials of editions that were given out."
    static let subcommands: [any Command.Type] = [CredentialsRevoke.self]
}

struct CredentialsRevoke: Command {
    var options = HomeOptions()
    var account: String?
    var product: String?
    var all = false

    static let name = "revoke"
    static let abstract = "Revoke issued edition credentials within a second."
    static let discussion = """
        Who may still read an edition gets new credentials when the app asks. Suspending an account, ending a plan or a purchase, \
        a new password and revoking a device void an account's credentials by themselves.
        """
    static let examples = [
        Example("carrel credentials revoke --account alice", "Voids what alice's apps have."),
        Example("carrel credentials revoke --product com.example.issue-7", "Voids what opens one edition."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.account, "--account", value: "name", help: "Those of one account."),
            .option(\.product, "--product", value: "id", help: "Those for one product."),
            .flag(\.all, "--all", help: "Every one."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        guard [account != nil, product != nil, all].count(where: { $0 }) == 1 else {
            throw UsageError(.badValue, "say one of --account, --product and --all")
        }
        var body: JSONObject = [:]
        if let account { body["account"] = .string(account) }
        if let product { body["product"] = .string(product) }
        if all { body["all"] = true }
        _ = try await HomeClient(options).call(.post, "/admin/v1/credentials/revoke", .object(body))
    }
}
