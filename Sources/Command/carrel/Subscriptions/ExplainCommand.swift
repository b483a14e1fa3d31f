// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelSettings

struct ExplainCommand: HomeCommand {
    var options = HomeOptions()
    var account: String?
    var title: String?
    var license: String?

    static let name = "explain"
    static let abstract =
        "Explain why an account may or may not read or listen to a title, or why a license is as it is, rule by rule."
    static let discussion =
        """
        For a product, queries every source in the order of subscription.sources; for an audiobook, checks the account's orders. \
        Without a title, lists the account's plans, purchases and orders. For a license, checks its player, certificate, redemption, order, \
        lease and revocation, and lists the player's newest denials since it has the license.
        """
    static let examples = [
        Example("carrel explain alice com.example.issue-7", "Prints which rule grants the issue, or why none does."),
        Example("carrel explain alice 9780306406157", "Prints which order grants the audiobook, or why none does."),
        Example("carrel explain --license ID --json", "Says whether a player's license is live, ended or denied, and why."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.title, "title", help: "A product id, a title id, or an audiobook's ISBN."),
            .option(\.license, "--license", value: "id", help: "Explain a license instead."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        if let license {
            guard account == nil else { throw UsageError(.badValue, "give the name of an account or --license, not both") }
            return try await explain(license: license, console)
        }
        guard let account else { throw UsageError(.badValue, "give the name of an account, or --license") }
        guard let title else {
            let client = try await HomeClient(options)
            let answer = try await client.call(.get, try await client.accountPath(account) + "/entitlement")
            return options.json ? console.print(answer) : printHoldings(answer, console)
        }
        // Use the server's sources, even if none is running.
        let home = try options.find()
        let settings = try LoadedSettings<ServeSettings>(home: home, overrides: SettingOverrides(), console: console).values
        var chosen = settings.service
        chosen.subscription.sources = try UpstreamFiles(home: home, settings, console: console).sources
        let client = try await HomeClient(options, chosen)
        let query = "name=\(PercentEncoding.encode(account))&product=\(PercentEncoding.encode(title))"
        let answer = try await client.call(.get, "/admin/v1/explanations?\(query)")
        let sources = answer["sources"]?.array ?? []
        guard sources.contains(where: { $0["knows"]?.bool == true }) else {
            throw ServiceProblem(status: 404, problem: ["detail": .string("no entitlement source knows '\(account)'")])
        }
        if options.json { return console.print(answer) }
        let titles = answer["titles"]?.array ?? []
        for title in titles { console.print("audiobook \(title["title"]?.string ?? "")") }
        if titles.isEmpty, answer["state"]?.string == nil { console.print("the catalog has no such product") }
        if let state = answer["state"]?.string, state != "published" { console.print("the product is \(state)") }
        for source in sources { printFindings(source, isAlone: sources.count == 1, console) }
    }

    private static let findings: ListColumns = ["RULE": "rule", "SAYS": "effect", "BECAUSE": "reason"]

    private func explain(license: String, _ console: Console) async throws {
        let path = "/admin/v1/licenses/\(PercentEncoding.encode(license))/explanation"
        let answer = try await call(.get, path)
        if options.json { return console.print(answer) }
        let known = answer["license"]
        console.print("license \(license): \(answer["verdict"]?.string ?? "")")
        console.print("content \(known?["contentId"]?.string ?? ""), player \(known?["player"]?.string ?? "")")
        console.print(Self.findings.table(answer["findings"]))
        guard answer["denials"]?.array?.isEmpty == false else { return }
        let columns: ListColumns = ["DENIED": "at", "CODE": "code", "MEANING": "explanation"]
        console.print(columns.table(answer["denials"]))
    }

    private func printFindings(_ source: JSON, isAlone: Bool, _ console: Console) {
        let start = isAlone ? "" : "\(source["name"]?.string ?? ""): "
        guard source["knows"]?.bool == true else { return console.print("\(start)no such account") }
        let verdict = source["verdict"]?.string ?? ""
        console.print("\(start)\(verdict)" + (source["rule"]?.string.map { " by \($0)" } ?? ""))
        if let grant = source["lastGrant"], let at = grant["at"]?.string, let rule = grant["rule"]?.string {
            console.print("credentials were last issued at \(at), by \(rule)")
        }
        console.print(Self.findings.table(source["findings"]))
    }

    private func printHoldings(_ answer: JSON, _ console: Console) {
        if answer["suspended"]?.bool == true { console.print("the account is suspended") }
        var table = TextTable(["ID", "WHAT", "START", "END"])
        for held in answer["subscriptions"]?.array ?? [] {
            table.add([
                held["id"]?.string ?? "", "plan \(held["plan"]?.string ?? "")", held["start"]?.string ?? "",
                held["revokedAt"]?.string.map { "revoked at \($0)" } ?? held["end"]?.string ?? "",
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
