// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelStore

/// App passwords: create, list, revoke, verify. Every change is in the audit log.
package struct AppPasswords: Sendable {
    let database: any Database
    let clock: any WallClock

    /// App passwords that one account may have.
    static let limit = 50
    /// Precision of ``AppPassword/seenAt``.
    private static let seenStep = Duration.seconds(24 * 3600)

    /// Makes an app password.
    ///
    /// - Returns: its record, and its text, which is shown once and never stored.
    /// - Throws: ``ServerError`` `invalid` for a name that cannot be listed, no scope, or an end that is over; `conflict` when the
    ///   account has as many as it may.
    package func create(
        for account: Account,
        name: String,
        scopes: Set<AppPassword.Scope>,
        expiresAt: Instant? = nil,
        by actor: AuditActor
    ) async throws -> (password: AppPassword, text: String) {
        guard !name.isEmpty, name.utf8.count <= 100, !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
        else { throw ServerError(.invalid, "the name of an app password has 1 to 100 bytes and no control characters") }
        guard !scopes.isEmpty else { throw ServerError(.invalid, "an app password has at least one scope") }
        let (secret, now) = (AppPassword.Secret.random(), clock.now)
        if let expiresAt, expiresAt <= now { throw ServerError(.invalid, "the end of an app password must be in the future") }
        let password = AppPassword(
            id: Random.uuid(),
            accountID: account.id,
            name: name,
            scopes: scopes,
            createdAt: now,
            expiresAt: expiresAt
        )
        let entry = actor.entry("app-password.create", on: account.id, at: now, reason: password.id)
        try await database.write { transaction in
            guard try AccountStore.account(id: account.id, in: transaction) != nil else { throw Account.unknown }
            guard try AppPasswordStore.passwords(of: account.id, in: transaction).count < Self.limit else {
                throw ServerError(.conflict, "an account has at most \(Self.limit) app passwords: revoke one first")
            }
            try AppPasswordStore.insert(password, hash: secret.hash, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return (password, secret.text)
    }

    /// The app passwords of an account, the oldest first.
    package func list(of account: Account) async throws -> [AppPassword] {
        try await database.read { try AppPasswordStore.passwords(of: account.id, in: $0) }
    }

    /// Revokes an app password immediately.
    package func revoke(_ id: String, of account: Account, by actor: AuditActor) async throws {
        let entry = actor.entry("app-password.revoke", on: account.id, at: clock.now, reason: id)
        try await database.write { transaction in
            guard try AppPasswordStore.delete(id, of: account.id, in: transaction) else {
                throw ServerError(.notFound, "the account has no such app password")
            }
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// Finds the account of that name if the text is one of its app passwords with the scope.
    ///
    /// There is no throttling: 120 bits cannot be guessed.
    func account(named name: String, text: String, scope: AppPassword.Scope) async throws -> Account? {
        guard let secret = AppPassword.Secret(text) else { return nil }
        let (hash, now) = (secret.hash, clock.now)
        guard let (account, password) = try await database.read({ try AppPasswordStore.password(hash: hash, in: $0) }),
            account.name == name, !account.isSuspended, password.scopes.contains(scope),
            password.expiresAt.map({ now < $0 }) ?? true
        else { return nil }
        if password.seenAt.map({ now - $0 >= Self.seenStep }) ?? true {
            try await database.write { try AppPasswordStore.markSeen(password.id, at: now, in: $0) }
        }
        return account
    }
}
