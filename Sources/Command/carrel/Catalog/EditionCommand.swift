// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer

struct EditionCommand: Command {
    static let name = "edition"
    static let abstract = "Editions: list, change, publish, withdraw."
    static let subcommands: [any Command.Type] = [
        EditionList.self, EditionShow.self, EditionPublish.self, EditionWithdraw.self, EditionSet.self,
    ]
}

struct EditionList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the editions, the newest issue first."

    static let rows = "editions"
    static let columns: ListColumns = [
        "PRODUCT": .text { $0["edition"]?["productId"]?.string ?? "" }, "TITLE": .shrinking("title"), "KIND": "kind",
        "PRICE": .text { $0["edition"]?["price"]?.string ?? "" }, "STATE": .text { $0["edition"]?["state"]?.string ?? "" },
        "ISSUED": .text { String(($0["edition"]?["issuedAt"]?.string ?? "").prefix(10)) },
    ]

    func list() async throws -> JSON { try await HomeClient(options).pages("/admin/v1/editions", Self.rows) }
}

/// A command on one edition, which is the response of each call.
private protocol OneEditionCommand: HomeCommand {
    var product: String { get set }
}

extension OneEditionCommand {
    static var parameters: [Parameter<Self>] {
        [.positional(\.product, "product", help: "The product's id.")] + Parameter.group(\.options)
    }

    fileprivate func call(_ method: HTTPMethod, _ rest: String = "", _ body: JSON? = nil) async throws -> JSON {
        try await call(method, "/admin/v1/editions/\(PercentEncoding.encode(product))\(rest)", account: nil, body)
    }
}

struct EditionShow: OneEditionCommand {
    var options = HomeOptions()
    var product = ""

    static let name = "show"
    static let abstract = "Show an edition and its resources."

    func run(_ console: Console) async throws {
        console.print(try await call(.get))
    }
}

struct EditionPublish: OneEditionCommand {
    var options = HomeOptions()
    var product = ""

    static let name = "publish"
    static let abstract = "Publish a draft or a withdrawn edition."

    func run(_ console: Console) async throws {
        let made = try await call(.post, "/publish")
        options.json ? console.print(made) : console.note("\(product) is published")
    }
}

struct EditionWithdraw: OneEditionCommand {
    var options = HomeOptions()
    var product = ""

    static let name = "withdraw"
    static let abstract = "Withdraw an edition: stop downloads and tell apps to remove it."

    func run(_ console: Console) async throws {
        let made = try await call(.post, "/withdraw")
        options.json
            ? console.print(made)
            : console.note("\(product) is withdrawn: downloads have stopped, and feeds tell apps to remove it")
    }
}

struct EditionSet: OneEditionCommand {
    var options = HomeOptions()
    var product = ""
    var title: String?
    var subtitle: String?
    var authors: [String] = []
    var publisher: String?
    var language: String?
    var about: String?
    var price: Edition.Price?
    var licensed: Edition.Licensed?
    var issued: Instant?
    var published: Instant?
    var samples: [String] = []
    var noSamples = false

    static let name = "set"
    static let abstract = "Change an edition's metadata."
    static let discussion =
        "Options left out change nothing. To replace the contents, run 'carrel ingest' with the same product id."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.product, "product", help: "The product's id."),
            .option(\.title, "--title", value: "text", help: "The title."),
            .option(\.subtitle, "--subtitle", value: "text", help: "The subtitle."),
            .option(\.authors, "--author", value: "name", help: "An author; replaces the current authors."),
            .option(\.publisher, "--publisher", value: "name", help: "The publisher."),
            .option(\.language, "--language", value: "tag", help: "The language, such as en."),
            .option(\.about, "--description", value: "text", help: "The description."),
            .option(\.price, "--price", help: "free for all readers, or paid for entitled ones."),
            .option(
                \.licensed,
                "--licensed",
                help: "Publish it as a protected file (DCF) for license holders: off, also, or only, without the clear file."
            ),
            .option(\.issued, "--issued", help: "When the issue came out."),
            .option(\.published, "--published", help: "When it was first published."),
            .option(\.samples, "--sample", value: "pattern", help: "Pattern of free resources; replaces the current patterns."),
            .flag(\.noSamples, "--no-samples", help: "Remove all free resources."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        var body: JSONObject = [:]
        let texts = [
            ("title", title), ("subtitle", subtitle), ("publisher", publisher), ("language", language), ("description", about),
        ]
        for (name, text) in texts { if let text { body[name] = .string(text) } }
        if !authors.isEmpty { body["authors"] = .array(authors.map { .string($0) }) }
        if let price { body["price"] = .string(price.rawValue) }
        if let licensed { body["licensed"] = .string(licensed.rawValue) }
        if let issued { body["issuedAt"] = .string(issued.description) }
        if let published { body["publishedAt"] = .string(published.description) }
        if !samples.isEmpty || noSamples { body["samples"] = .array(samples.map { .string($0) }) }
        let made = try await call(.patch, "", .object(body))
        options.json ? console.print(made) : console.note("\(product) is changed")
    }
}
