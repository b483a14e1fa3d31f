// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
package import CarrelPasswords
import CarrelStore

/// Operations of operator and support on accounts. Every change is in the audit log, in its own transaction.
package struct AccountAdministration: Sendable {
    let database: any Database
    package let clock: any WallClock
    package let passwords: PasswordHashing
    let lifecycle: AccountLifecycle

    /// Creates an account; an account without a password signs in by link or through a provider.
    ///
    /// Throws ``ServerError`` `conflict` if the name is taken, and `invalid` if the password is too short, too long or too
    /// common.
    package func create(
        _ name: String,
        password: String? = nil,
        deviceLimit: Int? = nil,
        by actor: AuditActor
    ) async throws -> Account {
        let fresh = Account(id: Random.uuid(), name: try Account.checkedName(name))
        let hash = try await hash(password)
        let entry = actor.entry("account.create", on: fresh.id, at: clock.now)
        return try await database.write { transaction in
            let account = try AccountStore.findOrInsert(fresh, at: entry.at, in: transaction)
            guard account.id == fresh.id else { throw ServerError(.conflict, "there is an account '\(name)' already") }
            if let hash { try AccountStore.setPassword(hash, of: account.id, in: transaction) }
            if let deviceLimit { try AccountStore.setDeviceLimit(deviceLimit, of: account.id, in: transaction) }
            try AuditStore.append(entry, in: transaction)
            return account
        }
    }

    /// The operator's changes to an account, applied as a whole.
    package struct Change: Sendable {
        /// A new password: all sessions and app passwords end, and the credentials of editions.
        package var password: String?
        /// Suspends the account, which stops its orders and revokes its edition credentials; or resumes it.
        package var isSuspended: Bool?
        /// The device limit; the inner nil leaves it to the plans and the configuration.
        package var deviceLimit: Int??

        package init(password: String? = nil, isSuspended: Bool? = nil, deviceLimit: Int?? = nil) {
            self.password = password
            self.isSuspended = isSuspended
            self.deviceLimit = deviceLimit
        }
    }

    /// Changes an account in one transaction, with an entry in the audit log for each changed property.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - change: the changes.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `invalid` for an invalid password, `conflict` if no owner would be left or the account's
    ///   credentials were revoked (promotion, suspension, another password) while this one was hashed, `notFound`.
    package func change(_ id: String, _ change: Change, by actor: AuditActor) async throws {
        let serial = change.password == nil ? nil : try await database.read { try RevocationStore.serial(ofAccount: id, in: $0) }
        let (hash, now) = (try await hash(change.password), clock.now)
        let suspension = change.isSuspended == true ? "account.suspend" : "account.resume"
        let (password, suspended, limited) = (
            actor.entry("account.password", on: id, at: now), actor.entry(suspension, on: id, at: now),
            actor.entry("account.device-limit", on: id, at: now)
        )
        try await lifecycle.write(in: database) { transaction, changes in
            guard try AccountStore.account(id: id, in: transaction) != nil else { throw Account.unknown }
            if let hash {
                guard try RevocationStore.serial(ofAccount: id, in: transaction) == serial else {
                    throw ServerError(.conflict, "the account was changed while the password was prepared: try again")
                }
                try Self.replacePassword(hash, of: id, by: actor, at: now, changes, in: transaction)
                try AuditStore.append(password, in: transaction)
            }
            if let isSuspended = change.isSuspended {
                try AccountStore.setSuspended(at: isSuspended ? now : nil, id, in: transaction)
                try changes.note(isSuspended ? .suspended : .resumed, of: id, by: actor, at: now, in: transaction)
                try AuditStore.append(suspended, in: transaction)
            }
            if let limit = change.deviceLimit {
                try AccountStore.setDeviceLimit(limit, of: id, in: transaction)
                try AuditStore.append(limited, in: transaction)
            }
        }
    }

    /// Changes an account's password on the owner's request, and ends all its other sessions.
    ///
    /// - Parameters:
    ///   - password: the new password.
    ///   - session: the session that continues.
    ///   - record: the account's state when the old password was verified.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `invalid` for a password that is too short, too long or too common, `conflict` if the old one
    ///   was changed meanwhile.
    package func changePassword(
        to password: String,
        keeping session: Session,
        checked record: SignInRecord,
        by actor: AuditActor
    ) async throws {
        guard let hash = try await hash(password) else { return }
        let entry = actor.entry("account.password", on: record.account.id, at: clock.now, reason: "owner")
        try await lifecycle.write(in: database) { transaction, changes in
            guard let account = try AccountStore.account(id: record.account.id, in: transaction) else { throw Account.unknown }
            try PasswordCheck.requireUnchanged(record, in: transaction) {
                ServerError(.conflict, "the password was changed while it was checked")
            }
            try Self.replacePassword(hash, of: account.id, keeping: session, by: actor, at: entry.at, changes, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    // MARK: Choosing a new password

    static let resetPrefix = "cr_"
    /// Lifetime of a reset link.
    static let resetLife = Duration.seconds(3600)
    private static let resetPurpose = "reset"

    /// Makes the token of a link by which the account's owner chooses a new password, once, within an hour.
    ///
    /// - Returns: its text, which is shown once and never stored.
    package func makeResetLink(for id: String, by actor: AuditActor) async throws -> String {
        let token = Self.freshResetToken()
        let now = clock.now
        try await database.write { transaction in
            guard try AccountStore.account(id: id, in: transaction) != nil else { throw Account.unknown }
            try Self.insertResetLink(token, for: id, at: now, in: transaction)
            try AuditStore.append(actor.entry("account.reset-link", on: id, at: now), in: transaction)
        }
        return token.text
    }

    static func freshResetToken() -> OpaqueToken { OpaqueToken.make(prefix: resetPrefix) }

    /// Stores a one-time token that changes an account's password.
    static func insertResetLink(
        _ token: OpaqueToken,
        for account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        try AccountStore.insertLink(
            token.hash,
            account: account,
            purpose: resetPurpose,
            created: now,
            expires: now + resetLife,
            in: transaction
        )
    }

    /// The account of a valid reset link; nil if the link is unknown, used or expired. Does not use the link up.
    package func account(ofResetLink text: String) async throws -> Account? {
        guard let token = OpaqueToken(text, prefix: Self.resetPrefix) else { return nil }
        let now = clock.now
        let account = try await database.read {
            try AccountStore.account(ofLink: token.hash, purpose: Self.resetPurpose, at: now, in: $0)
        }
        return account?.isSuspended == false ? account : nil
    }

    /// Resets the password of a reset link's account, and ends its links, sessions and app passwords.
    ///
    /// - Returns: false if the link is unknown, used or expired.
    /// - Throws: ``ServerError`` `invalid` for a password that is too short, too long or too common; the link stays valid.
    package func reset(_ text: String, to password: String, requestID: String) async throws -> Bool {
        guard try await account(ofResetLink: text) != nil, let hash = try await hash(password),
            let token = OpaqueToken(text, prefix: Self.resetPrefix)
        else { return false }
        let now = clock.now
        return try await lifecycle.write(in: database) { transaction, changes in
            guard
                let account = try AccountStore.account(ofLink: token.hash, purpose: Self.resetPurpose, at: now, in: transaction),
                !account.isSuspended
            else { return false }
            let actor = AuditActor(account.id, requestID: requestID)
            try Self.replacePassword(hash, of: account.id, by: actor, at: now, changes, in: transaction)
            let entry = actor.entry("account.password", on: account.id, at: now, reason: "reset")
            try AuditStore.append(entry, in: transaction)
            return true
        }
    }

    package func find(_ id: String) async throws -> Account {
        guard let account = try await database.read({ try AccountStore.account(id: id, in: $0) }) else { throw Account.unknown }
        return account
    }

    package func details(of id: String) async throws -> AccountDetails {
        guard let details = try await database.read({ try AccountStore.details(id: id, in: $0) }) else { throw Account.unknown }
        return details
    }

    /// Accounts in the order of their creation whose names hold a text, after the last of the page before.
    package func list(
        matching text: String = "",
        after: (Instant, String)?,
        limit: Int
    ) async throws -> [(account: Account, createdAt: Instant)] {
        try await database.read { try AccountStore.list(matching: text, after: after, limit: limit, in: $0) }
    }

    private func hash(_ password: String?) async throws -> String? {
        guard let password else { return nil }
        if let problem = PasswordPolicy.problem(with: password) { throw ServerError(.invalid, problem) }
        return try await passwords.hash(password)
    }
}
