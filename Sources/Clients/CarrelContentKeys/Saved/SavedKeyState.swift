// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelLicenseKeys
public import CarrelPlayer
import CarrelRights

/// Whether the keys of a saved item can be used now, and until when.
public struct SavedKeyState: Sendable, Equatable {
    /// Why the item cannot be played now.
    public enum Obstacle: String, Sendable {
        /// Its license or its order has expired: renew it.
        case expired
        /// It may be played later.
        case notYetValid = "not-yet-valid"
        /// It was played as often as it may be.
        case countExhausted = "count-exhausted"
        /// The clock of the device was set back: only a signed time of the service helps.
        case clockRollback = "clock-rollback"
        /// Its license was revoked, or its order was.
        case revoked
        /// A key is not here.
        case missing
        /// The license demands what this device does not do.
        case denied
    }

    /// Why it cannot be played; nil if it can.
    public internal(set) var obstacle: Obstacle?
    /// When the first of its keys ends; nil for never.
    public internal(set) var until: Instant?
    /// When a renewal is due; nil if none is.
    public internal(set) var renewAt: Instant?
    /// The licenses that have its keys.
    public internal(set) var licenses: [String] = []
    /// The number of its keys' names.
    public internal(set) var keys = 0

    init() {}
}

extension PlayerEngine {
    /// Whether the keys of a saved item can be used now. Nothing is counted or requested.
    ///
    /// - Parameter item: the id of the item.
    /// - Returns: the state; without an obstacle for an item without keys.
    /// - Throws: `player.fingerprint` for a copied folder; `player.store`, `player.store-damaged`, `player.vault`.
    public func savedKeyState(of item: String) async throws(PlayerError) -> SavedKeyState {
        let store = try await savedItems()
        let rows = try await store.savedKeys(ofItem: item)
        var state = SavedKeyState()
        state.keys = rows.count
        let time = try await judgingTime()
        func hinder(_ obstacle: SavedKeyState.Obstacle) { state.obstacle = state.obstacle ?? obstacle }
        func add(end: Instant?, renewAt: Instant?) {
            state.until = [state.until, end].compactMap(\.self).min()
            state.renewAt = [state.renewAt, renewAt].compactMap(\.self).min()
        }
        if try await store.hasRevokedKeys(ofItem: item) { hinder(.revoked) }
        for row in rows {
            if let license = row.license {
                guard !state.licenses.contains(license) else { continue }
                state.licenses.append(license)
                guard let terms = try await contactTerms(of: license) else {
                    hinder(.missing)
                    continue
                }
                let result = try await check(license: license, LicensedUse(action: .play, enforced: LicenseKeys.enforced))
                add(
                    end: result.isGranted ? result.until : try await licenses().license(license)?.expiresAt,
                    renewAt: terms.renewAt
                )
                if let reason = result.reason { hinder(SavedKeyState.Obstacle(reason)) }
            } else {
                add(end: row.until, renewAt: row.renewAt)
                if let obstacle = SavedKeyState.obstacle(of: row, at: time) { hinder(obstacle) }
            }
        }
        return state
    }
}

extension SavedKeyState {
    /// Why a key without a license may not be used; nil if it may.
    static func obstacle(of row: SavedKeyRow, at time: TrustedClock.Reading) -> Obstacle? {
        guard let until = row.until else { return nil }
        switch time.certainty {
        case .rolledBack: return .clockRollback
        case .unreadable: return .expired
        case .signed, .estimated, .farAhead: return until <= time.instant ? .expired : nil
        }
    }
}

extension SavedKeyState.Obstacle {
    fileprivate init(_ reason: ActionResult.Reason) {
        self =
            switch reason {
            case .expiredStorage, .expiredPlayback: .expired
            case .notYetValid: .notYetValid
            case .countExhausted: .countExhausted
            case .clockRollback: .clockRollback
            case .revoked: .revoked
            case .noLicense: .missing
            case .deviceMismatch, .unsupportedObligation, .concurrency, .outputNotAllowed: .denied
            }
    }

    /// The obstacle in words.
    var words: String {
        switch self {
        case .expired: "the order has ended"
        case .notYetValid: "the license is not valid yet"
        case .countExhausted: "the license was used as often as it allows"
        case .clockRollback: "the clock of this device was set back"
        case .revoked: "the license was revoked"
        case .missing: "the key is not here"
        case .denied: "the license does not allow the use on this device"
        }
    }
}
