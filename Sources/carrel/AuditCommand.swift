import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct AuditCommand: Command {
    static let name = "audit"
    static let abstract = "The record of who did what."
    static let subcommands: [any Command.Type] = [AuditList.self, AuditVerify.self]
}

struct AuditList: Command {
    var options = HomeOptions()
    var subject: String?
    var account: String?
    var actor: String?
    var outcome: String?
    var until: Instant?
    var action: String?
    var since: Instant?
    var limit = 100

    static let name = "list"
    static let abstract = "List entries, the newest first."
    static let parameters: [Parameter<Self>] =
        [
            .option(\.subject, "--about", value: "id", help: "Only what this id did, or was done to it."),
            .option(\.account, "--account", value: "name", help: "Only what this account did, or was done to it."),
            .option(\.actor, "--by", value: "id", help: "Only what this id did."),
            .option(\.outcome, "--outcome", value: "outcome", help: "Only what was allowed, refused, or failed."),
            .option(\.until, "--until", help: "Only before this instant."),
            .option(\.action, "--action", value: "action", help: "Only this action, such as session.start."),
            .option(\.since, "--since", help: "Only from this instant on."),
            .option(\.limit, "--limit", help: "At most this many.", allowed: .range(1...1000)),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        var query = "limit=\(limit)"
        if let subject { query += "&subject=\(PercentEncoding.encode(subject))" }
        for (name, value) in [("account", account), ("actor", actor), ("outcome", outcome), ("until", until?.description)] {
            if let value { query += "&\(name)=\(PercentEncoding.encode(value))" }
        }
        if let action { query += "&action=\(PercentEncoding.encode(action))" }
        if let since { query += "&since=\(PercentEncoding.encode(since.description))" }
        let answer = try await HomeClient(options).call(.get, "/admin/v1/audit?\(query)")
        if options.json { return console.print(answer) }
        var table = TextTable(["AT", "ACTOR", "ACTION", "SUBJECT", "OUTCOME", "REASON"].map { TextTable.Column($0) })
        for entry in answer["entries"]?.array ?? [] {
            table.add(["at", "actor", "action", "subject", "outcome", "reason"].map { entry[$0]?.string ?? "" })
        }
        console.print(table)
    }
}

struct AuditVerify: Command {
    var options = HomeOptions()

    static let name = "verify"
    static let abstract = "Check that the record is as it was written."
    static let discussion = "Every entry is sealed together with the one before it; ends with status 65 when a seal is broken."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.post, "/admin/v1/audit/verify")
        if options.json { console.print(answer) }
        guard answer["intact"]?.bool == true else {
            let number = answer["firstBroken"]?.int ?? 0
            throw ServiceProblem(status: 409, problem: ["detail": .string("row \(number) of the log is not what was sealed")])
        }
        if !options.json { console.print("\(answer["entries"]?.int ?? 0) entries, as they were sealed") }
    }
}
