// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelVault

/// A personalized copy of an app on a device: two keys, a certificate, and the account that it is linked to, if any.
package struct Player: Sendable, Equatable {
    package let id: String
    /// The thumbprint of its signing key (RFC 7638).
    package let signingKey: String
    /// The thumbprint of its key for agreement, and the point, 64 bytes.
    package let agreementKey: String
    package let agreementPoint: [UInt8]
    package let fingerprint: [UInt8]
    package var level: VaultLevel
    package var app: String
    package var build: String
    /// The name that its owner knows the device by; empty for none.
    package var name: String
    /// The account and the device slot that it is linked to.
    package var account: String?
    package var device: String?
    package var linkExpiresAt: Instant?
    package let createdAt: Instant
    package var seenAt: Instant
    /// The end of its newest certificate.
    package var expiresAt: Instant
    package var suspendedAt: Instant?
    package var suspendedBy: Suspension?
    package var revokedAt: Instant?
    /// The end of the last license that its store keeps, ``never`` for a license without an end; nil without a license.
    package var licensedUntil: Instant?
    /// The version of the list of revocations that its app reads.
    package var listVersion = 1
    /// The session that linked it; nil for another link, or none.
    var family: String?
    /// The time of its first license; nil without a license.
    package var licensedAt: Instant?

    /// The end of licenses that have none: 9999-12-31T23:59:59Z.
    package static let never = Instant(milliseconds: 253_402_300_799_000)

    /// The reason for a player's suspension.
    package enum Suspension: String, Sendable {
        /// Its account is.
        case account
        /// Staff suspended it.
        case staff
    }

    /// The state for lists.
    package var state: String {
        revokedAt != nil ? "revoked" : suspendedAt != nil ? "suspended" : "active"
    }
}
