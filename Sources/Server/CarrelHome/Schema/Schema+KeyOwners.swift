// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The portals that own content keys and issued redeemed tokens, by the ids of their back-office keys.
    static let keyOwners = Migration(
        version: 31,
        name: "owners of content keys and issuers of redeemed tokens",
        statements: [
            // nil: a key that every portal may name
            SQL("ALTER TABLE content_keys ADD COLUMN owner TEXT"),
            // nil: its messages name keys without an owner alone
            SQL("ALTER TABLE communication_keys ADD COLUMN owner TEXT"),
            // nil: a token of staff, of the operator, or of an earlier version
            SQL("ALTER TABLE redemptions ADD COLUMN issuer TEXT"),
            SQL("CREATE INDEX redemptions_by_issuer ON redemptions (issuer, redeemed_at, token_id)"),
        ]
    )
}
