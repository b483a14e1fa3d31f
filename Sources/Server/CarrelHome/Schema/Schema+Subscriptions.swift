// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let subscriptions = Migration(
        version: 2,
        name: "passwords, devices, plans, subscriptions, editions, audit",
        statements: [
            SQL("ALTER TABLE accounts ADD COLUMN password TEXT"),
            SQL("ALTER TABLE accounts ADD COLUMN suspended_at BIGINT"),
            SQL("ALTER TABLE accounts ADD COLUMN device_limit BIGINT"),
            SQL(
                """
                CREATE TABLE devices (
                    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
                    key_hash BLOB NOT NULL, name TEXT NOT NULL, created_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
                    freed_at BIGINT, UNIQUE (account_id, key_hash))
                """
            ),
            SQL("ALTER TABLE sessions ADD COLUMN family TEXT NOT NULL DEFAULT ''"),
            SQL("ALTER TABLE sessions ADD COLUMN device_id TEXT"),
            SQL("ALTER TABLE sessions ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE sessions ADD COLUMN renewed_at BIGINT"),
            SQL("UPDATE sessions SET seen_at = created_at"),
            SQL("CREATE INDEX sessions_by_family ON sessions (family)"),
            SQL(
                """
                CREATE TABLE throttle (
                    key BLOB NOT NULL PRIMARY KEY, failures BIGINT NOT NULL, until_at BIGINT NOT NULL,
                    updated_at BIGINT NOT NULL, seen BLOB NOT NULL)
                """
            ),
            SQL("CREATE INDEX throttle_by_time ON throttle (updated_at)"),
            SQL(
                """
                CREATE TABLE plans (
                    name TEXT NOT NULL PRIMARY KEY, scope TEXT NOT NULL, grace_issues BIGINT NOT NULL, device_limit BIGINT,
                    created_at BIGINT NOT NULL)
                """
            ),
            SQL(
                """
                CREATE TABLE plan_products (
                    plan TEXT NOT NULL REFERENCES plans (name), product_id TEXT NOT NULL, PRIMARY KEY (plan, product_id))
                """
            ),
            SQL(
                """
                CREATE TABLE subscriptions (
                    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
                    plan TEXT NOT NULL REFERENCES plans (name), starts_at BIGINT NOT NULL, ends_at BIGINT,
                    created_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX subscriptions_by_account ON subscriptions (account_id, starts_at)"),
            SQL(
                """
                CREATE TABLE purchases (
                    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
                    product_id TEXT NOT NULL, kind TEXT NOT NULL, ends_at BIGINT, created_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX purchases_by_account ON purchases (account_id, created_at)"),
            SQL(
                """
                CREATE TABLE editions (
                    title_id TEXT NOT NULL PRIMARY KEY REFERENCES titles (id), product_id TEXT NOT NULL UNIQUE,
                    price TEXT NOT NULL, state TEXT NOT NULL, issued_at BIGINT NOT NULL, published_at BIGINT,
                    withdrawn_at BIGINT, updated_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX editions_by_issue ON editions (issued_at, product_id)"),
            SQL(
                """
                CREATE TABLE audit (
                    id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
                    subject TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, request_id TEXT NOT NULL,
                    number BIGINT UNIQUE, seal BLOB)
                """
            ),
            SQL("CREATE INDEX audit_by_time ON audit (at, id)"),
            SQL("CREATE INDEX audit_by_number ON audit (number, at, id)"),
            SQL("CREATE INDEX audit_by_subject ON audit (subject, at)"),
        ]
    )
}
