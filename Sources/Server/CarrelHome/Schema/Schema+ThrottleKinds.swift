// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Counters are evicted by their kind, and cleared by keyed hashes of the name or the network. Older counters have neither:
    /// they form a separate kind, and expire within a day.
    static let throttleKinds = Migration(
        version: 20,
        name: "kinds of counters",
        statements: [
            SQL("ALTER TABLE throttle ADD COLUMN kind TEXT NOT NULL DEFAULT ''"),
            SQL("ALTER TABLE throttle ADD COLUMN account_hash BLOB"),
            SQL("ALTER TABLE throttle ADD COLUMN network_hash BLOB"),
            SQL("CREATE INDEX throttle_by_kind ON throttle (kind, expires_at)"),
            SQL("CREATE INDEX throttle_by_account ON throttle (account_hash)"),
            SQL("CREATE INDEX throttle_by_network ON throttle (network_hash)"),
        ]
    )
}
