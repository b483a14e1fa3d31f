// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Licenses of players, the tokens they were redeemed with, and content keys that do not belong to orders.
    static let licenses = Migration(
        version: 26,
        name: "licenses, tokens and content keys",
        statements: [
            SQL(
                """
                CREATE TABLE content_keys (
                    kid TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL)
                """
            ),
            SQL(
                """
                CREATE TABLE licenses (
                    id TEXT NOT NULL PRIMARY KEY, player_id TEXT NOT NULL, subject TEXT NOT NULL, content_id TEXT NOT NULL,
                    session TEXT NOT NULL, sequence BIGINT NOT NULL, terms TEXT NOT NULL, obligations TEXT NOT NULL,
                    kids TEXT NOT NULL, issued_at BIGINT NOT NULL, lease_until BIGINT, ended_at BIGINT, ended_by TEXT,
                    plays BIGINT NOT NULL, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL)
                """
            ),
            SQL("CREATE INDEX licenses_by_player ON licenses (player_id, issued_at)"),
            SQL("CREATE INDEX licenses_by_issue ON licenses (issued_at, id)"),
            SQL("CREATE INDEX licenses_by_lease ON licenses (subject, lease_until)"),
            SQL(
                """
                CREATE TABLE redemptions (
                    token_id TEXT NOT NULL, player_id TEXT NOT NULL, license_id TEXT NOT NULL, redeemed_at BIGINT NOT NULL,
                    content_id TEXT NOT NULL, cookie TEXT, expires_at BIGINT NOT NULL, PRIMARY KEY (token_id, player_id))
                """
            ),
            SQL("CREATE INDEX licenses_by_end ON licenses (ended_at)"),
            SQL("CREATE INDEX redemptions_by_end ON redemptions (expires_at)"),
            SQL("CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, token_id)"),
            SQL("CREATE INDEX redemptions_by_cookie ON redemptions (cookie, redeemed_at)"),
        ]
    )
}
