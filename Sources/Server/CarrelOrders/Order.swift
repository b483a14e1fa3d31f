// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A grant of one title to one account.
package struct Order: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Without an end.
        case sale
        /// Until `endsAt`.
        case loan
    }

    /// The stored state of the order. Whether it has started or expired depends on the clock: see ``availability(at:)``.
    package enum State: String, Sendable, CaseIterable {
        /// Never played nor downloaded: its key has not been issued.
        case ready
        /// Its key has been issued.
        case active
        /// Given back before its end.
        case returned
        /// Withdrawn by the shop or library.
        case revoked
        /// Cancelled before the key was issued.
        case cancelled
    }

    /// Whether an order lets its title be played at some instant, and if not, why.
    package enum Availability: String, Sendable {
        case live
        case notStarted = "not-started"
        case expired
        case returned
        case revoked
        case cancelled
    }

    /// A random GUID, lower case.
    package let id: String
    /// The shop's own number, by which a repeated request is recognized.
    package let number: String?
    package let accountID: String
    package let titleID: String
    package let kind: Kind
    package var state: State
    package let startsAt: Instant?
    package let endsAt: Instant?
    package let createdAt: Instant
    package var activatedAt: Instant?
    package var endedAt: Instant?

    package func availability(at now: Instant) -> Availability {
        switch state {
        case .returned: return .returned
        case .revoked: return .revoked
        case .cancelled: return .cancelled
        case .ready, .active: break
        }
        if let startsAt, now < startsAt { return .notStarted }
        if let endsAt, now >= endsAt { return .expired }
        return .live
    }

    /// Whether it was taken back by the shop or library.
    package var isWithdrawn: Bool { state == .revoked || state == .cancelled }

    /// When the order stopped or will stop to be live, if ever: intervals that began before it still count.
    package var end: Instant? {
        switch (endedAt, endsAt) {
        case (let a?, let b?): min(a, b)
        case (let a, let b): a ?? b
        }
    }

    /// The state reported to clients: `expired` depends on the clock, the others are stored.
    package func publicState(at now: Instant) -> String {
        availability(at: now) == .expired ? "expired" : state.rawValue
    }
}
