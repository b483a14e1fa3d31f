// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let identities = Migration(
        version: 7,
        name: "identities at providers",
        statements: [
            SQL(
                """
                CREATE TABLE identities (
                    issuer TEXT NOT NULL, subject TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES accounts (id),
                    created_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (issuer, subject))
                """
            ),
            SQL("CREATE INDEX identities_by_account ON identities (account_id)"),
            SQL("CREATE TABLE used_sign_ons (id_hash BLOB NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL)"),
            SQL("CREATE INDEX used_sign_ons_by_end ON used_sign_ons (expires_at)"),
        ]
    )
}
