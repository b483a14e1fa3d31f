// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelSubscription

struct PlanCommand: Command {
    static let name = "plan"
    static let abstract = "Subscription plans: create, grant, end."
    static let subcommands: [any Command.Type] = [
        PlanCreate.self, PlanList.self, PlanGrant.self, PlanEnd.self, PlanRevoke.self, PlanGive.self,
        PlanTakeBack.self,
    ]
}

extension Plan.Scope: TextValue {}
extension Purchase.Kind: TextValue {}

struct PlanCreate: HomeCommand {
    var options = HomeOptions()
    var plan = ""
    var scope = Plan.Scope.everything
    var graceIssues = 0
    var deviceLimit: Int?
    var products: [String] = []

    static let name = "create"
    static let abstract = "Create a plan."
    static let discussion = """
        Scope 'everything' grants every product while the plan runs. Scope 'issues' grants, permanently, the issues published while it \
        runs, and a number of grace issues after its end. Scope 'listed' grants the listed products.
        """
    static let examples = [
        Example("carrel plan create gold", "Creates a plan that grants everything while it runs."),
        Example(
            "carrel plan create print --scope issues --grace-issues 2",
            "Creates one that grants the issues published meanwhile, and two more."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.plan, "plan", help: "The plan's name."),
            .option(\.scope, "--scope", help: "What the plan grants."),
            .option(
                \.graceIssues,
                "--grace-issues",
                help: "Number of issues granted after the end, for scope 'issues'.",
                allowed: .range(0...1000)
            ),
            .option(\.deviceLimit, "--device-limit", help: "Device limit of each subscriber."),
            .option(\.products, "--product", value: "id", help: "A product to grant, for scope 'listed'."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        var body: JSONObject = [
            "name": .string(plan), "scope": .string(scope.rawValue), "graceIssues": .integer(graceIssues),
            "products": .array(products.map { .string($0) }),
        ]
        if let deviceLimit { body["deviceLimit"] = .integer(deviceLimit) }
        let made = try await call(.post, "/admin/v1/plans", .object(body))
        options.json ? console.print(made) : console.note("the plan \(plan) is created")
    }
}

struct PlanList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List plans."

    static let rows = "plans"
    static let columns: ListColumns = [
        "NAME": "name", "SCOPE": "scope", "GRACE ISSUES": .text { "\($0["graceIssues"]?.int ?? 0)" },
        "DEVICES": .text { $0["deviceLimit"]?.int.map { "\($0)" } ?? "" }, "PRODUCTS": .texts("products"),
    ]

    func list() async throws -> JSON { try await call(.get, "/admin/v1/plans") }
}

struct PlanGrant: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var plan = ""
    var start: Instant?
    var end: EndTime?
    var number: String?

    static let name = "grant"
    static let abstract = "Grant an account a plan."
    static let examples = [Example("carrel plan grant alice gold --end 2027-01-01T00:00:00Z", "Subscribes alice until then.")]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.plan, "plan", help: "The plan's name."),
            .option(\.start, "--start", help: "When it starts; default: now."),
            .option(\.end, "--end", help: "When it ends, such as 2027-01-31 or +14d; default: when you end it."),
            .option(\.number, "--number", help: "Your own number: repeating the command with it grants nothing twice."),
        ] + Parameter.group(\.options)

    func validate() throws(UsageError) { try end?.requireFuture(after: start, "--end") }

    func run(_ console: Console) async throws {
        var body: JSONObject = ["plan": .string(plan)]
        if let start { body["start"] = .string(start.description) }
        if let end { body["end"] = .string(end.written) }
        if let number { body["number"] = .string(number) }
        let made = try await call(.post, "/subscriptions", account: account, .object(body))
        options.json ? console.print(made) : console.print(made["id"]?.string ?? "")
    }
}

struct PlanEnd: HomeCommand {
    var options = HomeOptions()
    var id = ""
    var end: Instant?

    static let name = "end"
    static let abstract = "End a subscription."
    static let discussion = "'carrel explain NAME' lists an account's subscriptions with their ids."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.id, "id", help: "The subscription's id, as 'plan grant' printed it."),
            .option(\.end, "--at", help: "When it ends; default: now."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let body: JSON = end.map { ["at": .string($0.description)] } ?? [:]
        let path = "/admin/v1/subscriptions/\(PercentEncoding.encode(id))/end"
        _ = try await call(.post, path, body)
        console.note(end.map { "the subscription ends at \($0)" } ?? "the subscription has ended")
    }
}

struct PlanRevoke: HomeCommand {
    var options = HomeOptions()
    var id = ""

    static let name = "revoke"
    static let abstract = "Revoke a subscription and everything it granted."
    static let discussion = "'carrel explain NAME' lists an account's subscriptions with their ids."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The subscription's id, as 'plan grant' printed it.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.post, "/admin/v1/subscriptions/\(PercentEncoding.encode(id))/revoke")
        console.note("the subscription is revoked, with everything it granted")
    }
}

struct PlanGive: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var product = ""
    var kind = Purchase.Kind.purchase
    var end: EndTime?
    var number: String?

    static let name = "give"
    static let abstract = "Grant an account a single product."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.product, "product", help: "The product's id."),
            .option(\.kind, "--as", help: "How the account obtained it."),
            .option(\.end, "--end", help: "When it ends, such as 2027-01-31 or +14d; default: never."),
            .option(\.number, "--number", help: "Your own number: repeating the command with it grants nothing twice."),
        ] + Parameter.group(\.options)

    func validate() throws(UsageError) { try end?.requireFuture("--end") }

    func run(_ console: Console) async throws {
        var body: JSONObject = ["product": .string(product), "kind": .string(kind.rawValue)]
        if let end { body["end"] = .string(end.written) }
        if let number { body["number"] = .string(number) }
        let made = try await call(.post, "/purchases", account: account, .object(body))
        options.json ? console.print(made) : console.print(made["id"]?.string ?? "")
    }
}

struct PlanTakeBack: HomeCommand {
    var options = HomeOptions()
    var id = ""

    static let name = "take-back"
    static let abstract = "End a grant of 'plan give'."
    static let discussion = "'carrel explain NAME' lists an account's grants with their ids."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.id, "id", help: "The id, as 'plan give' printed it.")
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.post, "/admin/v1/purchases/\(PercentEncoding.encode(id))/end", [:])
        console.note("the grant has ended")
    }
}
