// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let editions = Migration(
        version: 3,
        name: "editions' content, revoked credentials",
        statements: [
            SQL("ALTER TABLE editions ADD COLUMN content_at BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE editions ADD COLUMN byte_count BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE editions ADD COLUMN entry_path TEXT NOT NULL DEFAULT ''"),
            SQL("ALTER TABLE editions ADD COLUMN resource_count BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE editions ADD COLUMN sample_count BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE editions ADD COLUMN language TEXT NOT NULL DEFAULT ''"),
            // In lower case, for searching.
            SQL("ALTER TABLE editions ADD COLUMN search_title TEXT NOT NULL DEFAULT ''"),
            SQL("ALTER TABLE editions ADD COLUMN search_author TEXT NOT NULL DEFAULT ''"),
            SQL("ALTER TABLE editions ADD COLUMN search_text TEXT NOT NULL DEFAULT ''"),
            SQL("CREATE INDEX editions_by_update ON editions (updated_at)"),
            SQL(
                """
                CREATE TABLE edition_resources (
                    title_id TEXT NOT NULL REFERENCES titles (id), path TEXT NOT NULL, place BIGINT NOT NULL,
                    media_type TEXT NOT NULL, byte_offset BIGINT NOT NULL, byte_count BIGINT NOT NULL, digest TEXT NOT NULL,
                    is_sample BIGINT NOT NULL, PRIMARY KEY (title_id, path))
                """
            ),
            // Credentials of an account that were made before an instant are void.
            SQL(
                """
                CREATE TABLE credential_revocations (
                    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id), revoked_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX credential_revocations_by_time ON credential_revocations (revoked_at)"),
        ]
    )
}
