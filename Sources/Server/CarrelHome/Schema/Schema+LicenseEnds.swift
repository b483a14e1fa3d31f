// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Revoked players by their ids, entries that last as long as a suspension, and the time of play of rentals.
    static let licenseEnds = Migration(
        version: 30,
        name: "ends of players, licenses and rentals",
        statements: [
            // the end of the last license that the player's store keeps; nil without a license
            SQL("ALTER TABLE players ADD COLUMN licensed_until BIGINT"),
            // 1: serial numbers, licenses, keys; 2: players too
            SQL("ALTER TABLE players ADD COLUMN list_version BIGINT NOT NULL DEFAULT 1"),
            SQL("ALTER TABLE players ADD COLUMN revoked_by TEXT"),
            // the session that linked the player
            SQL("ALTER TABLE players ADD COLUMN link_family TEXT"),
            SQL("ALTER TABLE revoked_rights ADD COLUMN by_staff BIGINT NOT NULL DEFAULT 0"),
            // the account whose suspension the entry lasts for; nil for good
            SQL("ALTER TABLE revoked_rights ADD COLUMN suspended_for TEXT"),
            SQL("CREATE INDEX revoked_rights_by_rank ON revoked_rights (by_staff, revoked_at, kind, id)"),
            SQL("CREATE INDEX revoked_rights_by_suspension ON revoked_rights (suspended_for)"),
            SQL("ALTER TABLE orders ADD COLUMN play_seconds BIGINT"),
            SQL(
                """
                UPDATE players SET licensed_until = (
                    SELECT MAX(COALESCE(until, 253402300799000)) FROM licenses
                    WHERE licenses.player_id = players.id AND licenses.session = 'persist')
                """
            ),
            SQL(
                """
                UPDATE revoked_rights SET by_staff = 1 WHERE kind = 'license' AND EXISTS (
                    SELECT 1 FROM licenses WHERE licenses.id = revoked_rights.id AND licenses.ended_by = 'staff')
                """
            ),
            // who revoked a player was not kept: its entry never gives way, as one by staff
            SQL("UPDATE players SET revoked_by = 'staff' WHERE revoked_at IS NOT NULL"),
            // players that were revoked before: their apps may know neither kind of entry until they are updated
            SQL(
                """
                INSERT INTO revoked_rights (kind, id, revoked_at, until, by_staff)
                SELECT 'player', id, revoked_at, CASE WHEN licensed_until >= 253402300799000 THEN NULL ELSE licensed_until END, 1
                FROM players WHERE revoked_at IS NOT NULL AND licensed_until IS NOT NULL
                """
            ),
            SQL(
                """
                INSERT INTO revoked_rights (kind, id, revoked_at, until, by_staff)
                SELECT 'license', licenses.id, players.revoked_at, licenses.until, 1
                FROM licenses JOIN players ON players.id = licenses.player_id
                WHERE players.revoked_at IS NOT NULL AND licenses.session = 'persist' AND licenses.ended_at IS NULL
                    AND NOT EXISTS (SELECT 1 FROM revoked_rights r WHERE r.kind = 'license' AND r.id = licenses.id)
                """
            ),
            SQL(
                """
                UPDATE licenses SET lease_until = NULL, ended_by = 'player', ended_at = (
                    SELECT players.revoked_at FROM players WHERE players.id = licenses.player_id)
                WHERE ended_at IS NULL AND EXISTS (
                    SELECT 1 FROM players WHERE players.id = licenses.player_id AND players.revoked_at IS NOT NULL)
                """
            ),
            // players that were deleted earlier left their licenses
            SQL(
                """
                DELETE FROM licenses WHERE NOT EXISTS (SELECT 1 FROM players WHERE players.id = licenses.player_id)
                """
            ),
            // licenses of suspended accounts that devices keep which are not linked to the account
            SQL(
                """
                INSERT INTO revoked_rights (kind, id, revoked_at, until, by_staff, suspended_for)
                SELECT 'license', licenses.id, accounts.suspended_at, licenses.until, 1, accounts.id
                FROM licenses JOIN accounts ON accounts.id = licenses.subject
                WHERE accounts.suspended_at IS NOT NULL AND licenses.session = 'persist' AND licenses.ended_at IS NULL
                    AND NOT EXISTS (
                        SELECT 1 FROM players WHERE players.id = licenses.player_id AND players.account_id = accounts.id)
                    AND NOT EXISTS (SELECT 1 FROM revoked_rights r WHERE r.kind = 'license' AND r.id = licenses.id)
                """
            ),
            SQL("UPDATE rights_numbers SET number = number + 1 WHERE name = 'revocations'"),
        ]
    )
}
