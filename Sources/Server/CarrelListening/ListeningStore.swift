// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelOrders
package import CarrelStore

/// The SQL of the interval log.
package enum ListeningStore {
    static let orderAndDuration = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, titles.duration_ms
        FROM orders JOIN titles ON titles.id = orders.title_id JOIN accounts ON accounts.id = orders.account_id
        WHERE orders.id = $1 AND accounts.erased_at IS NULL
        """
    )
    static let insert = SQL(
        """
        INSERT INTO intervals (order_id, start_utc, end_utc, start_position, end_position, effective_end, received_at,
            end_position_ms, device_id, device_name, speed)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING
        """
    )
    // The greater details of an interval reported twice are kept, so that the order of arrival does not matter.
    static let keepGreater = SQL(
        """
        UPDATE intervals SET end_position_ms = $6, device_id = $7, device_name = $8, speed = $9
        WHERE order_id = $1 AND start_utc = $2 AND end_utc = $3 AND start_position = $4 AND end_position = $5
            AND (COALESCE(end_position_ms, -1), COALESCE(device_id, ''), COALESCE(device_name, ''), COALESCE(speed, 0))
            < ($10, $11, $12, $13)
        """
    )
    static let latest = SQL(
        """
        SELECT order_id, effective_end, end_position, end_position_ms, device_id, device_name FROM intervals
        WHERE order_id = $1
        ORDER BY effective_end DESC, start_utc DESC, end_position DESC, end_utc DESC, start_position DESC LIMIT 1
        """
    )
    static let latestOfTitle = SQL(
        """
        SELECT intervals.order_id, intervals.effective_end, intervals.end_position, intervals.end_position_ms,
            intervals.device_id, intervals.device_name
        FROM intervals JOIN orders ON orders.id = intervals.order_id
        WHERE orders.account_id = $1 AND orders.title_id = $2
        ORDER BY intervals.effective_end DESC, intervals.start_utc DESC, intervals.end_position DESC, intervals.end_utc DESC,
            intervals.start_position DESC, intervals.order_id DESC LIMIT 1
        """
    )
    static let history = SQL(
        """
        SELECT order_id, start_utc, end_utc, start_position, end_position, end_position_ms, device_id, device_name, speed,
            effective_end
        FROM intervals
        WHERE order_id = $1 AND (effective_end, start_utc, end_position, end_utc, start_position) < ($3, $4, $5, $6, $7)
        ORDER BY effective_end DESC, start_utc DESC, end_position DESC, end_utc DESC, start_position DESC LIMIT $2
        """
    )
    static let count = SQL("SELECT count(*) FROM intervals WHERE order_id = $1")
    static let deleteOldest = SQL(
        """
        DELETE FROM intervals WHERE order_id = $1 AND (start_utc, end_utc, start_position, end_position) IN (
            SELECT start_utc, end_utc, start_position, end_position FROM intervals WHERE order_id = $1
            ORDER BY effective_end, start_utc, end_position, end_utc, start_position LIMIT $2)
        """
    )

    static let titlesHeard = SQL(
        """
        SELECT DISTINCT title_id FROM orders WHERE account_id = $1
            AND EXISTS (SELECT 1 FROM intervals WHERE intervals.order_id = orders.id)
        """
    )

    package static let statements =
        [
            titlesHeard, orderAndDuration, insert, keepGreater, latest, latestOfTitle, history, count, deleteOldest,
        ] + statementsOfPersonalData

    /// The order and the duration of its title in milliseconds; nil also for the order of an erased reader.
    static func order(_ id: String, in transaction: any Transaction) throws -> (Order, Int64)? {
        try transaction.row(orderAndDuration, [.text(id)]).map { (try OrderStore.order($0), try $0.integer(11)) }
    }

    /// Keeps the interval, and returns whether it is new.
    static func record(_ interval: ListeningInterval, receivedAt: Instant, in transaction: any Transaction) throws -> Bool {
        let key: [SQLValue] = [
            .text(interval.orderID), .instant(interval.startUTC), .instant(interval.endUTC), .integer(interval.startPosition),
            .integer(interval.endPosition),
        ]
        let particulars: [SQLValue] = [
            interval.endPositionMS.map { .integer($0) } ?? .null, SQLValue(interval.deviceID), SQLValue(interval.deviceName),
            interval.speed.map { .real($0) } ?? .null,
        ]
        let times: [SQLValue] = [.instant(interval.effectiveEnd(received: receivedAt)), .instant(receivedAt)]
        if try transaction.run(insert, key + times + particulars) == 1 { return true }
        let comparable: [SQLValue] = [
            .integer(interval.endPositionMS ?? -1), .text(interval.deviceID ?? ""), .text(interval.deviceName ?? ""),
            .real(interval.speed ?? 0),
        ]
        try transaction.run(keepGreater, key + particulars + comparable)
        return false
    }

    static func latest(order: String, in transaction: any Transaction) throws -> ListeningPosition? {
        try transaction.row(latest, [.text(order)]).map(position)
    }

    /// The titles in which an account has been somewhere.
    static func titles(heardBy account: String, in transaction: any Transaction) throws -> [String] {
        try transaction.rows(titlesHeard, [.text(account)]).map { try $0.text(0) }
    }

    static func latest(account: String, title: String, in transaction: any Transaction) throws -> ListeningPosition? {
        try transaction.row(latestOfTitle, [.text(account), .text(title)]).map(position)
    }

    private static func position(_ row: Row) throws -> ListeningPosition {
        ListeningPosition(
            orderID: try row.text(0),
            lastUpdated: try row.instant(1),
            seconds: try row.integer(2),
            milliseconds: try row.integerIfPresent(3),
            deviceID: try row.textIfPresent(4),
            deviceName: try row.textIfPresent(5)
        )
    }

    /// Deletes the oldest intervals of an order that has more than `limit`.
    static func trim(order: String, to limit: Int, in transaction: any Transaction) throws {
        let excess = try (transaction.row(count, [.text(order)])?.integer(0) ?? 0) - Int64(limit)
        if excess > 0 { _ = try transaction.run(deleteOldest, [.text(order), .integer(excess)]) }
    }

    static func history(
        order: String,
        after mark: IntervalCursor?,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [(interval: ListeningInterval, mark: IntervalCursor)] {
        let values: [SQLValue] = [.text(order), .integer(Int64(limit))]
        return try transaction.rows(history, values + (mark ?? .newest).columns.map { .integer($0) }).map { row in
            var interval = ListeningInterval(
                orderID: try row.text(0),
                startUTC: try row.instant(1),
                endUTC: try row.instant(2),
                startPosition: try row.integer(3),
                endPosition: try row.integer(4)
            )
            interval.endPositionMS = try row.integerIfPresent(5)
            interval.deviceID = try row.textIfPresent(6)
            interval.deviceName = try row.textIfPresent(7)
            interval.speed = try row.realIfPresent(8)
            let columns = [try row.integer(9)] + (try [1, 4, 2, 3].map { try row.integer($0) })
            return (interval, IntervalCursor(columns: columns))
        }
    }
}
