// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
public import CarrelRights

/// One use of a license: playback of a content, from its begin to its end.
///
/// Keys leave it only while the license allows the use: each request is decided again.
public actor LicenseSession {
    /// The content that is used.
    public nonisolated let contentID: String
    /// The id of the license that allows it.
    public nonisolated let license: String
    /// The decision at the begin.
    public nonisolated let result: ActionResult

    private let engine: PlayerEngine
    private let granted: License
    private nonisolated let use: LicensedUse
    /// The stream that is played; nil for a license of the store.
    private let generation: Int?
    private var beginning: Task<Bool, any Error>?
    private var hasBegun = false
    private var isStopped = false
    private var heartbeat: Task<Void, Never>?

    init(
        _ engine: PlayerEngine,
        _ license: License,
        contentID: String,
        _ use: LicensedUse,
        _ result: ActionResult,
        generation: Int?
    ) {
        self.generation = generation
        self.engine = engine
        granted = license
        self.contentID = contentID
        self.license = license.id
        self.use = use
        self.result = result
    }

    deinit {
        heartbeat?.cancel()
        guard !isStopped, let generation else { return }
        let (engine, license) = (engine, license)
        Task { await engine.endUse(of: license, generation: generation) }
    }

    /// The ids of the keys that the license has, 32 hexadecimal digits each.
    public nonisolated var keyIDs: [String] { granted.keys.map(\.id.hex) }

    /// The content ID in the license; it may have been found by the alias of a key.
    package nonisolated var licensedContent: String { granted.contentID }

    /// Whether the content may leave the player as plain bytes.
    package nonisolated var hasOpenOutput: Bool { use.needsOpenOutput }

    /// Decides another action under the same license.
    ///
    /// - Parameter action: the action; it is not counted.
    /// - Returns: the decision now.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func check(_ action: LicenseAction) async throws(PlayerError) -> ActionResult {
        let other = LicensedUse(action: action, needsOpenOutput: use.needsOpenOutput, enforced: use.enforced)
        return try await engine.recheck(license, other, isUnderWay: beginning != nil)
    }

    /// Whether the license is in the store; otherwise it is of a stream.
    package nonisolated var isStored: Bool { generation == nil }

    /// Counts the use, once: the first play and the count are on the disk before this returns.
    ///
    /// - Returns: whether it is the first use of the license.
    /// - Throws: `player.denied`, `player.stopped`, `player.store`.
    @discardableResult
    package func begin() async throws(PlayerError) -> Bool {
        guard !isStopped else { throw PlayerError(.stopped, "the use of the license has ended") }
        let task: Task<Bool, any Error>
        if let beginning {
            task = beginning
        } else {
            let (engine, license, use) = (engine, license, use)
            task = Task { try await engine.perform(license, use) }
            beginning = task
        }
        let isFirst: Bool
        do {
            isFirst = try await task.value
        } catch {
            // a failure counted nothing
            if beginning == task { beginning = nil }
            throw error as? PlayerError ?? PlayerError(.store, "the use cannot be counted")
        }
        guard !isStopped else { throw PlayerError(.stopped, "the use of the license has ended") }
        hasBegun = true
        keepAlive()
        return isFirst
    }

    /// Decides again, such as when an output changes or a time in `ActionResult.callbacks` comes.
    ///
    /// - Returns: the decision now.
    /// - Throws: `player.store`, `player.store-damaged`.
    public func check() async throws(PlayerError) -> ActionResult {
        try await engine.recheck(license, use, isUnderWay: beginning != nil)
    }

    /// Throws unless the license allows the use at this moment.
    ///
    /// - Throws: `player.denied`, `player.stopped`.
    public func requireLive() async throws(PlayerError) {
        guard !isStopped else { throw PlayerError(.stopped, "the use of the license has ended") }
        let now = try await check()
        guard now.isGranted else { throw PlayerEngine.denied(now) }
    }

    /// A key of the content, while the license allows the use.
    ///
    /// - Parameter id: of the key.
    /// - Returns: 16 bytes.
    /// - Throws: `player.denied`, `player.stopped`, `player.vault`.
    package func key(_ id: KeyID) async throws(PlayerError) -> Secret {
        guard hasBegun else { throw PlayerError(.stopped, "the use of the license has not begun") }
        return try await uncountedKey(id)
    }

    /// A key of the content for what the license gives without a play, such as the directory of a publication.
    ///
    /// - Parameter id: of the key.
    /// - Returns: 16 bytes.
    /// - Throws: `player.denied`, `player.stopped`, `player.vault`.
    package func uncountedKey(_ id: KeyID) async throws(PlayerError) -> Secret {
        try await requireLive()
        return try await engine.key(id, of: granted)
    }

    /// Returns a content key as bytes.
    ///
    /// - Warning: A process with the key can decrypt the content forever, whatever the license says. No other part of this
    ///   package needs this call. It is for apps that decrypt by themselves: keep the key in memory only, and overwrite it after
    ///   use.
    ///
    /// - Parameter id: the key ID as 32 hexadecimal digits.
    /// - Returns: 16 bytes.
    /// - Throws: `player.denied` for an unknown key, or if the license does not allow the use now; `player.stopped`,
    ///   `player.vault`.
    @_spi(Extended)
    public func contentKey(_ id: String) async throws(PlayerError) -> [UInt8] {
        guard let id = KeyID(hex: id) else { throw PlayerError(.denied, "the license does not have this key") }
        return try await key(id).withBytes { [UInt8](copying: $0) }
    }

    /// Renews a stream as often as its service demands, until ``stop()``.
    func keepAlive() {
        guard let seconds = granted.heartbeat, heartbeat == nil, !isStopped else { return }
        let (engine, license) = (engine, license)
        heartbeat = Task {
            var pause = Duration.seconds(seconds)
            while !Task.isCancelled {
                do { try await Task.sleep(for: pause) } catch { return }
                do throws(PlayerError) {
                    try await engine.renewStream(license)
                    pause = .seconds(seconds)
                } catch {
                    guard error.code != .ended, error.code != .revoked else { return }
                    // the lease lasts a little longer than the heartbeat
                    pause = error.isRetryable ? min(.seconds(seconds), Self.retryPause) : .seconds(seconds)
                }
            }
        }
    }

    private static let retryPause = Duration.seconds(10)

    /// Ends the use. A stream releases its slot.
    public func stop() async {
        guard !isStopped else { return }
        isStopped = true
        heartbeat?.cancel()
        heartbeat = nil
        await engine.endUse(of: license, generation: generation)
    }
}
