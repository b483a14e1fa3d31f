// SPDX-License-Identifier: Apache-2.0

import CarrelPlayer

/// The store of keys and the seal of the journal, which the vault opens for the first operation that needs it.
actor DownloadVault {
    struct Opened: Sendable {
        let engine: PlayerEngine
        let store: LicenseStore
        let seal: JournalSeal
    }

    private let makeEngine: @Sendable () async throws -> PlayerEngine
    /// The opening that all callers share; nil before the first, and after one that failed.
    private var opening: Task<Opened, any Error>?

    /// - Parameter engine: creates or opens the engine of the reader's folder.
    init(_ engine: @escaping @Sendable () async throws -> PlayerEngine) {
        makeEngine = engine
    }

    /// Opens the vault.
    ///
    /// - Throws: `download.vault`.
    func open() async throws(DownloadError) -> Opened {
        let task =
            opening
            ?? Task { [makeEngine] in
                let engine = try await makeEngine()
                let store = try await engine.savedItems()
                return Opened(engine: engine, store: store, seal: JournalSeal(key: try await store.journalKey()))
            }
        opening = task
        do { return try await task.value } catch {
            if opening == task { opening = nil }
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> DownloadError {
        switch error {
        case let error as DownloadError: error
        case let error as PlayerError: DownloadError(.vault, error.message)
        default: DownloadError(.vault, "the vault does not open: \(error)")
        }
    }
}
