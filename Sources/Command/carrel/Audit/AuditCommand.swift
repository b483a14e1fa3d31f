// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct AuditCommand: Command {
    static let name = "audit"
    static let abstract = "The audit log: who did what, and when."
    static let subcommands: [any Command.Type] = [AuditList.self, AuditVerify.self, AuditArchiveCommand.self]
}

struct AuditList: ListCommand {
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
            .option(\.subject, "--about", value: "id", help: "Only entries in which this id is actor or subject."),
            .option(\.account, "--account", value: "name", help: "Only entries in which this account is actor or subject."),
            .option(\.actor, "--by", value: "id", help: "Only entries with this actor."),
            .option(\.outcome, "--outcome", value: "outcome", help: "Only entries with this outcome."),
            .option(\.until, "--until", help: "Only before this instant."),
            .option(\.action, "--action", value: "action", help: "Only this action, such as session.start."),
            .option(\.since, "--since", help: "Only from this instant on."),
            .option(\.limit, "--limit", help: "Maximum number.", allowed: .range(1...1000)),
        ] + Parameter.group(\.options)

    static let rows = "entries"
    static let columns: ListColumns = [
        "AT": "at", "ACTOR": "actor", "ACTION": "action", "SUBJECT": "subject", "OUTCOME": "outcome",
        "REASON": .text { entry in
            let count = entry["count"]?.int ?? 1
            let parts = [entry["reason"]?.string ?? "", count > 1 ? "(\(count) times)" : ""]
            return parts.filter { !$0.isEmpty }.joined(separator: " ")
        },
    ]

    func list() async throws -> JSON {
        var query = "limit=\(limit)"
        if let subject { query += "&subject=\(PercentEncoding.encode(subject))" }
        for (name, value) in [("account", account), ("actor", actor), ("outcome", outcome), ("until", until?.description)] {
            if let value { query += "&\(name)=\(PercentEncoding.encode(value))" }
        }
        if let action { query += "&action=\(PercentEncoding.encode(action))" }
        if let since { query += "&since=\(PercentEncoding.encode(since.description))" }
        return try await call(.get, "/admin/v1/audit?\(query)")
    }
}

struct AuditVerify: HomeCommand {
    var options = HomeOptions()
    var archives: [String] = []

    static let name = "verify"
    static let abstract = "Check that the audit log is unchanged."
    static let discussion = """
        Each entry is sealed together with the one before it; exits with status 65 if a seal is broken. Archives are \
        verified too: each must continue the one before it, and the log the last one.
        """
    static let examples = [
        Example("carrel audit verify", "Verifies the log."),
        Example("carrel audit verify --archive 2025.jsonl --archive 2026.jsonl", "Verifies two archives and the log."),
    ]
    static let parameters: [Parameter<Self>] =
        [.option(\.archives, "--archive", value: "file", help: "An archive to verify as well, the oldest first.")]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        var last: AuditArchiveFile.Verified?
        for path in archives {
            let found = try await AuditArchiveFile(path).verify(client, after: last?.end)
            if !options.json { console.print("\(found.entries) entries in \(path), all seals match") }
            last = found
        }
        if let last, !last.joins {
            throw ServiceProblem.unsealed("the audit log does not continue the last archive")
        }
        let answer = try await client.call(.post, "/admin/v1/audit/verify")
        if options.json { console.print(answer) }
        guard answer["intact"]?.bool == true else {
            let number = answer["firstBroken"]?.int ?? 0
            throw ServiceProblem.unsealed("row \(number) of the log does not match its seal")
        }
        if !options.json { console.print("\(answer["entries"]?.int ?? 0) entries, all seals match") }
    }
}
