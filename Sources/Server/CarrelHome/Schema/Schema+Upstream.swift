// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let upstream = Migration(
        version: 8,
        name: "cached responses of upstream systems",
        statements: [
            SQL(
                """
                CREATE TABLE upstream_tokens (
                    token_hash BLOB NOT NULL PRIMARY KEY, source TEXT NOT NULL, subject TEXT NOT NULL, state TEXT NOT NULL,
                    confirmed_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX upstream_tokens_by_time ON upstream_tokens (confirmed_at)"),
            SQL(
                """
                CREATE TABLE upstream_accounts (
                    subject TEXT NOT NULL PRIMARY KEY, is_suspended BIGINT NOT NULL, answer BLOB, answered_at BIGINT,
                    updated_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX upstream_accounts_by_time ON upstream_accounts (updated_at)"),
            SQL(
                """
                CREATE TABLE upstream_grants (
                    subject TEXT NOT NULL, product_id TEXT NOT NULL, granted_at BIGINT NOT NULL,
                    PRIMARY KEY (subject, product_id))
                """
            ),
            SQL("CREATE INDEX upstream_grants_by_time ON upstream_grants (granted_at)"),
        ]
    )
}
