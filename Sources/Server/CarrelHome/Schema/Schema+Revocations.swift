// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let revocations = Migration(
        version: 6,
        name: "revoked credentials",
        statements: [
            SQL("DROP TABLE credential_revocations"),
            // Counts revocations and changes of the signing secrets: a reader of serial n reads only later changes.
            SQL("CREATE TABLE credential_serial (serial BIGINT NOT NULL PRIMARY KEY)"),
            SQL("INSERT INTO credential_serial (serial) VALUES (1)"),
            // Credentials of an account, for a product, or all (subject '') that carry a smaller number are void.
            SQL(
                """
                CREATE TABLE revocations (
                    kind TEXT NOT NULL, subject TEXT NOT NULL, serial BIGINT NOT NULL, revoked_at BIGINT NOT NULL,
                    PRIMARY KEY (kind, subject))
                """
            ),
            SQL("CREATE INDEX revocations_by_serial ON revocations (serial)"),
            SQL("CREATE INDEX revocations_by_time ON revocations (revoked_at)"),
            SQL("UPDATE secrets SET name = 'credential/1' WHERE name = 'credential'"),
        ]
    )
}
