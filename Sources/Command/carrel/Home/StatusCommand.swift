// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelThreads

struct StatusCommand: HomeCommand {
    var options = HomeOptions()
    var step = "hour"
    var count = 24

    static let name = "status"
    static let abstract = "Show server health and recent activity."
    static let discussion = "Activity is kept in the server's memory: while no server runs, there is none."
    static let parameters: [Parameter<Self>] =
        [
            .option(\.step, "--by", value: "step", help: "Length of a step: minute or hour."),
            .option(\.count, "--last", value: "number", help: "Number of steps to show.", allowed: .range(1...336)),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        // Without a server, opening the home takes as long as opening its database.
        guard let client = try await within(.milliseconds(1800), { [options] in try await HomeClient(options) }) else {
            throw StoreError(.unavailable, "the database does not respond")
        }
        let health = try await client.call(.get, "/admin/v1/health")
        let target = "/admin/v1/statistics?by=\(PercentEncoding.encode(step))&count=\(count)"
        let statistics = try await client.call(.get, target)
        if options.json { return console.print(["health": health, "statistics": statistics]) }
        let database = health["database"]
        console.print(
            "\(health["ready"]?.bool == true ? "ready" : "not ready"), version \(health["version"]?.string ?? ""), "
                + "\(database?["engine"]?.string ?? "") schema \(database?["schema"]?.int ?? 0), "
                + "\((health["disk"]?["freeBytes"]?.int ?? 0) >> 20) MiB free, \(health["listeners"]?.int ?? 0) listeners"
        )
        if let state = database?["state"]?.string, state != "available" { console.print("database: \(state)") }
        for warning in health["warnings"]?.array ?? [] { console.print("warning: \(warning.string ?? "")") }
        for source in health["sources"]?.array ?? [] where source["state"] != nil {
            console.print(Self.line(about: source))
        }
        let names = ["signIns", "browserSignIns", "streams", "segments", "positions", "credentials"]
        var table = TextTable([
            "FROM", "SIGN-INS", "BROWSER SIGN-INS", "STREAMS", "SEGMENTS", "POSITIONS", "CREDENTIALS", "REFUSALS",
        ])
        for slot in statistics["slots"]?.array ?? [] {
            let refusals = (slot["refusals"]?.object ?? [:]).map { "\($0.0) \($0.1.int ?? 0)" }.joined(separator: ", ")
            let counts = names.map { slot[$0]?.int ?? 0 }
            guard counts.contains(where: { $0 > 0 }) || !refusals.isEmpty else { continue }
            table.add([slot["at"]?.string ?? ""] + counts.map { String($0) } + [refusals])
        }
        console.print(table)
    }

    /// The state of an upstream system, in one line.
    private static func line(about source: JSON) -> String {
        func text(_ member: String) -> String? { source[member]?.string }
        var line = "upstream \(text("name") ?? ""): \(text("state") ?? "")"
        if let until = text("unavailableUntil") { line += " until \(until)" }
        line += ", fail policy \(text("failPolicy") ?? "")"
        if let at = text("answeredAt") { line += ", answered at \(at)" }
        if let at = text("failedAt") { line += ", failed at \(at): \(text("failure") ?? "")" }
        return line
    }
}

struct CannedCheckCommand: HomeCommand {
    var options = HomeOptions()
    var user: String?

    static let name = "check-canned-users"
    static let abstract = "Run the five calls for every canned user and check the results."
    static let discussion = "Needs a server with --canned-users. Exits with status 65 if a result differs."
    static let parameters: [Parameter<Self>] =
        [.positional(\.user, "user", help: "Only this user.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        let known = try await client.call(.get, "/admin/v1/canned-users")
        guard known["on"]?.bool == true else {
            throw ServiceProblem(
                status: 404,
                problem: ["detail": "no canned users: start the server with --canned-users"]
            )
        }
        let users = user.map { [$0] } ?? (known["users"]?.array ?? []).compactMap(\.string)
        var answers: [JSON] = []
        for user in users {
            answers.append(try await client.call(.post, "/admin/v1/canned-users/\(PercentEncoding.encode(user))/check"))
        }
        var wrong = 0
        var table = TextTable(["USER", "CALL", "EXPECTED", "GOT"])
        for answer in answers {
            for call in answer["calls"]?.array ?? [] where call["green"]?.bool != true {
                wrong += 1
                let expected = (call["expected"]?.array ?? []).compactMap(\.string).joined(separator: " or ")
                table.add([answer["user"]?.string ?? "", call["call"]?.string ?? "", expected, call["got"]?.string ?? ""])
            }
        }
        if options.json { console.print(["users": .array(answers)]) } else if wrong > 0 { console.print(table) }
        guard wrong == 0 else {
            throw ServiceProblem(status: 409, problem: ["detail": .string("\(wrong) calls had unexpected results")])
        }
        if !options.json { console.print("\(users.count) users, every call as expected") }
    }
}
