// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelPlayer
import CarrelVault

/// The player of this device with its vault open, for one command.
struct ReaderEngine: ParameterGroup, Sendable {
    var folder = ReaderFolder()
    var vault = VaultOptions()
    var traces = false

    static var parameters: [Parameter<ReaderEngine>] {
        Parameter.group(\.folder) + Parameter.group(\.vault) + [
            .flag(
                \.traces,
                "--trace",
                help: "Write each step and each call with its time to standard error; keys and tokens are left out.",
                group: "Reader"
            )
        ]
    }

    var json: Bool { folder.json }
    var output: OutputOptions { folder.output }

    /// Opens the player, runs a closure, and closes the player.
    ///
    /// - Parameters:
    ///   - console: prompts for a passphrase, and shows the trace.
    ///   - body: the operation.
    /// - Returns: the result of `body`.
    /// - Throws: ``NotPersonalized`` in a folder without a player; the errors of `body`.
    func use<Value>(_ console: Console, _ body: (PlayerEngine) async throws -> Value) async throws -> Value {
        let engine = try await open(console)
        do {
            let value = try await body(engine)
            await engine.shutdown()
            return value
        } catch {
            await engine.shutdown()
            throw error
        }
    }
}

extension ReaderEngine {
    /// Opens the player with its vault. The caller shuts it down.
    ///
    /// - Parameter console: prompts for a passphrase, and shows the trace.
    /// - Returns: the player.
    /// - Throws: ``NotPersonalized`` in a folder without a player; the errors of the vault and the player.
    func open(_ console: Console) async throws -> PlayerEngine {
        let path = try folder.path()
        guard try PlayerEngine.identity(of: path) != nil else { throw NotPersonalized(folder: path) }
        let opened = try await vault.open(in: path, console)
        let trace = traces ? PlayerTrace(console) : nil
        return try PlayerEngine(folder: path, vault: opened, app: .init(name: "carrel", build: Version.text)) {
            trace?.write($0)
        }
    }

    /// Whether the folder has a player; its vault stays closed.
    var hasPlayer: Bool {
        guard let path = try? folder.path() else { return false }
        return (try? PlayerEngine.identity(of: path)) != nil
    }
}

/// A command with the player of this device.
protocol ReaderCommand: Command {
    var engine: ReaderEngine { get set }
}

extension ReaderCommand {
    var output: OutputOptions { engine.output }
}

/// Writes what a player does, with the time since the start.
struct PlayerTrace: Sendable {
    private let console: Console
    private let start = ContinuousClock.now

    init(_ console: Console) { self.console = console }

    func write(_ transaction: PlayerTransaction) {
        let text =
            switch transaction {
            case .began(let kind): "\(kind.rawValue): begun"
            case .progress(let kind, let step, let done, let total): "\(kind.rawValue): \(step) (\(done) of \(total))"
            case .call(let method, let url, let status, let duration):
                "\(method) \(url): \(status.map(String.init) ?? "no answer") in \(Self.milliseconds(duration)) ms"
            case .ended(let kind, let error): "\(kind.rawValue): \(error.map { "failed, \($0.code) (\($0.number))" } ?? "done")"
            }
        console.note("+\(Self.milliseconds(ContinuousClock.now - start)) ms \(text)")
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}

/// A folder without a player.
struct NotPersonalized: ReportableError {
    let folder: String

    var message: String { "there is no player in \(folder)" }
    var hint: String? { "run 'carrel device personalize --server URL' first" }
    var exitStatus: ExitStatus { .noInput }
}
