// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Indexes of columns that few rows have: the others are not in them, so that a license costs fewer entries.
    static let sparseIndexes = Migration(
        version: 33,
        name: "indexes of what few licenses and redemptions have",
        statements: [
            SQL("DROP INDEX licenses_by_end"),
            SQL("CREATE INDEX licenses_by_end ON licenses (ended_at) WHERE ended_at IS NOT NULL"),
            SQL("DROP INDEX licenses_by_until"),
            SQL("CREATE INDEX licenses_by_until ON licenses (until) WHERE until IS NOT NULL"),
            SQL("DROP INDEX licenses_by_lease_end"),
            SQL("CREATE INDEX licenses_by_lease_end ON licenses (lease_until) WHERE lease_until IS NOT NULL"),
            SQL("DROP INDEX licenses_by_token"),
            SQL("CREATE INDEX licenses_by_token ON licenses (token_id, lease_until) WHERE token_id IS NOT NULL"),
            SQL("DROP INDEX licenses_by_order"),
            SQL("CREATE INDEX licenses_by_order ON licenses (order_id) WHERE order_id IS NOT NULL"),
            SQL("DROP INDEX redemptions_by_cookie"),
            SQL("CREATE INDEX redemptions_by_cookie ON redemptions (cookie, redeemed_at) WHERE cookie IS NOT NULL"),
            SQL("DROP INDEX redemptions_by_issuer"),
            SQL("CREATE INDEX redemptions_by_issuer ON redemptions (issuer, redeemed_at, token_id) WHERE issuer IS NOT NULL"),
        ]
    )
}
