import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct ThrottleCommand: Command {
    static let name = "throttle"
    static let abstract = "The waits after failed sign-ins."
    static let subcommands: [any Command.Type] = [ThrottleClear.self]
}

struct ThrottleClear: Command {
    var options = HomeOptions()
    var account: String?
    var network: String?
    var all = false

    static let name = "clear"
    static let abstract = "End the waits after failed sign-ins of an account, of a network, or all of them."
    static let discussion = """
        The account need not exist: names that an upstream system knows count too. With an account and a network, the counters of \
        each of the two are removed. The audit log records it.
        """
    static let examples = [
        Example("carrel throttle clear --account alice", "Lets alice sign in again, wherever she is."),
        Example("carrel throttle clear --network 192.0.2.1", "Lets everyone behind that address sign in again."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.account, "--account", value: "name", help: "The name as it is typed at sign-in."),
            .option(\.network, "--network", value: "address", help: "An address; of IPv6 its /64 counts."),
            .flag(\.all, "--all", help: "Every account and network."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        guard all != (account != nil || network != nil) else {
            throw UsageError(.badValue, "give --account, --network or both, or --all alone")
        }
        var body: JSONObject = [:]
        if let account { body["account"] = .string(account) }
        if let network { body["network"] = .string(network) }
        if all { body["all"] = true }
        let answer = try await HomeClient(options).call(.post, "/admin/v1/throttle/clear", .object(body))
        if options.json { return console.print(answer) }
        console.note("cleared: \(answer["cleared"]?.int ?? 0)")
    }
}
