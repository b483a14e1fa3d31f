// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// Devices and their server, with `kill -9` at chosen steps and at any moment: every command can be repeated, and nothing is lost
/// or doubled.
struct `A device or a server that is killed` {
    @Test(.timeLimit(.minutes(60)))
    func `stays one player with one license for a token, and keeps what it was told`() async throws {
        let world = try await CrashWorld()
        let kills = unsafe getenv("CARREL_LONG") == nil ? 20 : 300
        var random = SplitMix(seed: 15)
        var device = try await CrashDevice(world, "device-0")
        for round in 0..<kills {
            let (cycle, step) = (round / 5, round % 5)
            // Every third kill is the server's; a release is also tried while there is none.
            let victim: CrashWorld.Victim = random.next() % 3 == 0 ? .server : .command
            let comment: Comment = "round \(round), step \(step), \(victim)"
            switch step {
            case 0:
                if cycle.isMultiple(of: 2), round > 0 { device = try await CrashDevice(world, "device-\(cycle)") }
                try await device.personalize(victim, &random, comment)
            case 1: try await device.redeem(victim, &random, comment)
            case 2: try await device.play(&random, comment)
            case 3: try await device.renew(victim, &random, comment)
            default: try await device.release(victim, &random, comment, withoutServer: cycle % 3 == 1)
            }
            try await device.check(comment)
        }
        try await device.expectReleasesKnown()
        #expect(try await world.query("PRAGMA integrity_check") == "ok")
        await world.stop()
    }
}

/// A server that can be killed and comes up again under the same address.
private final class CrashWorld {
    enum Victim { case command, server }

    let directory = TemporaryDirectory()
    let port = LoopbackPort.free()
    let title: String
    private let sqlite: String
    private var server: BackgroundProcess?
    /// Devices that were personalized, and tokens that were redeemed, as far as is known.
    var players = 0
    var redeemed = 0

    var home: String { directory.file("home") }
    var url: String { "http://127.0.0.1:\(port)" }
    var content: String { "urn:carrel:title:\(title)" }

    init() async throws {
        sqlite = try requirePeer("sqlite3")
        let path = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=5", "-c:a", "libmp3lame", path,
        ])
        let made = try await DemoServer.json(["ingest", path, "--home", directory.file("home"), "--json"])
        title = try #require(made["titles"]?.array?.first?["id"]?.string)
        try await start()
    }

    func start() async throws {
        server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "\(port)", "--quiet"])
        _ = try await server?.waitForLine(containing: "listening on http")
    }

    func kill() async { _ = await server?.kill() }
    func stop() async { _ = await server?.terminate() }

    /// The one value that a statement gives.
    func query(_ sql: String) async throws -> String {
        try await checkProcess([sqlite, "-cmd", ".timeout 10000", "\(home)/carrel.db", sql]).split(separator: "\n").first
            .map(String.init) ?? ""
    }

    /// A license message for the title: each is for an order of its own.
    func token() async throws -> String {
        let words = ["token", "create", "--title", title, "--account", "alice", "--home", home, "--json", "--output"]
        let made = try await DemoServer.json(words + [directory.file("token-\(redeemed)-\(Int.random(in: 0..<Int.max)).xml")])
        return try #require(made["jwt"]?.string)
    }
}

/// A folder with a player, and what its commands printed.
private struct CrashDevice {
    private let world: CrashWorld
    private let home: String
    private var player = ""
    /// The licenses that must be here, with their plays, and those that were given back.
    private var plays: [String: Int] = [:]
    private var tokens: [String: String] = [:]
    private var released: Set<String> = []

    private static let environment = ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
    private static let steps = [
        "license: begun", "challenge (1", "personalize/challenge: 200", "request (2", "/v1/license: 200", "answer (3",
        "verified (4",
        "license: done",
    ]

    init(_ world: CrashWorld, _ name: String) async throws {
        self.world = world
        home = world.directory.file(name)
    }

    private func words(_ words: [String]) -> [String] { [DemoServer.program] + words + ["--home", home, "--json"] }

    private static func json(_ text: String) -> JSON? {
        guard text.hasSuffix("\n") else { return nil }
        let bytes = Array(text.utf8)
        return try? JSON.parse(bytes.rawSpan)
    }

    /// Runs a command and kills it, or the server under it, at a step or after some time; returns what it printed before.
    private func interrupt(
        _ command: [String],
        _ victim: CrashWorld.Victim,
        _ steps: [String],
        _ random: inout SplitMix
    ) async throws -> JSON? {
        let process = try BackgroundProcess(words(command), environment: Self.environment)
        // Nearly half of the kills are at any moment.
        let choice = Int(random.next() % UInt64(steps.count * 2))
        let delay = Duration.milliseconds(Int(random.next() % 600))
        if choice < steps.count {
            _ = try? await process.waitForLine(containing: steps[choice])
        } else {
            try await Task.sleep(for: delay)
        }
        switch victim {
        case .command: _ = await process.kill()
        case .server:
            await world.kill()
            _ = try await process.waitForExit(timeout: .seconds(60))
            try await world.start()
        }
        return Self.json(process.output)
    }

    /// Runs a command until it succeeds: a server that was killed often lets one in a second later.
    private func repeated(_ command: [String], _ comment: Comment) async throws -> JSON {
        var last = ""
        for _ in 0..<30 {
            let result = try await runProcess(words(command), environment: Self.environment, timeout: .seconds(60))
            if result.status.isSuccess, let json = Self.json(result.text) { return json }
            last = result.errorText
            guard last.contains("too many requests") else { break }
            try await Task.sleep(for: .seconds(2))
        }
        Issue.record("\(command.first ?? "") \(command.dropFirst().first ?? "") cannot be repeated, \(comment): \(last)")
        throw CancellationError()
    }

    mutating func personalize(_ victim: CrashWorld.Victim, _ random: inout SplitMix, _ comment: Comment) async throws {
        let isNew = player.isEmpty
        let command = ["device", "personalize", "--server", world.url, "--vault", "file"] + (isNew ? [] : ["--renew"])
        let told = try await interrupt(command, victim, ["keys (1", "challenge (2", "certificate (3", "stored (4"], &random)
        let known = try await repeated(command, comment)["player"]?.string ?? ""
        if let told { #expect(told["player"]?.string == known, comment) }
        if isNew {
            player = known
            world.players += 1
        }
        #expect(known == player, comment)
        #expect(try await world.query("SELECT count(*) FROM players") == "\(world.players)", "never a second player, \(comment)")
    }

    mutating func redeem(_ victim: CrashWorld.Victim, _ random: inout SplitMix, _ comment: Comment) async throws {
        let token = try await world.token()
        let command = ["token", "redeem", token, "--trace"]
        let told = try await interrupt(command, victim, Self.steps, &random)
        if let id = told?["license"]?.string {
            #expect(try await list()[id] != nil, "a license that was printed is there, \(comment)")
        }
        let license = try await repeated(command, comment)["license"]?.string ?? ""
        if let told { #expect(told["license"]?.string == license, comment) }
        world.redeemed += 1
        (plays[license], tokens[license]) = (0, token)
        for table in ["orders", "redemptions", "licenses"] {
            #expect(try await world.query("SELECT count(*) FROM \(table)") == "\(world.redeemed)", "\(table), \(comment)")
        }
    }

    /// Plays until the playing process is killed: each play that was begun is counted, and at most one more.
    mutating func play(_ random: inout SplitMix, _ comment: Comment) async throws {
        let program = DemoServer.program.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/PlayerProgram"
        let process = try BackgroundProcess([program, "\(home)/reader", world.content, "100000"], environment: Self.environment)
        let wanted = Int(random.next() % 40)
        if wanted > 0 { _ = try await process.waitForLine(containing: "playing \(wanted)") }
        _ = await process.kill()
        let begun = process.output.split(separator: "\n").filter { $0.hasPrefix("playing ") }.count
        let before = plays.values.reduce(0, +)
        let now = try await list()
        let counted = now.values.reduce(0, +) - before
        // The end of the output may be lost with the process.
        #expect(counted >= begun && counted >= wanted, "\(counted) of \(begun) plays are counted, \(comment)")
        for (license, count) in plays { #expect(now[license] ?? -1 >= count, "plays never go down, \(comment)") }
        plays = now
    }

    mutating func renew(_ victim: CrashWorld.Victim, _ random: inout SplitMix, _ comment: Comment) async throws {
        guard let license = plays.keys.sorted().randomElement(using: &random) else { return }
        let command = ["license", "renew", license, "--trace"]
        _ = try await interrupt(command, victim, Self.steps, &random)
        let renewed = try await repeated(command, comment)
        #expect(renewed["plays"]?.int == plays[license] && renewed["reportedPlays"]?.int == plays[license], comment)
        #expect(try await world.query("SELECT plays FROM licenses WHERE id = '\(license)'") == "\(plays[license] ?? -1)", comment)
    }

    mutating func release(
        _ victim: CrashWorld.Victim,
        _ random: inout SplitMix,
        _ comment: Comment,
        withoutServer isAlone: Bool
    ) async throws {
        guard let license = plays.keys.sorted().randomElement(using: &random), let token = tokens[license] else { return }
        let told: JSON?
        if isAlone {
            // The device gives it back while there is no server, which hears of it at the next contact.
            await world.kill()
            told = try await repeated(["license", "release", license], comment)
            #expect(told?["reported"]?.bool == false, comment)
            try await world.start()
        } else {
            told = try await interrupt(["license", "release", license, "--trace"], victim, Self.steps, &random)
        }
        let isThere = try await list()[license] != nil
        if told != nil { #expect(!isThere, "a license that was given back is gone, \(comment)") }
        if isThere { _ = try await repeated(["license", "release", license], comment) }
        plays[license] = nil
        released.insert(license)
        // Its own token does not bring it back: the service is told first.
        let again = try await runProcess(words(["token", "redeem", token]), environment: Self.environment, timeout: .seconds(60))
        #expect(!again.status.isSuccess, comment)
        try await expectReleasesKnown()
    }

    /// The licenses in the store with their plays.
    private func list() async throws -> [String: Int] {
        let result = try await runProcess(words(["license", "list"]), environment: Self.environment, timeout: .seconds(60))
        let json = try #require(Self.json(result.text), "the store opens: \(result.errorText)")
        let licenses = json["licenses"]?.array ?? []
        return licenses.reduce(into: [:]) { $0[$1["id"]?.string ?? ""] = $1["plays"]?.int ?? -1 }
    }

    /// Checks that the store has what was acknowledged, and nothing that was given back.
    func check(_ comment: Comment) async throws {
        guard !player.isEmpty else { return }
        #expect(try await list() == plays, comment)
        let decision = try await repeated(["license", "evaluate", world.content], comment)
        #expect(decision["granted"]?.bool == !plays.isEmpty, comment)
        #expect(try await DemoServer.json(["device", "show", "--home", home, "--json"])["player"]?.string == player, comment)
    }

    /// Checks that the service knows of each release after a contact.
    func expectReleasesKnown() async throws {
        for license in released.sorted() {
            let ended = try await world.query("SELECT ended_by FROM licenses WHERE id = '\(license)'")
            #expect(ended == "release", "\(license)")
        }
    }
}
