// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelBytes
import CarrelCrypto
import CarrelHome
package import CarrelStore

/// Places that a reader marked in a title. They belong to the account and the title, so they outlive a loan.
package struct Bookmarks: Sendable {
    let database: any Database
    let clock: any WallClock

    package init(database: any Database, clock: any WallClock) {
        self.database = database
        self.clock = clock
    }

    package struct Bookmark: Sendable, Equatable {
        package let id: String
        package let positionMS: Int64
        package let note: String
        package let createdAt: Instant
    }

    /// The maximum number of bookmarks of one account in one title.
    static let limit = 1000

    package func list(account: String, title: String) async throws -> [Bookmark] {
        try await database.read { try BookmarkStore.list(account: account, title: title, in: $0) }
    }

    package func add(account: String, title: String, positionMS: Int64, note: String) async throws -> Bookmark {
        guard positionMS >= 0 else { throw ServerError(.invalid, "seconds must not be negative") }
        guard note.utf8.count <= 4096, !note.unicodeScalars.contains(where: { $0.value == 0 }) else {
            throw ServerError(.invalid, "a note has at most 4096 bytes")
        }
        let bookmark = Bookmark(id: Random.uuid(), positionMS: positionMS, note: note, createdAt: clock.now)
        try await database.write { transaction in
            guard try Accounts.find(id: account, in: transaction) != nil else { throw Account.unknown }
            guard try BookmarkStore.list(account: account, title: title, in: transaction).count < Self.limit else {
                throw ServerError(.invalid, "a title has at most \(Self.limit) bookmarks")
            }
            try BookmarkStore.insert(bookmark, account: account, title: title, in: transaction)
        }
        return bookmark
    }

    package func remove(_ id: String, account: String) async throws {
        guard try await database.write({ try BookmarkStore.delete(id, account: account, in: $0) }) else {
            throw ServerError(.notFound, "there is no such bookmark")
        }
    }
}

/// The SQL of bookmarks.
package enum BookmarkStore {
    static let list = SQL(
        """
        SELECT id, position_ms, note, created_at FROM bookmarks WHERE account_id = $1 AND title_id = $2
        ORDER BY position_ms, created_at, id
        """
    )
    static let insert = SQL(
        """
        INSERT INTO bookmarks (id, account_id, title_id, position_ms, note, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        """
    )
    static let delete = SQL("DELETE FROM bookmarks WHERE id = $1 AND account_id = $2")

    package static let statements = [list, insert, delete]

    static func list(account: String, title: String, in transaction: any Transaction) throws -> [Bookmarks.Bookmark] {
        try transaction.rows(list, [.text(account), .text(title)]).map {
            Bookmarks.Bookmark(
                id: try $0.text(0),
                positionMS: try $0.integer(1),
                note: try $0.text(2),
                createdAt: try $0.instant(3)
            )
        }
    }

    static func insert(
        _ bookmark: Bookmarks.Bookmark,
        account: String,
        title: String,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .text(bookmark.id), .text(account), .text(title), .integer(bookmark.positionMS), .text(bookmark.note),
            .instant(bookmark.createdAt),
        ]
        _ = try transaction.run(insert, values)
    }

    /// Whether there was such a bookmark.
    static func delete(_ id: String, account: String, in transaction: any Transaction) throws -> Bool {
        try transaction.run(delete, [.text(id), .text(account)]) == 1
    }
}
