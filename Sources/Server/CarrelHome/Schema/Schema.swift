// SPDX-License-Identifier: Apache-2.0

package import CarrelStore

/// The tables of the server, in the subset of SQL that SQLite and PostgreSQL share (docs/decisions/0003-one-sql.md).
///
/// Instants are BIGINT milliseconds since 1970-01-01 UTC; identifiers are TEXT; bytes are `blob`.
package enum Schema {
    package static let migrations = [
        first, subscriptions, editions, ownPages, staff, revocations, identities, upstream, guarding, receipts, holdings,
        auditIndexes, deviceNames, orderISBNs, auditPages, clientNumbers, provenIdentities, installation,
        editionSearch, throttleKinds, masterKeys, contents, auditMarks, editionSearchTimes, players, licenses, titleLicenses,
        linkCodes, rightsBounds, licenseEnds, keyOwners, guests, sparseIndexes, contentKeyUses,
    ]

    private static let first = Migration(
        version: 1,
        name: "accounts, titles, orders, listening",
        statements: [
            SQL(
                """
                CREATE TABLE secrets (
                    name TEXT NOT NULL PRIMARY KEY, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL)
                """
            ),
            SQL(
                """
                CREATE TABLE accounts (
                    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at BIGINT NOT NULL)
                """
            ),
            SQL(
                """
                CREATE TABLE service_keys (
                    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, token_hash BLOB NOT NULL UNIQUE,
                    created_at BIGINT NOT NULL, revoked_at BIGINT)
                """
            ),
            SQL(
                """
                CREATE TABLE sessions (
                    token_hash BLOB NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
                    purpose TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX sessions_by_account ON sessions (account_id)"),
            SQL(
                """
                CREATE TABLE titles (
                    id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, isbn TEXT, source_hash BLOB NOT NULL UNIQUE,
                    title TEXT NOT NULL, metadata TEXT NOT NULL, duration_ms BIGINT NOT NULL,
                    media_blob TEXT NOT NULL, segment_index BLOB NOT NULL,
                    cover_blob TEXT, cover_type TEXT, sample_blob TEXT, sample_ms BIGINT,
                    created_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX titles_by_isbn ON titles (isbn)"),
            SQL(
                """
                CREATE TABLE orders (
                    id TEXT NOT NULL PRIMARY KEY, number TEXT UNIQUE,
                    account_id TEXT NOT NULL REFERENCES accounts (id), title_id TEXT NOT NULL REFERENCES titles (id),
                    kind TEXT NOT NULL, state TEXT NOT NULL, starts_at BIGINT, ends_at BIGINT,
                    created_at BIGINT NOT NULL, activated_at BIGINT, ended_at BIGINT,
                    master_version BIGINT NOT NULL, wrapped_key BLOB NOT NULL)
                """
            ),
            SQL("CREATE INDEX orders_by_account ON orders (account_id, created_at)"),
            SQL("CREATE INDEX orders_by_created ON orders (created_at, id)"),
            SQL(
                """
                CREATE TABLE intervals (
                    order_id TEXT NOT NULL REFERENCES orders (id),
                    start_utc BIGINT NOT NULL, end_utc BIGINT NOT NULL,
                    start_position BIGINT NOT NULL, end_position BIGINT NOT NULL,
                    effective_end BIGINT NOT NULL, received_at BIGINT NOT NULL,
                    end_position_ms BIGINT, device_id TEXT, device_name TEXT, speed DOUBLE PRECISION,
                    PRIMARY KEY (order_id, start_utc, end_utc, start_position, end_position))
                """
            ),
            SQL(
                """
                CREATE INDEX intervals_by_latest ON intervals
                    (order_id, effective_end, start_utc, end_position, end_utc, start_position)
                """
            ),
            SQL(
                """
                CREATE TABLE bookmarks (
                    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
                    title_id TEXT NOT NULL REFERENCES titles (id), position_ms BIGINT NOT NULL, note TEXT NOT NULL,
                    created_at BIGINT NOT NULL)
                """
            ),
            SQL("CREATE INDEX bookmarks_by_title ON bookmarks (account_id, title_id, position_ms)"),
        ]
    )
}
