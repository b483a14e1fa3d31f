// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// Personal data of listening and bookmarks: their export and their end.
extension ListeningStore {
    static let exportedIntervals = SQL(
        """
        SELECT start_utc, end_utc, start_position, end_position, received_at, end_position_ms, device_id, device_name, speed
        FROM intervals
        WHERE order_id = $1 AND (start_utc, end_utc, start_position, end_position) > ($2, $3, $4, $5)
        ORDER BY start_utc, end_utc, start_position, end_position LIMIT $6
        """
    )
    static let exportedBookmarks = SQL(
        """
        SELECT bookmarks.id, bookmarks.title_id, titles.title, bookmarks.position_ms, bookmarks.note, bookmarks.created_at
        FROM bookmarks JOIN titles ON titles.id = bookmarks.title_id
        WHERE bookmarks.account_id = $1 AND (bookmarks.title_id, bookmarks.id) > ($2, $3)
        ORDER BY bookmarks.title_id, bookmarks.id LIMIT $4
        """
    )
    static let deleteIntervals = SQL(
        "DELETE FROM intervals WHERE order_id IN (SELECT id FROM orders WHERE account_id = $1)"
    )
    static let deleteBookmarks = SQL("DELETE FROM bookmarks WHERE account_id = $1")

    static let statementsOfPersonalData = [exportedIntervals, exportedBookmarks, deleteIntervals, deleteBookmarks]

    static func exportedIntervals(of order: String, after: [SQLValue]?, in transaction: any Transaction) throws
        -> PersonalData.Page
    {
        let after = after ?? Array(repeating: .integer(.min), count: 4)
        return try PersonalData.Page(exportedIntervals, [.text(order)] + after, in: transaction) { row in
            let item: JSON = [
                "order": .string(order), "startUtc": .init(try row.instant(0)), "endUtc": .init(try row.instant(1)),
                "startPosition": .integer(try row.integer(2)), "endPosition": .integer(try row.integer(3)),
                "receivedAt": .init(try row.instant(4)),
                "positionMs": try row.integerIfPresent(5).map { .integer($0) } ?? .null,
                "deviceId": .init(try row.textIfPresent(6)), "deviceName": .init(try row.textIfPresent(7)),
                "speed": try row.realIfPresent(8).map { .real($0) } ?? .null,
            ]
            return (item, try (0..<4).map { .integer(try row.integer($0)) })
        }
    }

    static func exportedBookmarks(of account: String, after: [SQLValue]?, in transaction: any Transaction) throws
        -> PersonalData.Page
    {
        let after = after ?? [.text(""), .text("")]
        return try PersonalData.Page(exportedBookmarks, [.text(account)] + after, in: transaction) { row in
            let item: JSON = [
                "id": .string(try row.text(0)),
                "title": ["id": .string(try row.text(1)), "title": .string(try row.text(2))],
                "seconds": .seconds(milliseconds: try row.integer(3)), "note": .string(try row.text(4)),
                "createdAt": .init(try row.instant(5)),
            ]
            return (item, [.text(try row.text(1)), .text(try row.text(0))])
        }
    }

    /// Deletes what an account listened to, and its bookmarks.
    static func deleteAll(of account: String, in transaction: any Transaction) throws {
        for statement in [deleteIntervals, deleteBookmarks] { _ = try transaction.run(statement, [.text(account)]) }
    }
}
