// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelContentKeys
import CarrelCrypto
import CarrelMediaPlanning
import CarrelPlayer

/// The keys of an item: rows of the player's store, by sessions of content keys.
struct ItemKeys: Sendable {
    private let opened: DownloadVault.Opened
    private let id: String

    init(_ opened: DownloadVault.Opened, _ id: String) {
        self.opened = opened
        self.id = id
    }

    private func session(
        _ content: JournalSeal.Content,
        _ source: ItemSource,
        _ options: Downloads.Options
    ) -> ContentKeySession {
        var keyOptions = ContentKeySession.Options()
        let server = content.source.licenseServer
        keyOptions.licenseServer = server.isEmpty ? nil : server
        keyOptions.certificateURL = content.source.certificateURL.isEmpty ? nil : content.source.certificateURL
        keyOptions.licenseToken = content.source.licenseToken.map { token in
            token.withBytes { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        }
        keyOptions.clearKeyServer = content.source.clearKeyServer.isEmpty ? nil : content.source.clearKeyServer
        keyOptions.source = content.source.address
        return ContentKeySession(opened.engine, keyOptions, client: source.keyClient, trace: options.trace)
    }

    /// Stores all keys of a plan. Those that were obtained stay for the next attempt if one fails.
    ///
    /// - Throws: `ContentKeyError` with the key id, `download.key`, `CancellationError`.
    private func persist(
        _ keys: [PlannedKey],
        _ content: JournalSeal.Content,
        _ source: ItemSource,
        _ options: Downloads.Options
    ) async throws {
        guard !keys.isEmpty else { return }
        var identifiers: [ContentKeyIdentifier] = []
        for key in keys {
            guard let identifier = ContentKeyIdentifier(key.names) else {
                throw DownloadError(.key, "a key of the source has no name")
            }
            identifiers.append(identifier)
        }
        let session = session(content, source, options)
        do throws(ContentKeyError) {
            try await persist(identifiers, session)
            await session.end()
        } catch {
            await session.end()
            if Task.isCancelled { throw CancellationError() }
            throw error
        }
    }

    /// A cancelled item requests no more keys.
    private func persist(_ keys: [ContentKeyIdentifier], _ session: ContentKeySession) async throws(ContentKeyError) {
        let id = id
        let result: Result<Void, ContentKeyError> = await withTaskCancellationHandler {
            do throws(ContentKeyError) { return .success(try await session.persist(keys, item: id)) } catch {
                return .failure(error)
            }
        } onCancel: {
            Task { await session.end() }
        }
        try result.get()
    }

    /// Stores all keys of a plan, again after failures of the network.
    ///
    /// - Throws: `download.key` with the key id, `download.vault`, `CancellationError`.
    func persistWithRetries(
        _ keys: [PlannedKey],
        _ content: JournalSeal.Content,
        _ source: ItemSource,
        _ options: Downloads.Options
    ) async throws {
        var backoff = Backoff(options.pace)
        while true {
            do { return try await persist(keys, content, source, options) } catch let error as ContentKeyError {
                guard error.code == .network, let pause = backoff.next(atLeast: nil) else { throw DownloadError(error) }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Renews the keys; the media are unchanged.
    ///
    /// - Parameters:
    ///   - content: the source, with its servers and its token.
    ///   - source: the source as its transfers use it.
    ///   - options: the options of the queue.
    ///   - onlyIfDue: whether nothing happens before the renewal is due.
    /// - Throws: `download.key`, `download.vault`.
    func renew(
        _ content: JournalSeal.Content,
        _ source: ItemSource,
        _ options: Downloads.Options,
        onlyIfDue: Bool
    ) async throws(DownloadError) {
        let session = session(content, source, options)
        do throws(ContentKeyError) {
            if onlyIfDue { try await session.renewIfDue(item: id) } else { try await session.renew(item: id) }
            await session.end()
        } catch {
            await session.end()
            throw DownloadError(error)
        }
    }

    /// Writes the end of the keys, and when their renewal is due, to the journal.
    ///
    /// - Throws: `download.vault`, `download.journal`.
    func recordTerms(in journal: Journal) async throws(DownloadError) {
        let state: SavedKeyState
        do throws(PlayerError) { state = try await opened.engine.savedKeyState(of: id) } catch {
            throw DownloadError(.vault, error.message)
        }
        try await journal.setTerms(until: state.until, renewsAt: state.renewAt, of: id)
    }
}

extension DownloadError {
    fileprivate init(_ error: ContentKeyError) {
        let isOfVault = error.code == .vault || error.code == .store
        self.init(isOfVault ? .vault : .key, error.description)
    }
}
