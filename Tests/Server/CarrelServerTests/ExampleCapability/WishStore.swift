// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore

/// The SQL of wishes.
enum WishStore {
    struct Wish: Sendable, Equatable {
        /// The title's id.
        let title: String
        let at: Instant
    }

    /// In the server this is `Schema+Wishes.swift`, at the end of `Schema.migrations`.
    static func migration(version: Int) -> Migration {
        Migration(
            version: version,
            name: "wishes",
            statements: [
                SQL(
                    """
                    CREATE TABLE wishes (
                        account_id TEXT NOT NULL REFERENCES accounts (id), title_id TEXT NOT NULL, at BIGINT NOT NULL,
                        PRIMARY KEY (account_id, title_id))
                    """
                )
            ]
        )
    }

    static let list = SQL("SELECT title_id, at FROM wishes WHERE account_id = $1 ORDER BY at, title_id")
    static let insert = SQL("INSERT INTO wishes (account_id, title_id, at) VALUES ($1, $2, $3)")
    static let deleteAll = SQL("DELETE FROM wishes WHERE account_id = $1")

    static let statements = [list, insert, deleteAll]

    static func list(of account: String, in transaction: any Transaction) throws -> [Wish] {
        try transaction.rows(list, [.text(account)]).map { Wish(title: try $0.text(0), at: try $0.instant(1)) }
    }

    static func insert(_ wish: Wish, of account: String, in transaction: any Transaction) throws {
        try transaction.run(insert, [.text(account), .text(wish.title), .instant(wish.at)])
    }

    static func deleteAll(of account: String, in transaction: any Transaction) throws {
        try transaction.run(deleteAll, [.text(account)])
    }
}
