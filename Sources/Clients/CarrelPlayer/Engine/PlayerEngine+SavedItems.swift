// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelRights

extension PlayerEngine {
    /// The store for the keys of saved items. A folder without a player has one too: it is created under the vault, without a
    /// server, and a later personalization uses the same vault and store.
    ///
    /// The store is bound to its folder and machine; this refuses a copy.
    ///
    /// - Returns: the store.
    /// - Throws: `player.fingerprint` for a copied folder; `player.store`, `player.store-damaged`, `player.vault`.
    package func savedItems() async throws(PlayerError) -> LicenseStore {
        if hasSavedItems {
            let store = try await licenses()
            try await finishRemovals(in: store)
            return store
        }
        if state == nil { try await update { _ in } }
        guard let state else { throw PlayerError(.store, "the player has no state") }
        try requireOriginal(state)
        let store = try await licenses()
        let bound = try await store.bind(to: .init(salt: state.salt, fingerprint: state.fingerprint))
        guard DeviceFingerprint.make(salt: bound.salt, folder: place) == bound.fingerprint else {
            throw PlayerError(.fingerprint, "the folder of this player was copied, or the machine is another one")
        }
        try await finishRemovals(in: store)
        hasSavedItems = true
        return store
    }

    /// Removes the licenses of items that were removed without the vault, by this process or another. A license that cannot be
    /// given back now is given back later.
    private func finishRemovals(in store: LicenseStore) async throws(PlayerError) {
        for license in try await store.removeLicensesOfRemovedItems() {
            do throws(PlayerError) { try await release(license) } catch {
                // it may have been removed otherwise
                guard error.code == .noLicense else { continue }
            }
            try await store.finishRemoval(of: license)
        }
    }

    /// Removes everything of a saved item.
    ///
    /// - Parameters:
    ///   - item: the item's id.
    ///   - givesBack: whether the licenses that no other item needs are returned to the service, now or at the next contact.
    /// - Returns: the licenses that were removed or returned.
    /// - Throws: the errors of ``savedItems()``.
    @discardableResult
    package func removeItem(_ item: String, givesBack: Bool = false) async throws(PlayerError) -> [String] {
        let store = try await savedItems()
        let own = try await store.removeItem(item, keepsLicenses: givesBack)
        if givesBack { try await finishRemovals(in: store) }
        return own
    }

    /// The time by which keys with an end are judged. Its mark is on the disk before this returns, within a minute: a clock that is
    /// set back extends nothing.
    ///
    /// - Returns: the time, and how sure it is.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func judgingTime() async throws(PlayerError) -> TrustedClock.Reading {
        let (store, host) = (try await licenses(), host)
        var clock = try await store.clock()
        let reading = clock.read(on: host)
        let (before, isAnchored) = (clock.mark, clock.isAnchored(on: host))
        clock.advance(on: host)
        if !isAnchored || clock.mark - before >= Self.markInterval { try await store.updateClock { $0.advance(on: host) } }
        return reading
    }

    private static var markInterval: Duration { .seconds(60) }
}
