// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelMedia
package import CarrelPlayer
package import CarrelRights
import CarrelThreads

/// One license in use, from the first request for a key to its end.
///
/// It is evaluated twice a second, so that the ends of its keys follow the license; contact with the service is the part of
/// ``ServiceContact``.
package actor LicenseUse {
    /// The license.
    package nonisolated let license: String
    /// The content ID by which it was found.
    package nonisolated let contentID: String
    /// The content ID in the license.
    package nonisolated let licensedContent: String
    /// The IDs of its keys, 32 hexadecimal digits each.
    package nonisolated let keyIDs: [String]
    /// Whether the output may be plain bytes.
    package nonisolated let relaxesOutput: Bool
    /// The decision when it was opened, with the obligations that the caller enforces.
    package nonisolated let result: ActionResult
    /// The end of the license.
    package nonisolated let end = ContentKeyEnd()
    /// The obligations that the caller enforces now: a renewal may change them.
    package nonisolated var obligations: [Obligation] { current.withLock { $0 } }

    private nonisolated let current: Locked<[Obligation]>
    private let engine: PlayerEngine
    private let session: LicenseSession
    private let contact: ServiceContact
    /// Announces the first use, once.
    private var announcement: Task<Void, Never>?
    private let didBegin: (@Sendable (_ license: String) async -> Void)?
    private var ends: [String: ContentKeyEnd] = [:]
    private var keys: [String: Secret] = [:]
    private var watch: Task<Void, Never>?
    private var hasBegun = false
    private var isStopped = false
    /// The renewal because a playlist differs from the license: one for all keys.
    private var renewal: Task<Void, any Error>?

    /// How often the license is evaluated.
    private static let interval = Duration.milliseconds(500)

    /// - Parameters:
    ///   - engine: the player.
    ///   - session: the license, opened.
    ///   - followsRevocations: whether the list of revocations is requested.
    ///   - didBegin: called with the license after its first use was written.
    init(
        _ engine: PlayerEngine,
        _ session: LicenseSession,
        followsRevocations: Bool,
        didBegin: (@Sendable (_ license: String) async -> Void)?
    ) {
        self.didBegin = didBegin
        self.engine = engine
        self.session = session
        license = session.license
        contentID = session.contentID
        licensedContent = session.licensedContent
        keyIDs = session.keyIDs
        relaxesOutput = session.hasOpenOutput
        result = session.result
        current = Locked(session.result.obligations)
        contact = ServiceContact(engine, session, followsRevocations: followsRevocations)
    }

    deinit {
        watch?.cancel()
        // no task follows the license after this
        for end in ends.values { end.end(Self.endReason) }
        end.end(Self.endReason)
    }

    private static let endReason = "the use of the license has ended"

    /// Whether the license no longer allows the use, by the newest evaluation.
    package nonisolated var isOver: Bool { end.refusal != nil || end.instant.map { $0 <= engine.clock.now } ?? false }

    /// Begins to follow the license, and the contact with its service.
    func start() async {
        await apply(.success(result))
        guard watch == nil, !isStopped else { return }
        await contact.start(renews: false)
        guard watch == nil, !isStopped else { return }
        watch = Task { [weak self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.interval) } catch { return }
                guard let self else { return }
                await self.follow()
            }
        }
    }

    /// Counts the use, once. The count is on the disk before this returns.
    ///
    /// - Throws: `player.denied`; `player.store`; the error of the service if the license must be attended.
    package func begin() async throws(PlayerError) {
        guard !hasBegun else { return }
        try await contact.attend()
        let isFirst = try await session.begin()
        // the license of a stream is on no disk
        if isFirst, session.isStored, let didBegin {
            let license = license
            let task = announcement ?? Task { await didBegin(license) }
            announcement = task
            await task.value
        }
        hasBegun = true
        await contact.start(renews: true)
    }

    /// A key, while the license allows the use: it is evaluated for every request.
    ///
    /// - Parameters:
    ///   - id: the key's ID.
    ///   - isCounted: whether the use is counted before the key is returned.
    /// - Returns: the key with its terms.
    /// - Throws: `player.denied`, `player.stopped`, `player.store`, `player.vault`.
    package func grant(_ id: String, isCounted: Bool) async throws(PlayerError) -> ContentKeyGrant {
        if isCounted { try await begin() }
        let now = try await session.check()
        if now.obligations.contains(where: { $0.type == Obligation.Kind.attended.rawValue }) { try await contact.attend() }
        await apply(.success(now))
        guard now.isGranted, now.usableKeyIDs.contains(id), let keyID = KeyID(hex: id) else {
            throw PlayerError(.denied, now.refusalWords, reason: now.reason)
        }
        let key: Secret
        if let known = keys[id] {
            key = known
        } else {
            key = isCounted ? try await session.key(keyID) : try await session.uncountedKey(keyID)
            keys[id] = key
        }
        if let refusal = await contact.refusal { throw PlayerError(.denied, refusal) }
        // the vault may be a slow device; there is no wait from here on
        guard !isStopped else {
            keys = [:]
            throw PlayerError(.stopped, Self.endReason)
        }
        let keyEnd = ends[id] ?? ContentKeyEnd(end.instant)
        ends[id] = keyEnd
        var grant = ContentKeyGrant(key: key, relaxesOutput: relaxesOutput, maxPixels: result.maxPixels, end: keyEnd)
        grant.requiresTags = licensedContent.hasPrefix("urn:carrel:title:")
        grant.isLicensed = true
        return grant
    }

    /// A key of an order's audiobook, derived as the server derives it.
    ///
    /// - Parameters:
    ///   - address: the key's address in the playlist.
    ///   - isCounted: whether the use is counted before the key is returned.
    /// - Returns: the key with its terms.
    /// - Throws: `player.denied` if license and playlist differ in the rotation of keys, also after a renewal; the errors of
    ///   ``grant(_:isCounted:)``.
    func grant(_ address: OfflineKeyAddress, isCounted: Bool) async throws(PlayerError) -> ContentKeyGrant {
        // a license of an earlier version does not say
        if try await engine.rotatesKeys(license) ?? address.rotates != address.rotates {
            // the server's setting may have changed since the license or the playlist was made
            try await renewOnce()
            guard try await engine.rotatesKeys(license) ?? address.rotates == address.rotates else {
                throw PlayerError(
                    .denied,
                    "the license and the playlist disagree on whether keys rotate: load the playlist again"
                )
            }
        }
        var grant = try await grant(address.keyID.hex, isCounted: isCounted)
        guard let key = OrderKeys.key(address.number, of: grant.key, rotates: address.rotates) else {
            throw PlayerError(.denied, "the audiobook has no key \(address.number)")
        }
        grant.key = key
        return grant
    }

    private func renewOnce() async throws(PlayerError) {
        let task: Task<Void, any Error>
        if let renewal {
            task = renewal
        } else {
            let (engine, license) = (engine, license)
            task = Task { try await engine.contactService(of: license) }
            renewal = task
        }
        do { try await task.value } catch {
            throw error as? PlayerError ?? PlayerError(.network, "the license cannot be renewed now")
        }
    }

    /// Evaluates another action under the same license, such as a copy. Nothing is counted.
    ///
    /// - Parameter action: the action.
    /// - Returns: the decision.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func check(_ action: LicenseAction) async throws(PlayerError) -> ActionResult { try await session.check(action) }

    /// Ends the use.
    package func stop() async {
        isStopped = true
        watch?.cancel()
        watch = nil
        await contact.stop()
        for end in ends.values { end.end(Self.endReason) }
        end.end(Self.endReason)
        keys = [:]
        await session.stop()
    }

    // MARK: - The end

    private func follow() async {
        await engine.refresh()
        let outcome: Result<ActionResult, PlayerError>
        do throws(PlayerError) { outcome = .success(try await session.check()) } catch { outcome = .failure(error) }
        await apply(outcome)
    }

    private func apply(_ outcome: Result<ActionResult, PlayerError>) async {
        let refusal = await contact.refusal
        switch outcome {
        case .success(let now):
            let until = if let end = now.until { await engine.deviceTime(of: end) } else { Instant?.none }
            guard !isStopped else { return }
            if now.isGranted { current.withLock { $0 = now.obligations } }
            let reason = refusal ?? (now.isGranted ? stricter(now) : now.refusalWords)
            set(end, reason, until)
            for (id, keyEnd) in ends {
                set(keyEnd, reason ?? (now.usableKeyIDs.contains(id) ? nil : "the key was revoked"), until)
            }
        case .failure(let error):
            // a decision that cannot be made now leaves the last one
            guard !isStopped, [.storeDamaged, .notPersonalized, .outdated, .fingerprint].contains(error.code) else { return }
            for end in ends.values { end.end(error.message) }
            end.end(error.message)
        }
    }

    private func set(_ end: ContentKeyEnd, _ reason: String?, _ until: Instant?) {
        if let reason { end.end(reason) } else { end.move(to: until) }
    }

    /// Why terms of a renewal end the keys that were granted under the former terms; nil if they do not.
    private func stricter(_ now: ActionResult) -> String? {
        guard let pixels = now.maxPixels, pixels < result.maxPixels ?? .max else { return nil }
        return "the renewed license allows smaller pictures only"
    }
}
