// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let holdings = Migration(
        version: 11,
        name: "subscriptions that were revoked, how often devices left",
        statements: [
            SQL("ALTER TABLE subscriptions ADD COLUMN revoked_at BIGINT"),
            SQL("ALTER TABLE devices ADD COLUMN taken_at BIGINT"),
            SQL("ALTER TABLE devices ADD COLUMN departures BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE devices ADD COLUMN departed_at BIGINT"),
        ]
    )
}
