// SPDX-License-Identifier: Apache-2.0

import CarrelHome
import CarrelStore

/// Licenses, redemptions, and keys of portals, which a restore carries over.
enum CarriedLicenses {
    static let licensePage = SQL("SELECT * FROM licenses WHERE id > $1 ORDER BY id LIMIT $2")
    static let ownLicense = SQL("SELECT * FROM licenses WHERE id = $1")
    static let mergeLicense = SQL(
        """
        INSERT INTO licenses VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
        ON CONFLICT (id) DO UPDATE SET subject = excluded.subject, sequence = excluded.sequence, terms = excluded.terms,
            lease_until = excluded.lease_until, ended_at = excluded.ended_at, ended_by = excluded.ended_by, plays = excluded.plays,
            master_version = excluded.master_version, wrapped = excluded.wrapped, until = excluded.until
        """
    )
    static let redemptionPage = SQL(
        "SELECT * FROM redemptions WHERE (token_id, player_id) > ($1, $2) ORDER BY token_id, player_id LIMIT $3"
    )
    static let ownRedemption = SQL("SELECT * FROM redemptions WHERE token_id = $1 AND player_id = $2")
    static let mergeRedemption = SQL(
        """
        INSERT INTO redemptions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (token_id, player_id) DO UPDATE SET license_id = excluded.license_id, redeemed_at = excluded.redeemed_at,
            content_id = excluded.content_id, cookie = excluded.cookie, expires_at = excluded.expires_at, ended_by = excluded.ended_by
        """
    )
    static let communicationKeyPage = SQL("SELECT * FROM communication_keys WHERE id > $1 ORDER BY id LIMIT $2")
    static let ownCommunicationKey = SQL("SELECT * FROM communication_keys WHERE id = $1")
    static let mergeCommunicationKey = SQL("INSERT INTO communication_keys VALUES ($1, $2, $3, $4, $5)")
    static let communicationKeyIDs = SQL("SELECT id FROM communication_keys ORDER BY id")

    static let statements = [
        licensePage, ownLicense, mergeLicense, redemptionPage, ownRedemption, mergeRedemption,
        communicationKeyPage, ownCommunicationKey, mergeCommunicationKey, communicationKeyIDs,
    ]

    static let tables = [licenses, redemptions, communicationKeys]

    private static let licenses = CarriedTable(
        "licenses",
        page: licensePage,
        own: ownLicense,
        merge: mergeLicense,
        start: [""],
        columns: 19
    ) { _, _ in ["licenses"] }

    private static let redemptions = CarriedTable(
        "redemptions",
        page: redemptionPage,
        own: ownRedemption,
        merge: mergeRedemption,
        start: ["", ""],
        columns: 9
    ) { _, _ in ["redemptions"] }

    /// A key that was removed after the backup may have leaked: it stays removed.
    private static let communicationKeys = CarriedTable(
        "communication_keys",
        page: communicationKeyPage,
        own: ownCommunicationKey,
        merge: mergeCommunicationKey,
        start: [""],
        columns: 5,
        removal: (communicationKeyIDs, LicenseStore.removeCommunicationKey),
        names: { _, _ in ["communicationKeys"] },
        adapt: { row, own, _ in own == nil ? row : nil }
    )
}
