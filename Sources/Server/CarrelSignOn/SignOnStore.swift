// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
package import CarrelStore

/// The SQL of identities at providers, and of sign-ins that were used up.
package enum SignOnStore {
    static let accountOfIdentity = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at FROM identities
            JOIN accounts ON accounts.id = identities.account_id
        WHERE identities.issuer = $1 AND identities.subject = $2
        """
    )
    static let insertIdentity = SQL(
        """
        INSERT INTO identities (issuer, subject, account_id, created_at, seen_at, proven) VALUES ($1, $2, $3, $4, $4, $5)
        ON CONFLICT (issuer, subject) DO NOTHING
        """
    )
    static let markSeen = SQL("UPDATE identities SET seen_at = $3 WHERE issuer = $1 AND subject = $2")
    static let identitiesOfAccount = SQL(
        """
        SELECT issuer, subject, created_at, seen_at, proven FROM identities WHERE account_id = $1
        ORDER BY created_at, issuer, subject
        """
    )
    static let deleteIdentity = SQL("DELETE FROM identities WHERE account_id = $1 AND issuer = $2 AND subject = $3")
    static let deleteIdentities = SQL("DELETE FROM identities WHERE account_id = $1")
    static let useUp = SQL(
        "INSERT INTO used_sign_ons (id_hash, expires_at) VALUES ($1, $2) ON CONFLICT (id_hash) DO NOTHING"
    )
    static let removeUsed = SQL(
        """
        DELETE FROM used_sign_ons
        WHERE id_hash IN (SELECT id_hash FROM used_sign_ons WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
        """
    )

    package static let statements = [
        accountOfIdentity, insertIdentity, markSeen, identitiesOfAccount, deleteIdentity, deleteIdentities, useUp, removeUsed,
    ]

    /// An identity at a provider that is linked to an account.
    struct Identity: Sendable, Equatable {
        let issuer: String
        let subject: String
        let createdAt: Instant
        let seenAt: Instant
        /// Whether the account was created by signing in with it; false where staff linked it.
        let isProven: Bool
    }

    static func account(issuer: String, subject: String, in transaction: any Transaction) throws -> Account? {
        try transaction.row(accountOfIdentity, [.text(issuer), .text(subject)]).map {
            Account(id: try $0.text(0), name: try $0.text(1), isSuspended: try $0.integerIfPresent(2) != nil)
        }
    }

    /// Links an identity; returns whether it is new. It counts as proven if it has just signed in and creates the account.
    static func link(
        issuer: String,
        subject: String,
        to account: String,
        isProven: Bool,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [.text(issuer), .text(subject), .text(account), .instant(now), .integer(isProven ? 1 : 0)]
        return try transaction.run(insertIdentity, values) == 1
    }

    /// Whether the account had it.
    static func unlink(issuer: String, subject: String, of account: String, in transaction: any Transaction) throws -> Bool {
        try transaction.run(deleteIdentity, [.text(account), .text(issuer), .text(subject)]) == 1
    }

    static func deleteAll(of account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteIdentities, [.text(account)])
    }

    static func markSeen(issuer: String, subject: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(markSeen, [.text(issuer), .text(subject), .instant(now)])
    }

    static func identities(of account: String, in transaction: any Transaction) throws -> [Identity] {
        try transaction.rows(identitiesOfAccount, [.text(account)]).map {
            Identity(
                issuer: try $0.text(0),
                subject: try $0.text(1),
                createdAt: try $0.instant(2),
                seenAt: try $0.instant(3),
                isProven: try $0.integer(4) != 0
            )
        }
    }

    /// Whether it was not used before.
    static func useUp(_ hash: [UInt8], until end: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(useUp, [.blob(hash), .instant(end)]) == 1
    }

    /// Removes some of the sign-ins that could not be used any more anyway; returns how many.
    static func removeUsed(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeUsed, [.instant(now), .integer(Int64(limit))])
    }

    /// Prefix of the ids of subscriptions granted by groups.
    static let subscriptionPrefix = "oidc/"
}
