import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct ExplainCommand: Command {
    var options = HomeOptions()
    var account = ""
    var product: String?

    static let name = "explain"
    static let abstract = "Say why an account may or may not read something, rule by rule."
    static let discussion = "Without a product, lists what the account holds."
    static let examples = [
        Example("carrel explain alice com.example.issue-7", "Tells which rule grants the issue, or why none does.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.product, "product", help: "The product's id."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        var path = try await client.accountPath(account) + "/entitlement"
        if let product { path += "?product=\(PercentEncoding.encode(product))" }
        let answer = try await client.call(.get, path)
        if options.json { return console.print(answer) }
        product == nil ? printHoldings(answer, console) : printFindings(answer, console)
    }

    private func printFindings(_ answer: JSON, _ console: Console) {
        let verdict = answer["verdict"]?.string ?? ""
        console.print(verdict + (answer["rule"]?.string.map { " by \($0)" } ?? ""))
        if answer["state"]?.string == nil { return console.print("the catalog has no such product") }
        if let state = answer["state"]?.string, state != "published" { console.print("the product is \(state)") }
        var table = TextTable(["RULE", "SAYS", "BECAUSE"].map { TextTable.Column($0) })
        for finding in answer["findings"]?.array ?? [] {
            table.add(["rule", "effect", "reason"].map { finding[$0]?.string ?? "" })
        }
        console.print(table)
    }

    private func printHoldings(_ answer: JSON, _ console: Console) {
        if answer["suspended"]?.bool == true { console.print("the account is suspended") }
        var table = TextTable(["ID", "WHAT", "START", "END"].map { TextTable.Column($0) })
        for held in answer["subscriptions"]?.array ?? [] {
            table.add([
                held["id"]?.string ?? "", "plan \(held["plan"]?.string ?? "")", held["start"]?.string ?? "",
                held["end"]?.string ?? "",
            ])
        }
        for held in answer["purchases"]?.array ?? [] {
            table.add([
                held["id"]?.string ?? "", "\(held["kind"]?.string ?? "") \(held["product"]?.string ?? "")", "",
                held["end"]?.string ?? "",
            ])
        }
        console.print(table)
    }
}
