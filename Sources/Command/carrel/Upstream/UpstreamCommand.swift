// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelEntitlementSources
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelSettings

struct UpstreamCommand: Command {
    static let name = "upstream"
    static let abstract = "Upstream systems that decide who may read what."
    static let subcommands: [any Command.Type] = [UpstreamCheckCommand.self, UpstreamShow.self, UpstreamForget.self]
}

struct UpstreamCheckCommand: HomeCommand {
    var options = HomeOptions()
    var system = ""
    var user: String?
    var readsPassword = false
    var product = "com.example.issue-1"

    static let name = "check"
    static let abstract = "Test whether an upstream system can be an entitlement source."
    static let discussion = """
        Reads upstream/NAME.conf in the home; it need not be in subscription.sources yet, and no server need run. Sends requests for \
        a user who does not exist, who must get nothing, and with --user for a subscriber, who is signed in and out again. \
        Exits with status 65 if a response is wrong, and with 75 if there is none.
        """
    static let examples = [
        Example("carrel upstream check bureau", "Checks that the system responds and refuses an unknown user."),
        Example(
            "carrel upstream check bureau --user ann@example.org --password-stdin --product com.example.issue-7 < secret",
            "Also checks its responses for a subscriber."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.system, "name", help: "Name of the file, without .conf."),
            .option(\.user, "--user", value: "name", help: "A subscriber known to the system."),
            .flag(\.readsPassword, "--password-stdin", help: "Read the subscriber's password from standard input."),
            .option(\.product, "--product", value: "id", help: "A product to check."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard UpstreamFile.isName(system) else {
            throw UsageError(.badValue, "the name of an upstream system has lower-case letters, digits and '-'")
        }
        guard (user != nil) == readsPassword else { throw UsageError(.badValue, "--user and --password-stdin go together") }
        let home = try options.find()
        guard let file = try SettingsFile.read(home.upstreamSettingsPath(system)) else {
            throw ServerError(.notFound, "there is no file \(home.upstreamSettingsPath(system))")
        }
        let loaded = try LoadedSettings<UpstreamFile>(file: file)
        for warning in loaded.warnings { console.warning(warning) }
        let check = try UpstreamCheck(loaded.values.settings(name: system), product: product)
        let subscriber = try user.map { UpstreamCheck.Subscriber(name: $0, password: try PasswordInput.read(console)) }
        let findings = await check.run(subscriber)
        options.json ? console.print(["calls": .array(findings.map(Self.json))]) : print(findings, console)
        let verdicts = findings.map(\.verdict)
        if verdicts.contains(.wrong) {
            throw ServiceProblem(status: 422, problem: ["detail": .string("'\(system)' cannot be a source: a response is wrong")])
        }
        if verdicts.contains(.failed) {
            throw ServiceProblem(status: 503, problem: ["detail": .string("'\(system)' did not respond to every call")])
        }
    }

    private func print(_ findings: [UpstreamCheck.Finding], _ console: Console) {
        var table = TextTable(["CALL", "ABOUT", "ANSWER", "TIME", ""])
        for finding in findings {
            let time = "\(Self.milliseconds(finding.duration)) ms"
            table.add([finding.call, finding.about, finding.answer, time, finding.verdict.rawValue])
        }
        console.print(table)
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    }

    private static func json(_ finding: UpstreamCheck.Finding) -> JSON {
        [
            "call": .string(finding.call), "about": .string(finding.about), "verdict": .string(finding.verdict.rawValue),
            "answer": .string(finding.answer), "milliseconds": .integer(milliseconds(finding.duration)),
        ]
    }
}
