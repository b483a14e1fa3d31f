// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
package import CarrelStore

/// The SQL of staff: their roles, their sessions, the links by which the first of them comes.
package enum StaffStore {
    static let roleByID = SQL("SELECT role FROM accounts WHERE id = $1")
    static let updateRole = SQL("UPDATE accounts SET role = $2 WHERE id = $1")
    static let members = SQL(
        """
        SELECT id, name, suspended_at, role, created_at FROM accounts WHERE role IS NOT NULL ORDER BY created_at, id LIMIT 1000
        """
    )
    static let owners = SQL("SELECT count(*) FROM accounts WHERE role = 'owner' AND suspended_at IS NULL")
    static let insertSession = SQL(
        """
        INSERT INTO sessions (token_hash, account_id, purpose, created_at, expires_at, family, seen_at)
        VALUES ($1, $2, 'staff', $3, $4, $5, $3)
        """
    )
    static let sessionByHash = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at, accounts.role, sessions.created_at, sessions.expires_at,
            sessions.seen_at
        FROM sessions JOIN accounts ON accounts.id = sessions.account_id
        WHERE sessions.token_hash = $1 AND sessions.purpose = 'staff'
        """
    )
    static let deleteSessions = SQL("DELETE FROM sessions WHERE account_id = $1 AND purpose = 'staff'")
    static let insertLink = SQL("INSERT INTO setup_links (token_hash, created_at, expires_at) VALUES ($1, $2, $3)")
    static let linkByHash = SQL("SELECT 1 FROM setup_links WHERE token_hash = $1 AND expires_at > $2")
    static let deleteLinks = SQL("DELETE FROM setup_links")
    static let removeOldLinks = SQL(
        "DELETE FROM setup_links WHERE token_hash IN (SELECT token_hash FROM setup_links WHERE expires_at <= $1 LIMIT $2)"
    )

    package static let statements = [
        roleByID, updateRole, members, owners, insertSession, sessionByHash, deleteSessions, insertLink,
        linkByHash, deleteLinks, removeOldLinks,
    ]

    /// The role of an account; nil without one.
    package static func role(of account: String, in transaction: any Transaction) throws -> Role? {
        try transaction.row(roleByID, [.text(account)]).map { try role($0.textIfPresent(0)) }
    }

    package static func setRole(_ role: Role, of account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(updateRole, [.text(account), role == .reader ? .null : .text(role.rawValue)])
    }

    static func members(in transaction: any Transaction) throws -> [(account: Account, role: Role, createdAt: Instant)] {
        try transaction.rows(members, []).map { (try account($0), try role($0.textIfPresent(3)), try $0.instant(4)) }
    }

    /// Number of owners who can sign in.
    static func ownerCount(in transaction: any Transaction) throws -> Int64 {
        try transaction.row(owners, []).map { try $0.integer(0) } ?? 0
    }

    package static func insert(
        _ session: StaffSession,
        hash: [UInt8],
        family: String,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .blob(hash), .text(session.account.id), .instant(session.createdAt), .instant(session.expiresAt), .text(family),
        ]
        _ = try transaction.run(insertSession, values)
    }

    static func session(_ hash: [UInt8], in transaction: any Transaction) throws -> StaffSession? {
        try transaction.row(sessionByHash, [.blob(hash)]).map {
            StaffSession(
                account: try account($0),
                role: try role($0.textIfPresent(3)),
                createdAt: try $0.instant(4),
                expiresAt: try $0.instant(5),
                seenAt: try $0.instant(6)
            )
        }
    }

    package static func deleteSessions(of account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteSessions, [.text(account)])
    }

    static func insertLink(_ hash: [UInt8], created: Instant, expires: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(insertLink, [.blob(hash), .instant(created), .instant(expires)])
    }

    /// Removes some of the links that open nothing any more; returns how many.
    static func removeOldLinks(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeOldLinks, [.instant(now), .integer(Int64(limit))])
    }

    static func hasLink(_ hash: [UInt8], at now: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.row(linkByHash, [.blob(hash), .instant(now)]) != nil
    }

    @discardableResult
    package static func deleteLinks(in transaction: any Transaction) throws -> Int {
        try transaction.run(deleteLinks, [])
    }

    private static func account(_ row: Row) throws -> Account {
        Account(id: try row.text(0), name: try row.text(1), isSuspended: try row.integerIfPresent(2) != nil)
    }

    private static func role(_ text: String?) throws -> Role {
        guard let text else { return .reader }
        guard let role = Role(rawValue: text) else {
            throw ServerError(.home, "an account has a role that this version does not know")
        }
        return role
    }
}
