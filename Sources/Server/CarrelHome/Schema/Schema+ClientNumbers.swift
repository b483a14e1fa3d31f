// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// A repeated request is recognized by the client's number. The request is stored too, because an end changes later.
    static let clientNumbers = Migration(
        version: 16,
        name: "the numbers that clients gave to subscriptions and purchases",
        statements: [
            SQL("ALTER TABLE subscriptions ADD COLUMN number TEXT"),
            SQL("ALTER TABLE subscriptions ADD COLUMN asked_start BIGINT"),
            SQL("ALTER TABLE subscriptions ADD COLUMN asked_end BIGINT"),
            SQL("CREATE UNIQUE INDEX subscriptions_by_number ON subscriptions (account_id, number)"),
            SQL("ALTER TABLE purchases ADD COLUMN number TEXT"),
            SQL("ALTER TABLE purchases ADD COLUMN asked_end BIGINT"),
            SQL("CREATE UNIQUE INDEX purchases_by_number ON purchases (account_id, number)"),
        ]
    )
}
