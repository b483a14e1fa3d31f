// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let ownPages = Migration(
        version: 4,
        name: "app passwords, erased accounts",
        statements: [
            SQL("ALTER TABLE accounts ADD COLUMN erased_at BIGINT"),
            SQL(
                """
                CREATE TABLE app_passwords (
                    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), name TEXT NOT NULL,
                    scopes TEXT NOT NULL, secret_hash BLOB NOT NULL UNIQUE, created_at BIGINT NOT NULL, seen_at BIGINT,
                    expires_at BIGINT)
                """
            ),
            SQL("CREATE INDEX app_passwords_by_account ON app_passwords (account_id, created_at)"),
        ]
    )
}
