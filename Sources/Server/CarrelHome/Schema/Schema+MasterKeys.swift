// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// A key without `activated_at` was added and wraps nothing yet.
    static let masterKeys = Migration(
        version: 21,
        name: "fingerprints of the master keys, and the nodes that hold them",
        statements: [
            SQL(
                """
                CREATE TABLE master_keys (
                    version BIGINT NOT NULL PRIMARY KEY, fingerprint BLOB NOT NULL, added_at BIGINT NOT NULL,
                    activated_at BIGINT)
                """
            ),
            SQL(
                """
                CREATE TABLE nodes (
                    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, seen_at BIGINT NOT NULL, master_versions TEXT NOT NULL)
                """
            ),
        ]
    )
}
