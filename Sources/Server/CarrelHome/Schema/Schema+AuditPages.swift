// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Under load many entries are one row of the log, which stands for a page here: `at` is the time of the last of its entries.
    static let auditPages = Migration(
        version: 15,
        name: "pages of the audit log",
        statements: [
            SQL(
                """
                CREATE TABLE audit_pages (
                    id TEXT NOT NULL PRIMARY KEY, first_at BIGINT NOT NULL, at BIGINT NOT NULL, filter BLOB NOT NULL,
                    entries BLOB NOT NULL)
                """
            ),
            SQL("CREATE INDEX audit_pages_by_time ON audit_pages (at, id, first_at)"),
        ]
    )
}
