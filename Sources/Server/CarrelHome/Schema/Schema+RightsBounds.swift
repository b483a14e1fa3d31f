// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The ends of licenses and of revocations, the outcomes of redemptions, and larger networks of codes.
    static let rightsBounds = Migration(
        version: 29,
        name: "ends of revoked rights, licenses and redemptions",
        statements: [
            SQL("ALTER TABLE revoked_rights ADD COLUMN until BIGINT"),
            SQL("CREATE INDEX revoked_rights_by_end ON revoked_rights (until)"),
            SQL("CREATE INDEX revoked_rights_by_time ON revoked_rights (revoked_at, kind, id)"),
            // the end of a license for good; nil if it has none
            SQL("ALTER TABLE licenses ADD COLUMN until BIGINT"),
            // the token of a stream, for the limit of a license message
            SQL("ALTER TABLE licenses ADD COLUMN token_id TEXT"),
            SQL("CREATE INDEX licenses_by_until ON licenses (until)"),
            SQL("CREATE INDEX licenses_by_lease_end ON licenses (lease_until)"),
            SQL("CREATE INDEX licenses_by_token ON licenses (token_id, lease_until)"),
            // the cause for which the license of a redemption ended, once the license is deleted
            SQL("ALTER TABLE redemptions ADD COLUMN ended_by TEXT"),
            SQL("CREATE INDEX redemptions_by_license ON redemptions (license_id)"),
            SQL("ALTER TABLE link_codes ADD COLUMN site TEXT NOT NULL DEFAULT ''"),
            SQL("CREATE INDEX link_codes_by_site ON link_codes (site, expires_at)"),
        ]
    )
}
