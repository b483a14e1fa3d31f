// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let guarding = Migration(
        version: 9,
        name: "ends of sessions and counters, networks that accounts sign in from",
        statements: [
            SQL("CREATE INDEX sessions_by_end ON sessions (expires_at)"),
            SQL("CREATE INDEX sessions_by_device ON sessions (device_id)"),
            SQL("CREATE TABLE sign_in_networks (key BLOB NOT NULL PRIMARY KEY, seen_at BIGINT NOT NULL)"),
            SQL("CREATE INDEX sign_in_networks_by_time ON sign_in_networks (seen_at)"),
            SQL("INSERT INTO sign_in_networks (key, seen_at) SELECT key, updated_at FROM throttle WHERE failures = 0"),
            SQL("DELETE FROM throttle WHERE failures = 0"),
            SQL("ALTER TABLE throttle ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0"),
            SQL("UPDATE throttle SET expires_at = updated_at + 86400000"),
            SQL("DROP INDEX throttle_by_time"),
            SQL("CREATE INDEX throttle_by_end ON throttle (expires_at)"),
        ]
    )
}
