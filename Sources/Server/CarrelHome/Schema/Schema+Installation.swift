// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The id that the database shares with its blob store: one row.
    static let installation = Migration(
        version: 18,
        name: "the installation",
        statements: [
            SQL(
                """
                CREATE TABLE installation (
                    place BIGINT NOT NULL PRIMARY KEY CHECK (place = 1), id TEXT NOT NULL, created_at BIGINT NOT NULL)
                """
            )
        ]
    )
}
