// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let staff = Migration(
        version: 5,
        name: "roles of accounts, setup links",
        statements: [
            SQL("ALTER TABLE accounts ADD COLUMN role TEXT"),
            SQL(
                """
                CREATE TABLE setup_links (
                    token_hash BLOB NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX sessions_by_purpose ON sessions (purpose, created_at)"),
        ]
    )
}
