// SPDX-License-Identifier: Apache-2.0

import CarrelPlayer

/// What the vault opens: the store of keys, and the seal of the journal. It is opened by the first operation that needs it.
actor DownloadVault {
    struct Opened: Sendable {
        let engine: PlayerEngine
        let store: LicenseStore
        let seal: JournalSeal
    }

    private let makeEngine: @Sendable () async throws -> PlayerEngine
    private var opened: Opened?

    /// - Parameter engine: creates or opens the engine of the reader's folder.
    init(_ engine: @escaping @Sendable () async throws -> PlayerEngine) {
        makeEngine = engine
    }

    /// Opens the vault.
    ///
    /// - Throws: `download.vault`.
    func open() async throws(DownloadError) -> Opened {
        if let opened { return opened }
        do {
            let engine = try await makeEngine()
            let store = try await engine.savedItems()
            let opened = Opened(engine: engine, store: store, seal: JournalSeal(key: try await store.journalKey()))
            self.opened = opened
            return opened
        } catch let error as DownloadError {
            throw error
        } catch let error as PlayerError {
            throw DownloadError(.vault, error.message)
        } catch {
            throw DownloadError(.vault, "the vault does not open: \(error)")
        }
    }
}
