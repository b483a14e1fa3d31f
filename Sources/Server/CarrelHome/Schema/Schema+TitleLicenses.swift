// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The orders of licenses for titles, and the keys that portals sign license messages with.
    static let titleLicenses = Migration(
        version: 27,
        name: "licenses of titles, communication keys",
        statements: [
            SQL("ALTER TABLE licenses ADD COLUMN order_id TEXT"),
            SQL("CREATE INDEX licenses_by_order ON licenses (order_id)"),
            SQL(
                """
                CREATE TABLE communication_keys (
                    id TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL)
                """
            ),
        ]
    )
}
