// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelPlayer

/// The player of this device for one publication: its vault is opened for the first publication that a license protects.
actor PublicationPlayer {
    private let reader: ReaderEngine
    private let console: Console
    private var opening: Task<PlayerEngine, any Error>?

    init(_ reader: ReaderEngine, _ console: Console) {
        self.reader = reader
        self.console = console
    }

    /// The player, opened at the first call.
    ///
    /// - Throws: ``NotPersonalized``; the errors of the vault and the player.
    func engine() async throws -> PlayerEngine {
        if let opening { return try await opening.value }
        let (reader, console) = (reader, console)
        let task = Task { try await reader.open(console) }
        opening = task
        return try await task.value
    }

    /// Closes the player, if it was opened.
    func close() async {
        guard let engine = try? await opening?.value else { return }
        opening = nil
        // a token that was not used, too
        await engine.endStreams()
        await engine.shutdown()
    }
}
