// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Players that are linked to no account and never got a license, by the network that they came from.
    static let guests = Migration(
        version: 32,
        name: "players without an account and a license",
        statements: [
            SQL(
                """
                CREATE TABLE guests (
                    player_id TEXT NOT NULL PRIMARY KEY, site TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX guests_by_site ON guests (site, created_at, player_id)"),
            SQL("CREATE INDEX guests_by_end ON guests (expires_at, site)"),
            // the time of its first license; nil without a license
            SQL("ALTER TABLE players ADD COLUMN licensed_at BIGINT"),
            SQL(
                """
                UPDATE players SET licensed_at = (SELECT MIN(issued_at) FROM licenses WHERE licenses.player_id = players.id)
                """
            ),
            SQL(
                """
                UPDATE players SET licensed_at = (
                    SELECT MIN(redeemed_at) FROM redemptions WHERE redemptions.player_id = players.id)
                WHERE licensed_at IS NULL
                """
            ),
            SQL(
                """
                INSERT INTO guests (player_id, site, created_at, expires_at)
                SELECT id, '', created_at, expires_at FROM players
                WHERE account_id IS NULL AND revoked_at IS NULL AND suspended_at IS NULL AND licensed_at IS NULL
                """
            ),
        ]
    )
}
