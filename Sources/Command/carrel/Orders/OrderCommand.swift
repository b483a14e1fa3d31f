// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer

struct OrderCommand: Command {
    static let name = "order"
    static let abstract = "Create, list and end orders."
    static let subcommands: [any Command.Type] = [
        OrderCreate.self, OrderList.self, OrderShow.self, OrderCancel.self, OrderReturn.self, OrderRevoke.self,
    ]
}

struct OrderCreate: HomeCommand {
    var options = HomeOptions()
    var title: String?
    var isbn: String?
    var account = ""
    var number: String?
    var kind = Order.Kind.sale
    var start: Instant?
    var end: EndTime?

    static let name = "create"
    static let abstract = "Order a title for an account."
    static let discussion = """
        Creates the account if it does not exist. Repeating the command with the same order number returns the same order.
        """
    static let examples = [
        Example("carrel order create --isbn 9780306406157 --account alice", "Sells a title without an end."),
        Example(
            "carrel order create --title ID --account bob --kind loan --end 2026-12-24T00:00:00Z",
            "Lends a title until an instant."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.title, "--title", value: "id", help: "The title's id."),
            .option(\.isbn, "--isbn", value: "isbn", help: "The title's ISBN, instead of its id."),
            .option(\.account, "--account", value: "name", help: "The account that receives the title.", required: true),
            .option(\.number, "--order-number", value: "number", help: "Your own number for the order; makes repeating safe."),
            .option(\.kind, "--kind", help: "A sale, or a loan with an end."),
            .option(\.start, "--start", help: "When it starts, such as 2026-12-24T00:00:00Z; default: now."),
            .option(\.end, "--end", help: "When it ends, such as 2026-12-24 or +14d; default: never. Required for a loan."),
        ] + Parameter.group(\.options)

    func validate() throws(UsageError) {
        if (title == nil) == (isbn == nil) {
            throw UsageError(.contradiction, "an order needs either --title or --isbn")
        }
        try end?.requireFuture(after: start, "--end")
    }

    func run(_ console: Console) async throws {
        var body: JSONObject = ["account": .string(account), "kind": .string(kind.rawValue)]
        if let title { body["title"] = .string(title) }
        if let isbn { body["isbn"] = .string(isbn) }
        if let number { body["orderNumber"] = .string(number) }
        if let start { body["start"] = .string(start.description) }
        if let end { body["end"] = .string(end.written) }
        let order = try await call(.post, "/v1/orders", .object(body))
        OrderText.print(order, options, console)
    }
}

struct OrderList: ListCommand {
    var options = HomeOptions()
    var account: String?
    var title: String?
    var number: String?
    var after: String?
    var limit = 100

    static let name = "list"
    static let abstract = "List orders, oldest first."
    static let parameters: [Parameter<Self>] =
        [
            .option(\.account, "--account", value: "name", help: "Only this account's."),
            .option(\.title, "--title", value: "id", help: "Only this title's."),
            .option(\.number, "--order-number", value: "number", help: "Only the one with this number."),
            .option(\.after, "--after", value: "mark", help: "Continue after this cursor, printed by an earlier list."),
            .option(\.limit, "--limit", help: "Maximum number, up to 1000."),
        ] + Parameter.group(\.options)

    static let rows = "orders"
    static let columns: ListColumns = [
        "ID": "id", "ACCOUNT": "account", "TITLE": "title", "KIND": "kind", "STATE": "state", "CREATED": "createdAt",
    ]

    func list() async throws -> JSON {
        var query = "limit=\(limit)"
        if let account { query += "&account=\(PercentEncoding.encode(account))" }
        if let title { query += "&title=\(PercentEncoding.encode(title))" }
        if let number { query += "&orderNumber=\(PercentEncoding.encode(number))" }
        if let after { query += "&after=\(PercentEncoding.encode(after))" }
        return try await call(.get, "/v1/orders?\(query)")
    }

    func hint(after answer: JSON) -> String? {
        answer["next"]?.string.map { "there may be more: continue with --after \($0)" }
    }
}

struct OrderShow: HomeCommand {
    var options = HomeOptions()
    var id = ""

    static let name = "show"
    static let abstract = "Show one order."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The order's id.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let order = try await call(.get, "/v1/orders/\(PercentEncoding.encode(id))")
        OrderText.print(order, options, console)
    }
}

/// The commands that end an order: they differ in a word.
protocol OrderEnding: HomeCommand {
    var id: String { get set }
}

extension OrderEnding {
    static var parameters: [Parameter<Self>] {
        [.positional(\.id, "id", help: "The order's id.")] + Parameter.group(\.options)
    }

    func run(_ console: Console) async throws {
        let order = try await call(.post, "/v1/orders/\(PercentEncoding.encode(id))/\(Self.name)")
        OrderText.print(order, options, console)
    }
}

struct OrderCancel: OrderEnding {
    var options = HomeOptions()
    var id = ""
    static let name = "cancel"
    static let abstract = "Cancel an order that has not been played or downloaded."
}

struct OrderReturn: OrderEnding {
    var options = HomeOptions()
    var id = ""
    static let name = "return"
    static let abstract = "Return a title before its end."
}

struct OrderRevoke: OrderEnding {
    var options = HomeOptions()
    var id = ""
    static let name = "revoke"
    static let abstract = "Revoke an order: its key and segments stop immediately."
}

/// An order as the command line shows it.
enum OrderText {
    static func print(_ order: JSON, _ options: HomeOptions, _ console: Console) {
        if options.json { return console.print(order) }
        var table = TextTable(["ORDER", ""])
        for (label, member) in [
            ("order", "id"), ("number", "orderNumber"), ("account", "account"), ("title", "title"), ("kind", "kind"),
            ("state", "state"), ("start", "start"), ("end", "end"), ("playlist", "playlist"),
        ] {
            if let value = order[member]?.string { table.add([label, value]) }
        }
        console.print(table)
    }
}
