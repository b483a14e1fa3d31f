// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelStore

/// The SQL of app passwords.
package enum AppPasswordStore {
    static let insert = SQL(
        """
        INSERT INTO app_passwords (id, account_id, name, scopes, secret_hash, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """
    )
    static let byAccount = SQL(
        """
        SELECT id, account_id, name, scopes, created_at, seen_at, expires_at FROM app_passwords WHERE account_id = $1
        ORDER BY created_at, id
        """
    )
    static let byHash = SQL(
        """
        SELECT app_passwords.id, app_passwords.account_id, app_passwords.name, app_passwords.scopes, app_passwords.created_at,
            app_passwords.seen_at, app_passwords.expires_at, accounts.name, accounts.suspended_at
        FROM app_passwords JOIN accounts ON accounts.id = app_passwords.account_id
        WHERE app_passwords.secret_hash = $1
        """
    )
    static let markSeen = SQL("UPDATE app_passwords SET seen_at = $2 WHERE id = $1")
    static let delete = SQL("DELETE FROM app_passwords WHERE id = $1 AND account_id = $2")
    static let deleteAll = SQL("DELETE FROM app_passwords")
    static let deleteOfAccount = SQL("DELETE FROM app_passwords WHERE account_id = $1")

    package static let statements = [insert, byAccount, byHash, markSeen, delete, deleteAll, deleteOfAccount]

    static func insert(_ password: AppPassword, hash: [UInt8], in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(password.id), .text(password.accountID), .text(password.name),
            .text(password.scopes.map(\.rawValue).sorted().joined(separator: " ")), .blob(hash), .instant(password.createdAt),
            .instant(password.expiresAt),
        ]
        _ = try transaction.run(insert, values)
    }

    static func passwords(of account: String, in transaction: any Transaction) throws -> [AppPassword] {
        try transaction.rows(byAccount, [.text(account)]).map(password)
    }

    static func password(hash: [UInt8], in transaction: any Transaction) throws -> (Account, AppPassword)? {
        try transaction.row(byHash, [.blob(hash)]).map { row in
            let password = try password(row)
            let isSuspended = try row.integerIfPresent(8) != nil
            return (Account(id: password.accountID, name: try row.text(7), isSuspended: isSuspended), password)
        }
    }

    static func markSeen(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(markSeen, [.text(id), .instant(now)])
    }

    /// Whether the account had such an app password.
    static func delete(_ id: String, of account: String, in transaction: any Transaction) throws -> Bool {
        try transaction.run(delete, [.text(id), .text(account)]) == 1
    }

    /// Deletes all app passwords of all accounts, and returns how many there were.
    package static func deleteAll(in transaction: any Transaction) throws -> Int { try transaction.run(deleteAll, []) }

    static func deleteAll(ofAccount account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteOfAccount, [.text(account)])
    }

    private static func password(_ row: Row) throws -> AppPassword {
        // A scope that this version does not know opens nothing.
        let scopes = try row.text(3).split(separator: " ").compactMap { AppPassword.Scope(rawValue: String($0)) }
        return AppPassword(
            id: try row.text(0),
            accountID: try row.text(1),
            name: try row.text(2),
            scopes: Set(scopes),
            createdAt: try row.instant(4),
            seenAt: try row.instantIfPresent(5),
            expiresAt: try row.instantIfPresent(6)
        )
    }
}
