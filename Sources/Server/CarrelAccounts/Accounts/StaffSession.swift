// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A member of staff who is signed in at the administrator's page.
package struct StaffSession: Sendable, Equatable {
    package let account: Account
    /// The account's current role, not its role at sign-in.
    package let role: Role
    package let createdAt: Instant
    package let expiresAt: Instant
    /// Time of last use, to the minute.
    let seenAt: Instant

    package init(account: Account, role: Role, createdAt: Instant, expiresAt: Instant, seenAt: Instant) {
        self.account = account
        self.role = role
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.seenAt = seenAt
    }

    /// A session ends after a working day, …
    package static let life = Duration.seconds(8 * 3600)
    /// … and after this time without use (OWASP ASVS 5.0 §7.3.1).
    static let idleLife = Duration.seconds(30 * 60)
    /// Precision of ``seenAt``.
    static let seenStep = Duration.seconds(60)

    func isLive(at now: Instant) -> Bool {
        now < expiresAt && now - seenAt < Self.idleLife && role.isStaff && !account.isSuspended
    }
}
