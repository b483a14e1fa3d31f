// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// An account that a sign-in created is as old as its identity, and has a name that only a sign-in gives.
    static let provenIdentities = Migration(
        version: 17,
        name: "the identities that accounts were created with",
        statements: [
            SQL("ALTER TABLE identities ADD COLUMN proven BIGINT NOT NULL DEFAULT 0"),
            SQL(
                """
                UPDATE identities SET proven = 1 WHERE EXISTS (
                    SELECT 1 FROM accounts WHERE accounts.id = identities.account_id
                        AND accounts.created_at = identities.created_at AND accounts.name LIKE 'oidc:%')
                """
            ),
        ]
    )
}
