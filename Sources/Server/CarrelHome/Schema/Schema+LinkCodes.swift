// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The codes that readers type to link a player to their account, and an index for a player's redemptions.
    static let linkCodes = Migration(
        version: 28,
        name: "codes for linking players",
        statements: [
            SQL(
                """
                CREATE TABLE link_codes (
                    device_code BLOB NOT NULL PRIMARY KEY, user_code TEXT NOT NULL UNIQUE, player_id TEXT NOT NULL,
                    network TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, state TEXT NOT NULL)
                """
            ),
            SQL("CREATE INDEX link_codes_by_end ON link_codes (expires_at)"),
            SQL("CREATE INDEX link_codes_by_player ON link_codes (player_id)"),
            SQL("CREATE INDEX redemptions_by_player ON redemptions (player_id, redeemed_at)"),
            SQL("CREATE INDEX link_codes_by_network ON link_codes (network, expires_at)"),
        ]
    )
}
