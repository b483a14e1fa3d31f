// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelPasswords
import CarrelStore
import CarrelWebAPI

/// The staff of the service: their sign-in at the administrator's page, their roles, and the setup of the first owner.
package struct Staff: Sendable {
    let database: any Database
    let clock: any WallClock
    let passwords: PasswordHashing
    let check: PasswordCheck
    let lifecycle: AccountLifecycle
    let audit: AuditFold

    package static let sessionPrefix = "ct_"
    static let linkPrefix = "cu_"
    /// Lifetime of a setup link.
    package static let linkLife = Duration.seconds(3600)

    // MARK: Sessions

    /// Signs a member of staff in by name and password. Whatever is wrong, the answer and its time are the same.
    ///
    /// - Parameters:
    ///   - name: the account's name, as typed.
    ///   - password: its password, as typed.
    ///   - address: the client's network address, for throttling.
    ///   - requestID: names the request in the audit log.
    /// - Returns: the session and the token of its cookie, which is never stored.
    /// - Throws: 401 `staff.not-recognized`, 429 `staff.throttled` with `Retry-After`.
    func signIn(
        _ name: String,
        _ password: String,
        address: String,
        requestID: String
    ) async throws -> (session: StaffSession, token: String) {
        let attempt = PasswordCheck.Attempt(name: name, password: password, address: address, requestID: requestID)
        let (record, rehash): (SignInRecord, String?)
        switch try await check.run(attempt) {
        case .throttled(let wait):
            throw RuleError(
                .throttled,
                "staff.throttled",
                "too many attempts: try again in \(PasswordCheck.words(for: wait))",
                retryAfter: max(1, wait.components.seconds)
            )
        case .wrong: throw Self.notRecognised
        case .right(let found, let hash): (record, rehash) = (found, hash)
        }
        let account = record.account
        let role = try await role(of: account.id)
        guard role.isStaff, !account.isSuspended else {
            let (actor, reason) = (
                AuditActor.unauthenticated(requestID), account.isSuspended ? "suspended" : "role"
            )
            try await audit.recordRefused("staff.sign-in", of: account.id, by: actor, at: clock.now, reason: reason)
            throw Self.notRecognised
        }
        let (session, token, family) = fresh(account, role)
        let entry = AuditActor(account.id, requestID: requestID).entry("staff.sign-in", on: account.id, at: clock.now)
        try await database.write { transaction in
            try PasswordCheck.requireUnchanged(record, in: transaction) { Self.notRecognised }
            if let rehash { try AccountStore.setPassword(rehash, of: account.id, in: transaction) }
            try StaffStore.insert(session, hash: token.hash, family: family, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return (session, token.text)
    }

    private static let notRecognised = RuleError(
        .unauthenticated,
        "staff.not-recognised",
        "wrong name or password, or the account has no staff role"
    )

    private func fresh(_ account: Account, _ role: Role) -> (StaffSession, OpaqueToken, family: String) {
        let now = clock.now
        let session = StaffSession(account: account, role: role, createdAt: now, expiresAt: now + StaffSession.life, seenAt: now)
        return (session, OpaqueToken.make(prefix: Self.sessionPrefix), Random.uuid())
    }

    /// The live session of a cookie's token; nil if there is none.
    func session(_ text: String) async throws -> StaffSession? {
        guard let token = OpaqueToken(text, prefix: Self.sessionPrefix) else { return nil }
        let now = clock.now
        guard let session = try await database.readBriefly({ try StaffStore.session(token.hash, in: $0) }),
            session.isLive(at: now)
        else {
            return nil
        }
        if now - session.seenAt >= StaffSession.seenStep {
            try await database.write { try SessionStore.markSeen(token.hash, at: now, in: $0) }
        }
        return session
    }

    func signOut(_ text: String, by actor: AuditActor) async throws {
        guard let token = OpaqueToken(text, prefix: Self.sessionPrefix) else { return }
        let entry = actor.entry("staff.sign-out", on: actor.id, at: clock.now)
        try await database.write { transaction in
            guard try StaffStore.session(token.hash, in: transaction) != nil else { return }
            try AccountStore.deleteSession(token.hash, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    // MARK: The first owner

    /// Whether there is an owner who can sign in.
    package func hasOwner() async throws -> Bool {
        try await database.read { try StaffStore.ownerCount(in: $0) } > 0
    }

    /// Makes the token of a link that creates an owner, once, within an hour. Stores only its hash.
    package func makeSetupLink(by actor: AuditActor) async throws -> String {
        let token = OpaqueToken.make(prefix: Self.linkPrefix)
        let entry = actor.entry("setup-link.create", on: "", at: clock.now)
        try await database.write { transaction in
            try StaffStore.insertLink(token.hash, created: entry.at, expires: entry.at + Self.linkLife, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return token.text
    }

    /// Creates an owner through a setup link, and signs them in. All setup links become invalid.
    ///
    /// - Parameters:
    ///   - link: the token of the link.
    ///   - name: the name of the account, which must be new.
    ///   - password: its password.
    ///   - requestID: the request's id in the audit log.
    /// - Returns: the session and the token of its cookie, which is never stored.
    /// - Throws: 403 `staff.link` for a link that is unknown, used or too old; ``ServerError`` `invalid` for an invalid name or
    ///   password, `conflict` for a taken name. The link then stays valid.
    func setUp(
        _ link: String,
        name: String,
        password: String,
        requestID: String
    ) async throws -> (session: StaffSession, token: String) {
        guard let link = OpaqueToken(link, prefix: Self.linkPrefix) else { throw Self.deadLink }
        let checking = clock.now
        guard try await database.read({ try StaffStore.hasLink(link.hash, at: checking, in: $0) }) else { throw Self.deadLink }
        let account = Account(id: Random.uuid(), name: try Account.checkedName(name))
        if let problem = PasswordPolicy.problem(with: password) { throw ServerError(.invalid, problem) }
        let hash = try await passwords.hash(password)
        let (session, token, family) = fresh(account, .owner)
        let entry = AuditActor(account.id, requestID: requestID).entry("staff.setup", on: account.id, at: clock.now)
        try await database.write { transaction in
            guard try StaffStore.hasLink(link.hash, at: entry.at, in: transaction) else { throw Self.deadLink }
            guard try AccountStore.findOrInsert(account, at: entry.at, in: transaction).id == account.id else {
                throw ServerError(.conflict, "there is an account '\(name)' already: choose another name")
            }
            try AccountStore.setPassword(hash, of: account.id, in: transaction)
            try StaffStore.setRole(.owner, of: account.id, in: transaction)
            try StaffStore.deleteLinks(in: transaction)
            try StaffStore.insert(session, hash: token.hash, family: family, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return (session, token.text)
    }

    static let deadLink = RuleError(
        .forbidden,
        "staff.link",
        "this setup link was used or has expired: create another with 'carrel admin setup-link'"
    )

    // MARK: Roles

    /// All accounts with a staff role, with their creation time.
    package func members() async throws -> [(account: Account, role: Role, createdAt: Instant)] {
        try await database.read { try StaffStore.members(in: $0) }
    }

    /// The role of an account; `reader` by default.
    package func role(of account: String) async throws -> Role {
        try await database.read { try StaffStore.role(of: account, in: $0) } ?? .reader
    }

    /// Sets the role of an account. A demoted account is signed out of the administrator's page. An account that becomes staff
    /// loses, in the same transaction, all access that others may have prepared, and its person receives a link to choose a
    /// password.
    ///
    /// - Returns: the token of that link, which is never stored; nil if the account does not become staff.
    /// - Throws: ``ServerError`` `invalid` for a role for keys only, `conflict` if no owner would be left.
    @discardableResult
    package func setRole(_ role: Role, of account: Account, by actor: AuditActor) async throws -> String? {
        guard role.isStaff || role == .reader else {
            throw ServerError(.invalid, "the role '\(role.rawValue)' is only for back-office keys")
        }
        let entry = actor.entry("staff.role", on: account.id, at: clock.now, reason: role.rawValue)
        let token = AccountAdministration.freshResetToken()
        return try await lifecycle.write(in: database) { transaction, changes in
            guard let before = try StaffStore.role(of: account.id, in: transaction) else { throw Account.unknown }
            try StaffStore.setRole(role, of: account.id, in: transaction)
            if before == .owner { try LastOwner.requireOne(in: transaction) }
            if !role.isStaff { try StaffStore.deleteSessions(of: account.id, in: transaction) }
            try AuditStore.append(entry, in: transaction)
            guard role.isStaff, !before.isStaff else { return nil }
            try AccountAdministration.clearWaysIn(to: account.id, by: actor, at: entry.at, changes, in: transaction)
            try AccountAdministration.insertResetLink(token, for: account.id, at: entry.at, in: transaction)
            return token.text
        }
    }
}
