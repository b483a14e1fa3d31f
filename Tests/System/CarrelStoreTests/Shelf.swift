// SPDX-License-Identifier: Apache-2.0

import CarrelStore

/// A tiny schema for the tests, in the SQL both engines share.
enum Shelf {
    static let migrations = [
        Migration(
            version: 1,
            name: "books and notes",
            statements: [
                SQL(
                    """
                    CREATE TABLE book (
                        id TEXT PRIMARY KEY, pages BIGINT NOT NULL CHECK (pages > 0), weight DOUBLE PRECISION, cover BLOB
                    )
                    """
                ),
                SQL(
                    """
                    CREATE TABLE note (
                        id BIGINT PRIMARY KEY, book TEXT NOT NULL REFERENCES book (id) ON DELETE CASCADE, text TEXT
                    )
                    """
                ),
            ]
        )
    ]

    static let add = SQL("INSERT INTO book (id, pages, weight, cover) VALUES ($1, $2, $3, $4)")
    static let addBackwards = SQL("INSERT INTO book (pages, id) VALUES ($2, $1)")
    static let addNote = SQL("INSERT INTO note (id, book, text) VALUES ($1, $2, $3)")
    static let book = SQL("SELECT id, pages, weight, cover FROM book WHERE id = $1")
    static let ids = SQL("SELECT id FROM book ORDER BY id")
    static let count = SQL("SELECT COUNT(*) FROM book")
    static let remove = SQL("DELETE FROM book WHERE id = $1")
    static let removeAll = SQL("DELETE FROM book")
    static let notes = SQL("SELECT COUNT(*) FROM note")
    static let upsert = SQL(
        """
        INSERT INTO book (id, pages) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET pages = excluded.pages WHERE book.pages < excluded.pages
        RETURNING pages
        """
    )

    /// Adds a book with nothing but its id.
    static func add(_ id: String, to transaction: any Transaction) throws(StoreError) {
        try transaction.run(add, [.text(id), 1, nil, nil])
    }

    static func count(_ database: any Database) async throws -> Int64 {
        try await database.read { try $0.row(count)?.integer(0) ?? -1 }
    }
}
