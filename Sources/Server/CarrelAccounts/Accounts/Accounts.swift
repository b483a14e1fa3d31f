// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
package import CarrelStore

/// Accounts, the sessions of their browsers and apps, and the keys of back offices.
///
/// Tokens are opaque: a prefix, 32 random bytes and a 4-byte checksum that drops garbage without asking the database. Only their
/// SHA-256 is stored.
package struct Accounts: Sendable {
    let database: any Database
    let clock: any WallClock
    package let sessions: Sessions

    package init(database: any Database, clock: any WallClock, sessions: Sessions) {
        self.database = database
        self.clock = clock
        self.sessions = sessions
    }

    /// The account of that name, created when it is new.
    package func findOrCreate(named name: String) async throws -> Account {
        let name = try Account.checkedName(name)
        let fresh = Account(id: Random.uuid(), name: name)
        let now = clock.now
        return try await database.write { try AccountStore.findOrInsert(fresh, at: now, in: $0) }
    }

    /// The account of that name, or nil.
    package func find(named name: String) async throws -> Account? {
        try await database.read { try AccountStore.account(named: name, in: $0) }
    }

    /// The data of an account that sign-in needs; nil if the account is gone.
    package func signInRecord(of account: Account) async throws -> SignInRecord? {
        try await database.read { try AccountStore.signInRecord(named: account.name, in: $0) }
    }

    /// The name of a current or erased account, whose orders remain.
    package func name(ofID id: String) async throws -> String {
        guard let name = try await database.read({ try AccountStore.name(ofID: id, in: $0) }) else {
            throw Account.unknown
        }
        return name
    }

    // MARK: Signing in without a password

    static let linkPrefix = "cl_"
    /// Lifetime of a sign-in link.
    static let linkLife = Duration.seconds(3600)
    private static let linkPurpose = "sign-in"

    /// Makes the token of a link that signs a browser in once; the text is shown once and never stored.
    package func makeSignInLink(for account: Account, by actor: AuditActor = .operator) async throws -> String {
        let token = OpaqueToken.make(prefix: Self.linkPrefix)
        let now = clock.now
        try await database.write {
            try AccountStore.insertLink(
                token.hash,
                account: account.id,
                purpose: Self.linkPurpose,
                created: now,
                expires: now + Self.linkLife,
                in: $0
            )
            try AuditStore.append(actor.entry("sign-in-link.create", on: account.id, at: now), in: $0)
        }
        return token.text
    }

    /// Whom a link signs in; nil if it is unknown, used or too old. Asking does not use it up.
    package func account(ofSignInLink text: String) async throws -> Account? {
        guard let link = OpaqueToken(text, prefix: Self.linkPrefix) else { return nil }
        let now = clock.now
        let account = try await database.readBriefly {
            try AccountStore.account(ofLink: link.hash, purpose: Self.linkPurpose, at: now, in: $0)
        }
        return account?.isSuspended == false ? account : nil
    }

    /// Redeems the token of a link: it works once, and its account gets a session.
    ///
    /// - Returns: the session's token, or nil if the link is unknown, used or too old.
    package func redeemSignInLink(_ text: String, requestID: String = "") async throws -> String? {
        guard let link = OpaqueToken(text, prefix: Self.linkPrefix) else { return nil }
        let (token, family, now) = (OpaqueToken.make(prefix: Sessions.prefix), Random.uuid(), clock.now)
        let redeemed = try await database.write { transaction -> Bool in
            guard
                let account = try AccountStore.account(
                    ofLink: link.hash,
                    purpose: Self.linkPurpose,
                    at: now,
                    in: transaction
                ), !account.isSuspended
            else { return false }
            try AccountStore.deleteSession(link.hash, in: transaction)
            try sessions.insert(token, family: family, account: account.id, device: nil, at: now, in: transaction)
            let entry = AuditActor(account.id, requestID: requestID).entry(
                "session.start",
                on: account.id,
                at: now,
                reason: "link"
            )
            try AuditStore.append(entry, in: transaction)
            return true
        }
        return redeemed ? token.text : nil
    }

    /// Issues a session's token for `account`; the text is shown once and never stored.
    package func issueSession(for account: Account, by actor: AuditActor = .operator) async throws -> String {
        let (token, family, now) = (OpaqueToken.make(prefix: Sessions.prefix), Random.uuid(), clock.now)
        try await database.write {
            try sessions.insert(token, family: family, account: account.id, device: nil, at: now, in: $0)
            try AuditStore.append(actor.entry("session.issue", on: account.id, at: now), in: $0)
        }
        return token.text
    }

    /// Opens a browser session after a correct password.
    ///
    /// - Parameters:
    ///   - record: the account's state when the password was checked.
    ///   - rehash: a hash of the same password that replaces the old one.
    ///   - actor: the actor for the audit log.
    /// - Returns: the session's token, which is shown once and never stored.
    /// - Throws: ``ServerError`` `unauthenticated` when the password was changed meanwhile.
    package func startSession(of record: SignInRecord, rehash: String?, by actor: AuditActor) async throws -> String {
        let (token, family, account) = (OpaqueToken.make(prefix: Sessions.prefix), Random.uuid(), record.account)
        let entry = actor.entry("session.start", on: account.id, at: clock.now)
        try await database.write {
            try PasswordCheck.requireUnchanged(record, in: $0) {
                ServerError(.unauthenticated, "the password was changed while it was checked")
            }
            if let rehash { try AccountStore.setPassword(rehash, of: account.id, in: $0) }
            try sessions.insert(token, family: family, account: account.id, device: nil, at: entry.at, in: $0)
            try AuditStore.append(entry, in: $0)
        }
        return token.text
    }

    /// The live session of a token whose account is open. One that was reused ends, with all that came of it.
    package func session(of text: String, requestID: String = "") async throws -> Session? {
        guard let token = Sessions.token(text), let (session, state) = try await sessions.find(token) else { return nil }
        if state == .reused { try await sessions.endReused(token, by: .unauthenticated(requestID)) }
        guard state == .live || state == .stale, !session.account.isSuspended else { return nil }
        try await sessions.touch(seenAt: session.seenAt, token.hash)
        return session
    }

    /// Ends a session in a browser.
    package func endSession(_ text: String, requestID: String) async throws {
        guard let token = Sessions.token(text), let (session, _) = try await sessions.find(token) else { return }
        let actor = AuditActor(session.account.id, requestID: requestID)
        let entry = actor.entry("session.end", on: session.family, at: clock.now)
        try await database.write {
            try AccountStore.deleteSession(token.hash, in: $0)
            try AuditStore.append(entry, in: $0)
        }
    }

    // MARK: Back-office keys

    static let keyPrefix = "ck_"

    /// Creates a back-office key.
    ///
    /// - Returns: the key's record and its text, which is shown once and never stored.
    package func createServiceKey(
        name: String,
        role: Role,
        by actor: AuditActor = .operator
    ) async throws -> (key: ServiceKey, text: String) {
        guard role.isForKeys else { throw ServerError(.invalid, "a back-office key has the role service, portal or admin") }
        let token = OpaqueToken.make(prefix: Self.keyPrefix)
        let key = ServiceKey(
            id: Random.uuid(),
            name: try Account.checkedName(name),
            role: role,
            createdAt: clock.now,
            revokedAt: nil
        )
        let entry = actor.entry("service-key.create", on: key.id, at: key.createdAt, reason: role.rawValue)
        try await database.write { transaction in
            try AccountStore.insertServiceKey(key, hash: token.hash, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return (key, token.text)
    }

    package func serviceKeys() async throws -> [ServiceKey] {
        try await database.read { try AccountStore.serviceKeys(in: $0) }
    }

    /// Revokes a key immediately. Revoking it again changes nothing.
    package func revokeServiceKey(_ id: String, by actor: AuditActor = .operator) async throws {
        let entry = actor.entry("service-key.revoke", on: id, at: clock.now)
        try await database.write { transaction in
            guard try AccountStore.revokeServiceKey(id, at: entry.at, in: transaction) else {
                throw ServerError(.notFound, "there is no back-office key \(id)")
            }
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// The live key of that text, or nil.
    package func serviceKey(ofToken text: String) async throws -> ServiceKey? {
        guard let token = OpaqueToken(text, prefix: Self.keyPrefix) else { return nil }
        return try await database.read { try AccountStore.serviceKey(hash: token.hash, in: $0) }
    }
}
