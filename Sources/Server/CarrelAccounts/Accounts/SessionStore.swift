// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore

/// The SQL of sessions.
package enum SessionStore {
    static let insert = SQL(
        """
        INSERT INTO sessions (token_hash, account_id, purpose, created_at, expires_at, family, device_id, seen_at)
        VALUES ($1, $2, 'session', $3, $4, $5, $6, $7) ON CONFLICT (token_hash) DO NOTHING
        """
    )
    static let byHash = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at, sessions.device_id, sessions.family, sessions.created_at,
            sessions.expires_at, sessions.seen_at, sessions.renewed_at, sessions.purpose
        FROM sessions JOIN accounts ON accounts.id = sessions.account_id
        WHERE sessions.token_hash = $1 AND sessions.purpose = 'session'
        """
    )
    static let byAccount = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at, sessions.device_id, sessions.family, sessions.created_at,
            sessions.expires_at, sessions.seen_at, sessions.renewed_at, sessions.purpose
        FROM sessions JOIN accounts ON accounts.id = sessions.account_id
        WHERE sessions.account_id = $1 AND sessions.renewed_at IS NULL AND sessions.expires_at > $2
            AND ((sessions.purpose = 'session' AND sessions.seen_at > $3) OR (sessions.purpose = 'staff' AND sessions.seen_at > $4))
        ORDER BY sessions.created_at, sessions.family
        """
    )
    static let live = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at, sessions.device_id, sessions.family, sessions.created_at,
            sessions.expires_at, sessions.seen_at, sessions.renewed_at, sessions.purpose,
            COALESCE(devices.given_name, devices.name)
        FROM sessions JOIN accounts ON accounts.id = sessions.account_id LEFT JOIN devices ON devices.id = sessions.device_id
        WHERE ((sessions.purpose = 'session' AND sessions.seen_at > $2) OR (sessions.purpose = 'staff' AND sessions.seen_at > $3))
            AND sessions.renewed_at IS NULL AND sessions.expires_at > $1
            AND (sessions.created_at < $4 OR (sessions.created_at = $4 AND sessions.family > $5))
        ORDER BY sessions.created_at DESC, sessions.family LIMIT $6
        """
    )
    static let markSeen = SQL("UPDATE sessions SET seen_at = $2 WHERE token_hash = $1 AND seen_at < $2")
    static let markRenewed = SQL("UPDATE sessions SET renewed_at = $2 WHERE token_hash = $1 AND renewed_at IS NULL")
    static let deleteOfDevice = SQL("DELETE FROM sessions WHERE device_id = $1")
    static let deleteOfAccount = SQL("DELETE FROM sessions WHERE account_id = $1")
    static let deleteExpired = SQL(
        """
        DELETE FROM sessions
        WHERE token_hash IN (SELECT token_hash FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
        """
    )
    static let deleteFamilyOfAccount = SQL("DELETE FROM sessions WHERE account_id = $1 AND family = $2")

    static let devicesOfFamily = SQL(
        "SELECT DISTINCT device_id FROM sessions WHERE account_id = $1 AND family = $2 AND device_id IS NOT NULL"
    )
    static let otherFamilies = SQL(
        "SELECT DISTINCT family FROM sessions WHERE account_id = $1 AND family <> $2 AND family <> ''"
    )
    static let deleteOthers = SQL(
        "DELETE FROM sessions WHERE account_id = $1 AND (purpose <> 'session' OR family <> $2 OR family = '')"
    )
    static let countUsable = SQL(
        """
        SELECT count(*), count(CASE WHEN purpose IN ('session', 'staff') THEN 1 END) FROM sessions
        WHERE renewed_at IS NULL AND expires_at > $1
        """
    )
    static let deleteAll = SQL("DELETE FROM sessions")

    package static let statements = [
        countUsable, deleteAll, insert, byHash, byAccount, live, markSeen, markRenewed, deleteOfDevice, deleteOfAccount,
        deleteFamilyOfAccount, deleteExpired, devicesOfFamily, otherFamilies, deleteOthers,
    ]

    /// Ends all sessions, and all links to sign in or to reset a password.
    ///
    /// - Returns: the numbers of valid sessions and links.
    package static func deleteAll(at now: Instant, in transaction: any Transaction) throws -> (sessions: Int, links: Int) {
        let (all, sessions) =
            try transaction.row(countUsable, [.instant(now)]).map { (try $0.integer(0), try $0.integer(1)) } ?? (0, 0)
        _ = try transaction.run(deleteAll, [])
        return (Int(sessions), Int(all - sessions))
    }

    /// Whether the session is new; false if its token is known already.
    static func insert(
        _ hash: [UInt8],
        account: String,
        family: String,
        device: String?,
        created: Instant,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [
            .blob(hash), .text(account), .instant(created), .instant(created + Session.life), .text(family),
            SQLValue(device), .instant(created),
        ]
        return try transaction.run(insert, values) == 1
    }

    package static func session(_ hash: [UInt8], in transaction: any Transaction) throws -> Session? {
        try transaction.row(byHash, [.blob(hash)]).map(session)
    }

    /// The sessions of an account that can still be used, those at the administrator's page among them, the oldest first.
    static func sessions(of account: String, at now: Instant, in transaction: any Transaction) throws -> [Session] {
        let values: [SQLValue] = [
            .text(account), .instant(now), .instant(now - Session.idleLife), .instant(now - StaffSession.idleLife),
        ]
        return try transaction.rows(byAccount, values).map(session)
    }

    /// A valid session with its account.
    struct Live: Sendable {
        let session: Session
        let deviceName: String?
    }

    /// The sessions that can be used, the newest first, after the last of the page before.
    static func live(
        at now: Instant,
        after: (Instant, String)?,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [Live] {
        let values: [SQLValue] = [
            .instant(now), .instant(now - Session.idleLife), .instant(now - StaffSession.idleLife),
            .instant(after?.0 ?? Instant(milliseconds: Int64.max)), .text(after?.1 ?? ""), .integer(Int64(limit)),
        ]
        return try transaction.rows(live, values).map {
            Live(session: try session($0), deviceName: try $0.textIfPresent(10))
        }
    }

    static func markSeen(_ hash: [UInt8], at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(markSeen, [.blob(hash), .instant(now)])
    }

    static func markRenewed(_ hash: [UInt8], at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(markRenewed, [.blob(hash), .instant(now)])
    }

    /// Whether the account had such a session.
    static func deleteFamily(_ family: String, of account: String, in transaction: any Transaction) throws -> Bool {
        try transaction.run(deleteFamilyOfAccount, [.text(account), .text(family)]) > 0
    }

    /// The devices of a session and of its predecessors.
    static func devices(ofFamily family: String, of account: String, in transaction: any Transaction) throws -> [String] {
        try transaction.rows(devicesOfFamily, [.text(account), .text(family)]).map { try $0.text(0) }
    }

    /// The families of an account's sessions, including sessions at the administrator's page, except one.
    static func families(
        of account: String,
        butFor family: String,
        in transaction: any Transaction
    ) throws -> [String] {
        try transaction.rows(otherFamilies, [.text(account), .text(family)]).map { try $0.text(0) }
    }

    package static func deleteAll(ofDevice device: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteOfDevice, [.text(device)])
    }

    /// Deletes all sessions and links of an account, except the sessions of one family.
    static func deleteAll(ofAccount account: String, butFor family: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteOthers, [.text(account), .text(family)])
    }

    static func deleteAll(ofAccount account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteOfAccount, [.text(account)])
    }

    /// Deletes expired sessions and links; returns how many.
    static func deleteExpired(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(deleteExpired, [.instant(now), .integer(Int64(limit))])
    }

    private static func session(_ row: Row) throws -> Session {
        Session(
            account: Account(id: try row.text(0), name: try row.text(1), isSuspended: try row.integerIfPresent(2) != nil),
            deviceID: try row.textIfPresent(3),
            family: try row.text(4),
            createdAt: try row.instant(5),
            expiresAt: try row.instant(6),
            seenAt: try row.instant(7),
            renewedAt: try row.instantIfPresent(8),
            isStaff: try row.text(9) == "staff"
        )
    }
}
