import CarrelStore

extension Schema {
    static let identities = Migration(
        version: 7,
        name: "identities at providers, store transactions",
        statements: [
            SQL(
                """
                CREATE TABLE identities (
                    issuer TEXT NOT NULL, subject TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES accounts (id),
                    created_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (issuer, subject))
                """
            ),
            SQL("CREATE INDEX identities_by_account ON identities (account_id)"),
            SQL("CREATE TABLE used_sign_ons (id_hash BLOB NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL)"),
            SQL("CREATE INDEX used_sign_ons_by_end ON used_sign_ons (expires_at)"),
            SQL(
                """
                CREATE TABLE store_transactions (
                    environment TEXT NOT NULL, original_id TEXT NOT NULL, transaction_id TEXT NOT NULL,
                    bundle_id TEXT NOT NULL, product_id TEXT NOT NULL, account_id TEXT REFERENCES accounts (id),
                    purchased_at BIGINT NOT NULL, originally_purchased_at BIGINT NOT NULL, expires_at BIGINT,
                    revoked_at BIGINT, upgraded BIGINT NOT NULL, signed_at BIGINT NOT NULL, created_at BIGINT NOT NULL,
                    PRIMARY KEY (environment, original_id))
                """
            ),
            SQL("CREATE INDEX store_transactions_by_account ON store_transactions (account_id)"),
        ]
    )
}
