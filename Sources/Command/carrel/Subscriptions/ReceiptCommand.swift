// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelReceipts
import CarrelServer
import CarrelSettings
import Glibc

struct ReceiptCommand: Command {
    static let name = "receipt"
    static let abstract = "App-store purchases: add to an account, list, remove."
    static let subcommands: [any Command.Type] = [ReceiptAdd.self, ReceiptList.self, ReceiptRelease.self]
}

struct ReceiptAdd: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var file = ""

    static let name = "add"
    static let abstract = "Add purchases signed by the store to an account."
    static let discussion = """
        The file contains signed transactions (JWS), separated by spaces, commas or line breaks. Each is checked separately: \
        signature and certificates, app, environment, and whether another account has the purchase.
        """
    static let examples = [
        Example("carrel receipt add alice transactions.txt", "Prints what each one grants, or why it is refused.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.file, "file", help: "The file with the signed transactions."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let texts = try Self.texts(in: file)
        let client = try await HomeClient(receipts: options, console)
        let body: JSON = ["transactions": .array(texts.map { .string($0) })]
        let answer = try await client.call(.post, try await client.accountPath(account) + "/receipts", body)
        options.json ? console.print(answer) : console.print(ListColumns.receipts.table(answer["transactions"]))
    }

    private static func texts(in path: String) throws -> [String] {
        guard let stream = unsafe fopen(path, "re") else { throw ServerError(.notFound, "\(path) cannot be read") }
        defer { unsafe fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, stream)
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        return text.split(whereSeparator: { $0 == "," || $0.isWhitespace }).map(String.init)
    }
}

struct ReceiptList: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "list"
    static let abstract = "List an account's purchases as the store last reported them, the oldest first."

    func run(_ console: Console) async throws {
        let client = try await HomeClient(receipts: options, console)
        let answer = try await client.call(.get, try await client.accountPath(account) + "/receipts")
        options.json ? console.print(answer) : console.print(ListColumns.receipts.table(answer["transactions"]))
    }
}

struct ReceiptRelease: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var original = ""
    var store = StoreEnvironment.production

    static let name = "release"
    static let abstract = "Remove a purchase from an account, so that another account can add it."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.original, "id", help: "The original transaction's id, as 'receipt list' shows it."),
            .option(\.store, "--store", help: "The store's environment."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.delete, "/receipts/\(store.rawValue)/\(PercentEncoding.encode(original))", account: account)
    }
}

extension HomeClient {
    /// Without a running server, the receipt settings of the home apply.
    fileprivate init(receipts options: HomeOptions, _ console: Console) async throws {
        let overrides = SettingOverrides<ServeSettings>()
        let loaded = try LoadedSettings(home: try options.find(), overrides: overrides, console: console).values
        var settings = CarrelService.Settings()
        settings.receipts = try loaded.receipts.service()
        try await self.init(options, settings)
    }
}

extension ListColumns {
    /// Transactions with what they give, or why they do not.
    fileprivate static let receipts: ListColumns = [
        "STATUS": .text { $0["code"]?.string ?? $0["status"]?.string ?? "" }, "TRANSACTION": "transactionId",
        "ORIGINAL": "originalTransactionId", "BOUGHT": "storeProduct",
        "GIVES": .text { one in
            one["plan"]?.string.map { "plan \($0)" } ?? one["product"]?.string ?? one["detail"]?.string ?? ""
        },
        "UNTIL": "end",
    ]
}
