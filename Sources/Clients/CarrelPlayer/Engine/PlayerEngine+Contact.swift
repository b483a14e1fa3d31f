// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelJSON
import CarrelRights

extension PlayerEngine {
    /// When a license asks for contact with its service.
    package struct ContactTerms: Sendable, Equatable {
        /// When a renewal should be requested; nil if the license does not say.
        package var renewAt: Instant?
        /// The seconds between two contacts without which the license may not be used; nil if it may be used without contact.
        package var attendedSeconds: Int?
        /// The time by which licenses are judged.
        package var now: Instant
        /// The number of the license, which a renewal increases.
        package var sequence: Int
    }

    /// Returns when a license asks for contact with its service.
    ///
    /// - Parameter id: the license.
    /// - Returns: the terms; nil if the license is not here any more.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func contactTerms(of id: String) async throws(PlayerError) -> ContactTerms? {
        let license: License
        if let stream = streams[id] {
            license = stream.record.license
        } else if let row = try await licenses().row(id) {
            license = try await record(row).license
        } else {
            return nil
        }
        let attended = license.obligations.filter { $0.type == Obligation.Kind.attended.rawValue }
        return ContactTerms(
            renewAt: license.terms.renewAt,
            attendedSeconds: attended.map { max(1, $0.parameters["seconds"]?.int ?? 1) }.min(),
            now: try await trustedTime().instant,
            sequence: license.sequence
        )
    }

    /// Whether the keys of an order's audiobook rotate, by its license.
    ///
    /// - Parameter id: the license.
    /// - Returns: nil if the license does not say, or is not here any more.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func rotatesKeys(_ id: String) async throws(PlayerError) -> Bool? {
        if let stream = streams[id] { return stream.record.license.rotatesKeys }
        guard let row = try await licenses().row(id) else { return nil }
        return try await record(row).license.rotatesKeys
    }

    /// Contacts the service of a license: renews it.
    ///
    /// - Parameter id: the license.
    /// - Throws: ``PlayerError``.
    package func contactService(of id: String) async throws(PlayerError) {
        if streams[id] != nil { return try await renewStream(id) }
        let before = try await sequence(of: id)
        do throws(PlayerError) {
            try await renew(id)
        } catch {
            // another use or process may have renewed it meanwhile: the answer for this one is then older than the stored license
            guard error.code == .rejected, let now = try await sequence(of: id), now > before ?? 0 else { throw error }
            try await renew(id)
        }
    }

    private func sequence(of id: String) async throws(PlayerError) -> Int? {
        guard let row = try await licenses().row(id) else { return nil }
        return try await record(row).license.sequence
    }

    /// The time of the device's clock at which the trusted clock will show a time.
    package func deviceTime(of instant: Instant) async -> Instant {
        guard let trusted = try? await trustedTime().instant else { return instant }
        let difference = clock.now - trusted
        return difference > .seconds(1) || difference < .seconds(-1) ? instant + difference : instant
    }
}
