// SPDX-License-Identifier: Apache-2.0

import CarrelVault
public import CarrelBytes
import CarrelCrypto
import CarrelReader
import CarrelRights

/// The time of the service, and how sure it is.
public struct PlayerTime: Sendable, Equatable {
    /// The time.
    public let instant: Instant
    /// `signed`, `estimated`, `far-ahead`, `rolled-back` or `unreadable`.
    public let certainty: String
}

extension PlayerEngine {
    /// The verified trust of the personalised player.
    ///
    /// - Throws: `player.not-personalized`, `player.store`, `player.fingerprint` for a copied folder.
    func trust() async throws(PlayerError) -> ServiceTrust {
        guard let state, state.answer != nil else { throw PlayerError(.notPersonalized, "the device is not personalised") }
        try requireOriginal(state)
        if let knownTrust { return knownTrust }
        let store = try await licenses()
        let anchor = try await store.anchor()
        let before = changes
        let trust: ServiceTrust
        do throws(PlayerError) {
            trust = try ServiceTrust(try answer(), anchor: anchor)
        } catch {
            // another process may have written the file since
            try await update { _ in }
            trust = try ServiceTrust(try answer(), anchor: anchor)
        }
        if trust.anchor != anchor { try await store.setAnchor(trust.anchor) }
        // A store starts without a clock: the first time is taken from the response.
        let host = host
        if let time = try? TrustedTime(try answer().time, keys: trust.keys),
            try await store.clock().read(on: host).instant < time.instant
        {
            try await store.updateClock { $0.raise(to: time.instant, on: host) }
        }
        // a concurrent change is read at the next call
        if changes == before { knownTrust = trust }
        return trust
    }

    /// Checks the trust of a personalized player before its file is replaced.
    ///
    /// - Parameter isRepair: whether a file that is older than the store is accepted: the response that replaces it is compared
    ///   with the store's own mark, so that it cannot be rolled back.
    /// - Returns: the newest trust that the store knows; nil for a player without a certificate.
    /// - Throws: `player.outdated` unless `isRepair`; the errors of ``trust()``.
    func anchor(ofOutdated isRepair: Bool) async throws(PlayerError) -> TrustAnchor? {
        guard state?.answer != nil else { return nil }
        do throws(PlayerError) {
            _ = try await trust()
        } catch {
            guard isRepair, error.code == .outdated else { throw error }
        }
        return try await licenses().anchor()
    }

    private func answer() throws(PlayerError) -> PersonalizationResponse {
        guard let answer = state?.answer else { throw PlayerError(.notPersonalized, "the device is not personalised") }
        return answer
    }

    /// The calls to the server that personalised the player.
    func server() throws(PlayerError) -> PlayerServer {
        guard let state, state.answer != nil else { throw PlayerError(.notPersonalized, "the device is not personalised") }
        guard !state.server.isEmpty else {
            throw PlayerError(.server, "this player knows no server yet: personalise it once while there is a network")
        }
        return try PlayerServer(state.server, client: client, timeouts: timeouts, listener: listener)
    }

    /// The time by which licenses are judged.
    ///
    /// - Throws: `player.store`.
    public func trustedTime() async throws(PlayerError) -> PlayerTime {
        let reading = try await licenses().clock().read(on: host)
        return PlayerTime(instant: reading.instant, certainty: reading.certainty.rawValue)
    }

    /// Asks the service for the time, such as after the clock was set back.
    ///
    /// - Returns: the signed time.
    /// - Throws: ``PlayerError``.
    @discardableResult
    public func updateTrustedTime() async throws(PlayerError) -> PlayerTime {
        try await transaction(.trustedTime) { () throws(PlayerError) in try await fetchTrustedTime() }
    }

    private func fetchTrustedTime() async throws(PlayerError) -> PlayerTime {
        let nonce = Base64URL.encode(Random.bytes(16))
        let host = host
        let text = try await server().text("/v1/license/time?nonce=\(nonce)")
        let time: TrustedTime
        do throws(RightsError) {
            time = try await verified { trust throws(RightsError) in try TrustedTime(text, keys: trust.keys) }
        } catch {
            throw PlayerError(.rejected, error.message)
        }
        guard time.nonce == nonce else { throw PlayerError(.rejected, "the time of the service is not for this request") }
        try await take(time.instant, on: host)
        return try await trustedTime()
    }

    /// Fetches the service's keys, its list of revocations and the time.
    ///
    /// - Throws: ``PlayerError``; the known data are then unchanged.
    public func updateSecurityData() async throws(PlayerError) {
        listener?(.began(.revocations))
        do throws(PlayerError) {
            try await updateKeys()
            try await updateRevocations()
            try await updateTrustedTime()
            await sendReleases()
            listener?(.ended(.revocations, nil))
        } catch {
            listener?(.ended(.revocations, error))
            throw error
        }
    }

    /// Fetches the service's keys: after a rotation of one.
    func updateKeys() async throws(PlayerError) {
        try await transaction(.securityData) { () throws(PlayerError) in try await fetchKeys() }
    }

    private func fetchKeys() async throws(PlayerError) {
        let json = try await server().json("/v1/license/keys")
        let known = try await trust()
        let document: TrustDocument
        do throws(RightsError) {
            document = try TrustDocument(json)
            let (_, keys) = try document.verified(from: known.root.der, notBefore: known.keys.number)
            guard keys.environment == known.keys.environment else {
                throw RightsError(.signature, "the service's keys are of another environment")
            }
        } catch {
            throw PlayerError(.rejected, error.message)
        }
        try await update { state in
            guard let known = state.answer else { return }
            var answer = known
            answer.trust = document
            state.answer = ServiceTrust.newest(answer, known)
        }
    }

    /// Fetches the list of revocations; a smaller number than the known one is refused.
    func updateRevocations() async throws(PlayerError) {
        try await transaction(.revocationList) { () throws(PlayerError) in try await fetchRevocations() }
    }

    private func fetchRevocations() async throws(PlayerError) {
        let known = try await trust().revocations
        var tag: String?
        if let list = state?.answer?.revocations, let listTag = state?.listTag, listTag.isTag(of: list),
            try await !isStale(known)
        {
            tag = listTag.tag
        }
        guard let (text, newTag) = try await server().text("/v1/license/revocations", unless: tag) else { return }
        let list: Revocations
        do throws(RightsError) {
            list = try await verified { trust throws(RightsError) in try Revocations(text, keys: trust.keys) }
        } catch {
            throw PlayerError(.rejected, error.message)
        }
        guard list.number >= known.number else {
            throw PlayerError(.rejected, "the list of what is revoked is older than the one that is known")
        }
        guard try await !isStale(list) else {
            let end = list.validity.upperBound
            throw PlayerError(.rejected, "the list of what is revoked ended at \(end): the server must sign a new one")
        }
        try await update { state in
            guard let known = state.answer else { return }
            var answer = known
            answer.revocations = text
            state.answer = ServiceTrust.newest(answer, known)
            state.listTag = newTag.map { PlayerState.ListTag($0, of: text) }
        }
    }

    /// How often the list of revocations is requested while a license is in use.
    private static var listInterval: Duration { .seconds(300) }

    /// Requests the list of revocations, unless that was done in the last five minutes. Licenses in use call it.
    ///
    /// - Returns: how long to wait before the next call.
    package func followRevocations() async -> Duration {
        let now = ContinuousClock.now
        if let last = lastListRequest, now - last < Self.listInterval { return Self.listInterval - (now - last) }
        lastListRequest = now
        // without a network, the known list is used
        try? await updateRevocations()
        return Self.listInterval
    }

    /// Reads the player's file again if another process has replaced it, for example with a newer list of revocations.
    package func refresh() {
        let mark = file.mark
        guard mark != knownMark else { return }
        knownMark = mark
        guard let state = try? Self.load(file) else { return }
        take(state)
    }

    /// Whether a list of revocations has ended, by a clock that can be trusted. A device without a network keeps using the list
    /// it has.
    private func isStale(_ list: Revocations) async throws(PlayerError) -> Bool {
        let reading = try await licenses().clock().read(on: host)
        switch reading.certainty {
        case .signed, .estimated: return list.validity.upperBound < reading.instant
        case .farAhead, .rolledBack, .unreadable: return false
        }
    }

    /// Replaces a list of revocations that has ended, while there is a network.
    func replaceStaleRevocations() async {
        guard let list = try? await trust().revocations, (try? await isStale(list)) == true else { return }
        try? await updateRevocations()
    }

    /// Reads a message of the service. If it is signed with an unknown key, fetches the service's current keys and retries once.
    func verified<Value>(_ read: (ServiceTrust) throws(RightsError) -> Value) async throws(RightsError) -> Value {
        do {
            let trust = try await trust()
            do throws(RightsError) {
                return try read(trust)
            } catch {
                guard error.code == .signature else { throw error }
                try await updateKeys()
                return try read(try await self.trust())
            }
        } catch let error as RightsError {
            throw error
        } catch {
            throw RightsError(.signature, "\(error)")
        }
    }

    /// Takes over a time that the service signed.
    ///
    /// - Parameters:
    ///   - time: the signed time.
    ///   - host: the clocks before the request was sent.
    /// - Throws: `player.store`.
    func take(_ time: Instant, on host: HostClock) async throws(PlayerError) {
        try await licenses().updateClock { $0.take(time, on: host) }
    }

    /// The store of licenses, opened at first use.
    ///
    /// - Throws: `player.store`, `player.store-damaged`, `player.vault`.
    public func licenses() async throws(PlayerError) -> LicenseStore {
        if let openStore { return openStore }
        if state?.hasStore == true, !LicenseStore.exists(in: place) {
            throw PlayerError(.storeDamaged, "the store of licenses is gone from \(place)")
        }
        let store = try await LicenseStore.open(folder: place, vault: vault, isKnown: state?.hasStore == true)
        if let state, !state.hasStore { try await update { $0.hasStore = true } }
        // another task may have opened it
        if let openStore {
            await store.close()
            return openStore
        }
        openStore = store
        // licenses of items that were removed while the vault was locked; returns to the service wait for `savedItems()`
        _ = try? await store.removeLicensesOfRemovedItems()
        return store
    }

    /// Makes removed data unreadable on the disk.
    ///
    /// - Throws: `player.store`.
    public func vacuum() async throws(PlayerError) {
        try await licenses().vacuum()
    }

    /// Closes the store and the vault. The engine is not used afterwards.
    public func shutdown() async {
        await openStore?.close()
        openStore = nil
        await vault.close()
    }
}
