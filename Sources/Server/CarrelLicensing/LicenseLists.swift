// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelRights
import CarrelStore

/// The SQL of what readers and staff see of licenses, and of what uses a key.
enum LicenseLists {
    static let ofSubject = SQL(
        """
        SELECT id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, lease_until, ended_at, ended_by,
            plays, master_version, wrapped FROM licenses WHERE subject = $1 AND (issued_at, id) > ($2, $3)
        ORDER BY issued_at, id LIMIT $4
        """
    )
    static let redemptionsOfPlayer = SQL(
        """
        SELECT token_id, player_id, license_id, redeemed_at, content_id, cookie FROM redemptions WHERE player_id = $1
        ORDER BY redeemed_at DESC, token_id DESC LIMIT $2
        """
    )
    static let redemptionsOfLicense = SQL(
        """
        SELECT token_id, player_id, license_id, redeemed_at, content_id, cookie FROM redemptions
        WHERE player_id = $1 AND license_id = $2 ORDER BY redeemed_at LIMIT 1
        """
    )

    /// Reads all licenses: for a rare action of staff, outside a write transaction.
    static let liveWithKey = SQL(
        """
        SELECT COUNT(*) FROM (
            SELECT 1 FROM licenses WHERE ended_at IS NULL AND (until IS NULL OR until > $1) AND (lease_until IS NULL OR lease_until > $1)
                AND kids LIKE $2 LIMIT $3) AS counted
        """
    )

    static let statements = [ofSubject, redemptionsOfPlayer, redemptionsOfLicense, liveWithKey]

    /// The number of licenses that have a key and can be used, `limit` at most.
    static func live(with key: KeyID, at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let values: [SQLValue] = [.instant(now), .text("%\(key.hex)%"), .integer(Int64(limit))]
        return Int(try transaction.row(liveWithKey, values)?.integer(0) ?? 0)
    }

    /// The licenses of an account, the oldest first.
    static func licenses(
        ofSubject subject: String,
        after: (Instant, String)?,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [LicenseStore.Issued] {
        let values: [SQLValue] = [
            .text(subject), .instant(after?.0 ?? Instant(milliseconds: .min / 2)), .text(after?.1 ?? ""), .integer(Int64(limit)),
        ]
        return try transaction.rows(ofSubject, values).map(LicenseStore.issued)
    }

    /// The redemptions of a player, the newest first.
    static func redemptions(of player: String, limit: Int, in transaction: any Transaction) throws -> [LicenseStore.Redemption] {
        try transaction.rows(redemptionsOfPlayer, [.text(player), .integer(Int64(limit))]).map(redemption)
    }

    /// The redemption that a license was issued for; nil if it was deleted.
    static func redemption(of license: LicenseStore.Issued, in transaction: any Transaction) throws -> LicenseStore.Redemption? {
        try transaction.row(redemptionsOfLicense, [.text(license.player), .text(license.id)]).map(redemption)
    }

    private static func redemption(_ row: Row) throws -> LicenseStore.Redemption {
        LicenseStore.Redemption(
            token: try row.text(0),
            player: try row.text(1),
            license: try row.text(2),
            at: try row.instant(3),
            contentID: try row.text(4),
            cookie: try row.textIfPresent(5)
        )
    }
}
