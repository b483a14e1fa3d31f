// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer

/// The stored licenses of this device as a source of keys, for one use. The vault is opened for the first key that is requested.
actor DeviceLicenses: LicenseTokenReceiver {
    private let reader: ReaderEngine
    private let open: @Sendable () async throws -> PlayerEngine
    /// Whether the engine is of this use alone.
    private let ownsEngine: Bool
    private var opening: Task<Opened, any Error>?
    /// Licenses inside the source, until the vault is open.
    private var waiting: [String] = []
    private var storing: Task<Void, Never>?

    /// A player with its vault open, and its licenses.
    private struct Opened: Sendable {
        let engine: PlayerEngine
        let keys: LicenseKeys
    }

    /// Licenses that wait, at most.
    private static let limit = 16

    init(_ reader: ReaderEngine, _ console: Console) {
        self.reader = reader
        open = { try await reader.open(console) }
        ownsEngine = true
    }

    /// Shares an engine, whose vault is opened once for several uses.
    ///
    /// - Parameters:
    ///   - reader: the folder of the player.
    ///   - engine: opens the engine; its owner closes it.
    init(_ reader: ReaderEngine, sharing engine: QueueEngine) {
        self.reader = reader
        open = { try await engine.open() }
        ownsEngine = false
    }

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await key(anyOf: [name]).answer }

    func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        guard opening != nil || reader.hasPlayer else { return (.unknown, nil) }
        do {
            let keys = try await opened().keys
            await store(in: keys)
            return await keys.key(anyOf: names)
        } catch {
            let reason = (error as? any ReportableError)?.message ?? "the player of this device cannot be opened"
            return (.refused(reason), names.first)
        }
    }

    /// Stores the licenses that wait. Concurrent requests for keys wait for it too.
    private func store(in keys: LicenseKeys) async {
        if !waiting.isEmpty {
            let (texts, before) = (waiting, storing)
            waiting = []
            storing = Task {
                await before?.value
                for text in texts { await keys.receive(licenseInFile: text) }
            }
        }
        await storing?.value
    }

    /// Keeps a license that is inside the source: it is stored before the first key is looked for.
    func receive(licenseInFile text: String) { if waiting.count < Self.limit { waiting.append(text) } }

    func receive(licenseToken: String) { receive(licenseInFile: licenseToken) }

    var tokenFailure: String? {
        get async { try? await opening?.value.keys.tokenFailure }
    }

    /// Opens the vault, and stores a license.
    ///
    /// - Parameter license: a signed license, or a token, which is redeemed.
    /// - Throws: the errors of the vault and the player.
    func add(_ license: String) async throws { try await opened().keys.add(license) }

    /// The IDs of the licenses in use.
    var licenses: [String] {
        get async {
            guard let keys = try? await opening?.value.keys else { return [] }
            return await keys.licenses
        }
    }

    /// Ends the use, and closes the player.
    func close() async {
        guard let opened = try? await opening?.value else { return }
        opening = nil
        await opened.keys.end()
        // a token that was not used, too
        await opened.engine.endStreams()
        if ownsEngine { await opened.engine.shutdown() }
    }

    private func opened() async throws -> Opened {
        if let opening { return try await opening.value }
        let open = open
        let task = Task {
            let engine = try await open()
            return Opened(engine: engine, keys: LicenseKeys(engine))
        }
        opening = task
        return try await task.value
    }
}
