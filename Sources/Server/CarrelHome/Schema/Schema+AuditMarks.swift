// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let auditMarks = Migration(
        version: 23,
        name: "where the audit log begins and how far it is archived",
        statements: [
            SQL(
                """
                CREATE TABLE audit_marks (
                    name TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL, seal BLOB NOT NULL, mac BLOB NOT NULL)
                """
            )
        ]
    )
}
