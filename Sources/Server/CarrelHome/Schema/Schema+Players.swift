// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The certificate authority, and the copies of apps that it issued certificates for.
    static let players = Migration(
        version: 25,
        name: "the certificate authority and players",
        statements: [
            SQL(
                """
                CREATE TABLE pki_keys (
                    id TEXT NOT NULL PRIMARY KEY, key_use TEXT NOT NULL, created_at BIGINT NOT NULL, valid_from BIGINT NOT NULL,
                    valid_until BIGINT NOT NULL, certificate BLOB, rollover TEXT, master_version BIGINT NOT NULL,
                    wrapped BLOB NOT NULL)
                """
            ),
            SQL(
                """
                CREATE TABLE pki_documents (
                    number BIGINT NOT NULL PRIMARY KEY, environment TEXT NOT NULL, signed_at BIGINT NOT NULL, text TEXT NOT NULL)
                """
            ),
            SQL(
                """
                CREATE TABLE players (
                    id TEXT NOT NULL PRIMARY KEY, sign_key TEXT NOT NULL UNIQUE, agree_key TEXT NOT NULL UNIQUE,
                    agree_point BLOB NOT NULL, fingerprint BLOB NOT NULL UNIQUE, level TEXT NOT NULL, app TEXT NOT NULL,
                    build TEXT NOT NULL, name TEXT NOT NULL, account_id TEXT REFERENCES accounts (id),
                    device_id TEXT REFERENCES devices (id), link_expires_at BIGINT, created_at BIGINT NOT NULL,
                    seen_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, suspended_at BIGINT, suspended_by TEXT,
                    revoked_at BIGINT)
                """
            ),
            // while a player with a link has it, a slot is not freed for want of a session
            SQL("ALTER TABLE devices ADD COLUMN held_until BIGINT"),
            SQL("CREATE INDEX players_by_account ON players (account_id, created_at)"),
            SQL("CREATE INDEX players_by_created ON players (created_at, id)"),
            SQL("CREATE INDEX players_by_revocation ON players (revoked_at)"),
            SQL("CREATE INDEX players_by_suspension ON players (suspended_at)"),
            SQL("CREATE INDEX players_by_device ON players (device_id)"),
            SQL("CREATE INDEX players_by_end ON players (expires_at)"),
            SQL(
                """
                CREATE TABLE player_certificates (
                    serial TEXT NOT NULL PRIMARY KEY, thumbprint BLOB NOT NULL UNIQUE,
                    player_id TEXT NOT NULL REFERENCES players (id), valid_until BIGINT NOT NULL, certificate BLOB NOT NULL)
                """
            ),
            SQL("CREATE INDEX player_certificates_by_player ON player_certificates (player_id, valid_until)"),
            SQL("CREATE INDEX player_certificates_by_end ON player_certificates (valid_until)"),
            SQL("CREATE TABLE player_nonces (nonce BLOB NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL)"),
            SQL("CREATE INDEX player_nonces_by_end ON player_nonces (expires_at)"),
            SQL(
                """
                CREATE TABLE revoked_rights (
                    kind TEXT NOT NULL, id TEXT NOT NULL, revoked_at BIGINT NOT NULL, PRIMARY KEY (kind, id))
                """
            ),
            SQL("CREATE TABLE rights_numbers (name TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL)"),
        ]
    )
}
