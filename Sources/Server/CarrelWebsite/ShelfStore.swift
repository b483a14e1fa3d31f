// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelOrders
package import CarrelStore

/// The SQL of the bookshelf.
package enum ShelfStore {
    /// Each of the last two columns is the latest interval's, as ``ListeningStore/latest`` finds it.
    static let items = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at,
            titles.id, titles.kind, titles.metadata, titles.duration_ms, titles.cover_blob, titles.cover_type,
            titles.sample_blob, titles.sample_ms, titles.created_at,
            (SELECT effective_end FROM intervals WHERE order_id = orders.id
                ORDER BY effective_end DESC, start_utc DESC, end_position DESC, end_utc DESC, start_position DESC LIMIT 1),
            (SELECT COALESCE(end_position_ms, end_position * 1000) FROM intervals WHERE order_id = orders.id
                ORDER BY effective_end DESC, start_utc DESC, end_position DESC, end_utc DESC, start_position DESC LIMIT 1)
        FROM orders JOIN titles ON titles.id = orders.title_id
        WHERE orders.account_id = $1 AND orders.state <> 'cancelled' AND (orders.created_at, orders.id) < ($2, $3)
        ORDER BY orders.created_at DESC, orders.id DESC LIMIT $4
        """
    )

    package static let statements = [items]

    /// A position of a listener, and its time.
    typealias Place = (milliseconds: Int64, at: Instant)

    /// The orders of an account with their titles and positions, the newest first; orders canceled before they began are omitted.
    static func items(
        of account: String,
        after: (Instant, String)?,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [(order: Order, title: Title, place: Place?)] {
        let values: [SQLValue] = [
            .text(account), .integer(after?.0.milliseconds ?? Int64.max), .text(after?.1 ?? ""), .integer(Int64(limit)),
        ]
        return try transaction.rows(items, values).map { row in
            var place: Place?
            if let at = try row.instantIfPresent(20), let milliseconds = try row.integerIfPresent(21) {
                place = (milliseconds, at)
            }
            return (try OrderStore.order(row), try TitleStore.title(row, from: 11), place)
        }
    }
}
