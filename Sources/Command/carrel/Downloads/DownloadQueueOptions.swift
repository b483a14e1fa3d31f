// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloadConditions
import CarrelDownloads
import CarrelPlayer
import CarrelVault

/// The downloads of a reader's folder with its vault, for commands that save, transfer or play.
struct DownloadQueueOptions: ParameterGroup, Sendable {
    var folder = ReaderFolder()
    var vault = VaultOptions()
    var traces = false

    static var parameters: [Parameter<DownloadQueueOptions>] {
        Parameter.group(\.folder) + Parameter.group(\.vault) + [
            .flag(
                \.traces,
                "--trace",
                help: "Write each step with its time and the milliseconds since the step before; keys and tokens are left out.",
                group: "Reader"
            )
        ]
    }

    var json: Bool { folder.json }
    var output: OutputOptions { folder.output }

    /// The printer of `--trace`; nil without it.
    func tracePrinter(_ console: Console) -> TracePrinter? { traces ? TracePrinter(console) : nil }

    /// Opens the downloads of the folder, which is created if it is missing. The vault is opened by the first operation that needs it.
    ///
    /// - Parameters:
    ///   - console: prompts for a passphrase.
    ///   - trace: prints steps; nil for none.
    /// - Returns: the downloads and the engine that they open.
    /// - Throws: the errors of the folder.
    func open(_ console: Console, _ trace: TracePrinter?) throws -> (Downloads, QueueEngine) {
        let path = try folder.make()
        let engine = QueueEngine(path: path, vault, console, trace)
        var options = Downloads.Options()
        options.conditions = DesktopConditions()
        options.trace = trace?.listener
        return (try Downloads(folder: path, options: options) { try await engine.open() }, engine)
    }

    /// Runs a closure with the downloads, and closes them.
    ///
    /// - Parameters:
    ///   - console: prompts for a passphrase, and shows the trace.
    ///   - body: the operation; gets the printer of the trace too.
    /// - Returns: its result.
    /// - Throws: the errors of `body`.
    func use<Value>(_ console: Console, _ body: (Downloads, TracePrinter?) async throws -> Value) async throws -> Value {
        let trace = tracePrinter(console)
        let (downloads, engine) = try open(console, trace)
        do {
            let value = try await DownloadFolderOptions.use(downloads) { try await body($0, trace) }
            await engine.close()
            return value
        } catch {
            await engine.close()
            throw error
        }
    }
}

/// The engine of a reader's folder, also of a folder without a player: opened at first use.
actor QueueEngine {
    private let path: String
    private let vault: VaultOptions
    private let console: Console
    private let trace: TracePrinter?
    private var opening: Task<PlayerEngine, any Error>?

    init(path: String, _ vault: VaultOptions, _ console: Console, _ trace: TracePrinter?) {
        self.path = path
        self.vault = vault
        self.console = console
        self.trace = trace
    }

    /// Opens the vault and the engine, once.
    ///
    /// - Returns: the engine.
    /// - Throws: `download.vault` in the words of the vault.
    func open() async throws -> PlayerEngine {
        if let opening { return try await opening.value }
        let (path, vault, console, trace) = (path, vault, console, trace)
        let task = Task {
            do {
                let opened = try await vault.open(in: path, console)
                return try PlayerEngine(folder: path, vault: opened, app: .init(name: "carrel", build: Version.text)) {
                    trace?.print($0)
                }
            } catch {
                let reason = (error as? any ReportableError)?.message ?? "the vault does not open: \(error)"
                throw DownloadError(.vault, reason)
            }
        }
        opening = task
        return try await task.value
    }

    /// Closes the engine, if it was opened.
    func close() async {
        guard let engine = try? await opening?.value else { return }
        opening = nil
        await engine.shutdown()
    }
}
