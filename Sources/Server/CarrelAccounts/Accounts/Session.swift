// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// An account that is signed in somewhere: in a browser, or in an app on a device.
package struct Session: Sendable, Equatable {
    package let account: Account
    /// The device of the app; nil in a browser.
    package let deviceID: String?
    /// The family id that a renewed session shares with its predecessors.
    package let family: String
    package let createdAt: Instant
    package let expiresAt: Instant
    /// Time of last use, to the day.
    package let seenAt: Instant
    /// When its successor was issued; nil before.
    package let renewedAt: Instant?
    /// Whether it is one at the administrator's page.
    package let isStaff: Bool

    /// Sessions end after this time without use (OWASP ASVS 5.0 §7.3.1), …
    static let idleLife = Duration.seconds(180 * 24 * 3600)
    /// … and in any case after this time (§7.3.2).
    package static let life = Duration.seconds(400 * 24 * 3600)
    /// Time before its end at which a session becomes stale: apps then renew it.
    static let staleness = Duration.seconds(30 * 24 * 3600)
    /// Time for which a renewed session continues, because the response with its successor may have been lost.
    static let grace = Duration.seconds(600)
    /// Precision of ``seenAt``.
    static let seenStep = Duration.seconds(24 * 3600)

    package enum State: Sendable, Equatable {
        case live
        /// Live, but to be renewed.
        case stale
        case ended
        /// Used again long after its renewal: the token may be stolen.
        case reused
    }

    // Where it is called, so that a session need not be copied for it.
    @inline(__always)
    package func state(at now: Instant) -> State {
        if let renewedAt, now - renewedAt >= Self.grace { return .reused }
        if now >= expiresAt || now - seenAt >= Self.idleLife { return .ended }
        return renewedAt != nil || expiresAt - now <= Self.staleness ? .stale : .live
    }
}
