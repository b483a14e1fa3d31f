// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct AccountCreate: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var readsPassword = false
    var deviceLimit: Int?

    static let name = "create"
    static let abstract = "Create an account."
    static let discussion = "Without a password, the reader signs in with a link ('carrel account sign-in-link')."
    static let examples = [
        Example("carrel account create alice --password-stdin < password.txt", "Creates an account that signs in by password.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name, as typed at sign-in."),
            .flag(\.readsPassword, "--password-stdin", help: "Read the password from standard input: 8 to 256 characters."),
            .option(\.deviceLimit, "--device-limit", help: "Maximum number of devices signed in at the same time."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        var body: JSONObject = ["name": .string(account)]
        if readsPassword { body["password"] = .string(try PasswordInput.read(console)) }
        if let deviceLimit { body["deviceLimit"] = .integer(deviceLimit) }
        let made = try await call(.post, "/admin/v1/accounts", .object(body))
        show(made, as: made["id"]?.string ?? "", console)
    }
}

struct AccountList: ListCommand {
    var options = HomeOptions()
    var limit = 100
    var find: String?

    static let name = "list"
    static let abstract = "List accounts, the oldest first."
    static let parameters: [Parameter<Self>] =
        [
            .option(\.find, "--find", value: "text", help: "Only accounts whose names contain this text."),
            .option(\.limit, "--limit", help: "Maximum number.", allowed: .range(1...1000)),
        ] + Parameter.group(\.options)

    static let rows = "accounts"
    static let columns: ListColumns = ["ID": "id", "NAME": "name", "STATE": .accountState, "CREATED": "createdAt"]

    func list() async throws -> JSON {
        let filter = find.map { "&find=\(PercentEncoding.encode($0))" } ?? ""
        return try await call(.get, "/admin/v1/accounts?limit=\(limit)\(filter)")
    }
}

struct AccountShow: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "show"
    static let abstract = "Show an account: its state, role and sessions."

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        let path = try await client.accountPath(account)
        let (known, role) = (try await client.call(.get, path), try await client.call(.get, "\(path)/role"))
        let sessions = try await client.call(.get, "\(path)/sessions")["sessions"] ?? []
        if options.json { return console.print(["account": known, "role": role["role"] ?? .null, "sessions": sessions]) }
        let state = known["suspended"]?.bool == true ? "suspended" : "open"
        console.print("\(known["name"]?.string ?? "")  \(role["role"]?.string ?? "")  \(state)  \(known["id"]?.string ?? "")")
        if let limit = known["deviceLimit"]?.int { console.print("device limit: \(limit)") }
        let columns: ListColumns = ["SESSION": "id", "SINCE": "createdAt", "SEEN": "seenAt", "UNTIL": "expiresAt"]
        console.print(columns.table(sessions))
    }
}

struct AccountPassword: HomeCommand {
    var options = HomeOptions()
    var account = ""
    /// Always read from standard input; the flag exists for consistency with 'account create'.
    var readsPassword = false

    static let name = "password"
    static let abstract = "Set an account's password from standard input, and end all its sessions."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .flag(\.readsPassword, "--password-stdin", help: "Read the password from standard input, as without this flag."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let password = try PasswordInput.read(console)
        try await HomeClient(options).change(account, ["password": .string(password)], options, console)
        console.note("the password of \(account) is set, and all sessions have ended")
    }
}

struct AccountSuspend: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "suspend"
    static let abstract = "Suspend an account: nothing is granted until it is resumed."

    func run(_ console: Console) async throws {
        try await HomeClient(options).change(account, ["suspended": true], options, console)
        console.note("\(account) is suspended")
    }
}

struct AccountResume: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "resume"
    static let abstract = "Resume a suspended account."

    func run(_ console: Console) async throws {
        try await HomeClient(options).change(account, ["suspended": false], options, console)
        console.note("\(account) is resumed")
    }
}

struct AccountDeviceLimit: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var limit = ""

    static let name = "device-limit"
    static let abstract = "Set an account's device limit."
    static let discussion =
        "With 'default', the limit of its plan or subscription.device-limit applies. Devices that are already signed in stay: 'device revoke' signs them out."
    static let examples = [Example("carrel account device-limit alice 6", "Lets alice sign in on six devices.")]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.limit, "limit", help: "A number, or default."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let number = Int(limit)
        guard limit == "default" || number.map({ $0 >= 0 }) == true else {
            throw UsageError(.badValue, "expected a number of devices or 'default', not '\(limit)'")
        }
        let body: JSON = ["deviceLimit": number.map { .integer($0) } ?? .null]
        try await HomeClient(options).change(account, body, options, console)
        console.note(number.map { "the device limit of \(account) is \($0)" } ?? "\(account) has the default device limit")
    }
}

extension HomeClient {
    /// The path of an account's resources, by its name.
    ///
    /// - Throws: ``ServiceProblem`` if there is no such account.
    func accountPath(_ name: String) async throws -> String {
        let found = try await call(.get, "/admin/v1/accounts?name=\(PercentEncoding.encode(name))")
        guard let id = found["accounts"]?.array?.first?["id"]?.string else {
            throw ServiceProblem(status: 404, problem: ["detail": .string("there is no account '\(name)'")])
        }
        return "/admin/v1/accounts/\(id)"
    }

    fileprivate func change(_ name: String, _ body: JSON, _ options: HomeOptions, _ console: Console) async throws {
        let changed = try await call(.patch, try await accountPath(name), body)
        if options.json { console.print(changed) }
    }
}
