// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore

/// The SQL of revoked players, licenses and keys.
extension PlayerStore {
    /// A permanent entry replaces a temporary one, and an entry by staff replaces another.
    static let revokeRight = SQL(
        """
        INSERT INTO revoked_rights (kind, id, revoked_at, until, by_staff, suspended_for) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (kind, id) DO UPDATE SET
            by_staff = CASE WHEN excluded.by_staff > revoked_rights.by_staff THEN excluded.by_staff
                ELSE revoked_rights.by_staff END,
            suspended_for = CASE WHEN excluded.suspended_for IS NULL THEN NULL ELSE revoked_rights.suspended_for END
        WHERE excluded.by_staff > revoked_rights.by_staff
            OR (excluded.suspended_for IS NULL AND revoked_rights.suspended_for IS NOT NULL)
        """
    )
    static let resumeRights = SQL("DELETE FROM revoked_rights WHERE suspended_for = $1")
    static let expiredRights = SQL("SELECT kind, id FROM revoked_rights WHERE until <= $1 ORDER BY until LIMIT $2")
    static let removeRight = SQL("DELETE FROM revoked_rights WHERE kind = $1 AND id = $2")
    /// Serial numbers: of revoked players until the certificate's end, of suspended players until they resume. The last column is
    /// 1 if the signed list names the player instead.
    static let revokedSerials = SQL(
        """
        SELECT c.serial, COALESCE(p.revoked_at, p.suspended_at),
            CASE WHEN p.revoked_at IS NULL OR p.revoked_by = 'staff' THEN 1 ELSE 0 END AS by_staff,
            CASE WHEN p.revoked_at IS NOT NULL AND p.list_version >= 2 AND p.licensed_until > $1 THEN 1 ELSE 0 END
        FROM player_certificates c JOIN players p ON p.id = c.player_id
        WHERE (c.valid_until > $1 AND p.revoked_at IS NOT NULL) OR (p.suspended_at IS NOT NULL AND p.revoked_at IS NULL)
        ORDER BY by_staff DESC, COALESCE(p.revoked_at, p.suspended_at) DESC, c.serial LIMIT $2
        """
    )
    static let revokedRights = SQL(
        """
        SELECT kind, id, revoked_at, by_staff FROM revoked_rights WHERE kind IN ('player', 'license', 'kid')
        ORDER BY by_staff DESC, revoked_at DESC, kind DESC, id DESC LIMIT $1
        """
    )
    static let revokedCount = SQL(
        """
        SELECT (SELECT COUNT(*) FROM revoked_rights WHERE kind IN ('player', 'license', 'kid')) + (
            SELECT COUNT(*) FROM player_certificates c JOIN players p ON p.id = c.player_id
            WHERE (c.valid_until > $1 AND p.revoked_at IS NOT NULL AND NOT (p.list_version >= 2 AND p.licensed_until > $1))
                OR (p.suspended_at IS NOT NULL AND p.revoked_at IS NULL))
        """
    )
    static let revokedRight = SQL("SELECT revoked_at FROM revoked_rights WHERE kind = $1 AND id = $2 AND suspended_for IS NULL")
    static let isTombstone = SQL("SELECT 1 FROM revoked_rights WHERE kind = 'key' AND (id = $1 OR id = $2) LIMIT 1")
    static let noteLicense = SQL("UPDATE players SET licensed_until = $2, list_version = $3 WHERE id = $1")
    static let number = SQL("SELECT number FROM rights_numbers WHERE name = $1")
    static let bump = SQL(
        """
        INSERT INTO rights_numbers (name, number) VALUES ($1, 1)
        ON CONFLICT (name) DO UPDATE SET number = rights_numbers.number + 1
        """
    )

    static let raise = SQL(
        """
        INSERT INTO rights_numbers (name, number) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET number = CASE WHEN rights_numbers.number < $2 THEN $2 ELSE rights_numbers.number END
        """
    )

    static let statementsOfRevocations = [
        revokeRight, resumeRights, expiredRights, removeRight, revokedSerials, revokedRights, revokedCount, revokedRight,
        isTombstone, noteLicense, number, bump, raise,
    ]

    /// Writes an entry; whether it changed anything.
    static func revokeRight(
        _ kind: String,
        _ id: String,
        until end: Instant?,
        byStaff: Bool,
        whileSuspended account: String?,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [
            .text(kind), .text(id), .instant(now), .instant(end), .integer(byStaff ? 1 : 0), SQLValue(account),
        ]
        return try transaction.run(revokeRight, values) > 0
    }

    /// Removes the entries that lasted for the suspension of an account.
    static func resumeRights(of account: String, in transaction: any Transaction) throws {
        if try transaction.run(resumeRights, [.text(account)]) > 0 { try bumpRevocations(in: transaction) }
    }

    /// Whether a license or a key is revoked for good.
    static func isRevoked(right kind: String, _ id: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(revokedRight, [.text(kind), .text(id)]) != nil
    }

    /// Removes revocations of licenses that ended before a time.
    static func removeRights(before instant: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let found = try transaction.rows(expiredRights, [.instant(instant), .integer(Int64(limit))])
        for row in found { try transaction.run(removeRight, [.text(try row.text(0)), .text(try row.text(1))]) }
        return found.count
    }

    /// Whether a key of these thumbprints was a revoked player's.
    static func isTombstone(_ first: String, _ second: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(isTombstone, [.text(first), .text(second)]) != nil
    }

    static func noteLicense(
        until last: Instant,
        listVersion: Int,
        of player: String,
        in transaction: any Transaction
    ) throws {
        try transaction.run(noteLicense, [.text(player), .instant(last), .integer(Int64(listVersion))])
    }

    /// The entries of both kinds of lists.
    package struct Revoked: Sendable {
        /// Serial numbers of the signed list, except certificates of players that it names.
        package let serials: [String]
        /// Players, licenses and keys of the signed list.
        package let rights: [(kind: String, id: String)]
        /// All serial numbers, for lists of X.509.
        package let certificates: [(serial: String, at: Instant)]
    }

    /// The entries of a list, which has a number of entries at most: first those by staff, each kind from the newest on.
    package static func revoked(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Revoked {
        let certificates = try transaction.rows(revokedSerials, [.instant(now), .integer(Int64(limit))])
        let rights = try transaction.rows(revokedRights, [.integer(Int64(limit))])
        var entries: [(kind: String, id: String, at: Instant, rank: Int64)] = []
        for row in certificates where try row.integer(3) == 0 {
            entries.append(("serial", try row.text(0), try row.instant(1), try row.integer(2)))
        }
        for row in rights { entries.append((try row.text(0), try row.text(1), try row.instant(2), try row.integer(3))) }
        if entries.count > limit {
            entries.sort { $0.rank != $1.rank ? $0.rank > $1.rank : $0.at > $1.at }
            entries.removeLast(entries.count - limit)
        }
        return Revoked(
            serials: entries.filter { $0.kind == "serial" }.map(\.id),
            rights: entries.filter { $0.kind != "serial" }.map { ($0.kind, $0.id) },
            certificates: try certificates.map { (try $0.text(0), try $0.instant(1)) }
        )
    }

    /// The number of entries that the signed list would have without its limit.
    static func revokedCount(at now: Instant, in transaction: any Transaction) throws -> Int {
        Int(try transaction.row(revokedCount, [.instant(now)])?.integer(0) ?? 0)
    }

    /// The number of the list of what is revoked; 0 before the first.
    static func revocationNumber(in transaction: any Transaction) throws -> Int64 {
        try number("revocations", in: transaction)
    }

    static func number(_ name: String, in transaction: any Transaction) throws -> Int64 {
        try transaction.row(number, [.text(name)]).map { try $0.integer(0) } ?? 0
    }

    /// Raises a number; a larger number is kept.
    static func raise(_ name: String, to value: Int64, in transaction: any Transaction) throws {
        try transaction.run(raise, [.text(name), .integer(value)])
    }

    static func bumpRevocations(in transaction: any Transaction) throws { try transaction.run(bump, [.text("revocations")]) }
}
