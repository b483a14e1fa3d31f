// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct ThrottleCommand: Command {
    static let name = "throttle"
    static let abstract = "Delays after failed sign-ins."
    static let subcommands: [any Command.Type] = [ThrottleClear.self]
}

struct ThrottleClear: HomeCommand {
    var options = HomeOptions()
    var account: String?
    var network: String?
    var all = false

    static let name = "clear"
    static let abstract = "Clear the sign-in delay of an account, of a network, or all delays."
    static let discussion = """
        The account need not exist: names known to an upstream system are counted too. With both options, both counters are \
        cleared. The audit log records it.
        """
    static let examples = [
        Example("carrel throttle clear --account alice", "Lets alice sign in again, from any network."),
        Example("carrel throttle clear --network 192.0.2.1", "Lets everyone behind that address sign in again."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.account, "--account", value: "name", help: "The name, as typed at sign-in."),
            .option(\.network, "--network", value: "address", help: "An IP address; for IPv6, its /64."),
            .flag(\.all, "--all", help: "Every account and network."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard all != (account != nil || network != nil) else {
            throw UsageError(.badValue, "give --account, --network or both, or --all alone")
        }
        var body: JSONObject = [:]
        if let account { body["account"] = .string(account) }
        if let network { body["network"] = .string(network) }
        if all { body["all"] = true }
        let answer = try await call(.post, "/admin/v1/throttle/clear", .object(body))
        if options.json { return console.print(answer) }
        console.note("cleared: \(answer["cleared"]?.int ?? 0)")
    }
}
