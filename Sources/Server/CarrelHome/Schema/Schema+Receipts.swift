// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let receipts = Migration(
        version: 10,
        name: "purchases in app stores",
        statements: [
            SQL(
                """
                CREATE TABLE store_purchases (
                    environment TEXT NOT NULL, original_id TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES accounts (id),
                    created_at BIGINT NOT NULL, PRIMARY KEY (environment, original_id))
                """
            ),
            SQL("CREATE INDEX store_purchases_by_account ON store_purchases (account_id)"),
            SQL(
                """
                CREATE TABLE store_transactions (
                    environment TEXT NOT NULL, transaction_id TEXT NOT NULL, original_id TEXT NOT NULL,
                    bundle_id TEXT NOT NULL, product_id TEXT NOT NULL, kind TEXT NOT NULL, purchased_at BIGINT NOT NULL,
                    expires_at BIGINT, revoked_at BIGINT, upgraded BIGINT NOT NULL, signed_at BIGINT NOT NULL,
                    PRIMARY KEY (environment, transaction_id))
                """
            ),
            SQL("CREATE INDEX store_transactions_by_original ON store_transactions (environment, original_id)"),
        ]
    )
}
