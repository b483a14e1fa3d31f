// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore

/// The SQL of orders.
package enum OrderStore {
    static let insert = SQL(
        """
        INSERT INTO orders (id, number, account_id, title_id, kind, state, starts_at, ends_at, created_at, master_version,
            wrapped_key, isbn, play_seconds)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING
        """
    )
    static let byID = SQL(
        """
        SELECT id, number, account_id, title_id, kind, state, starts_at, ends_at, created_at, activated_at, ended_at
        FROM orders WHERE id = $1
        """
    )
    static let byNumber = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, accounts.name, orders.isbn, titles.isbn
        FROM orders JOIN accounts ON accounts.id = orders.account_id JOIN titles ON titles.id = orders.title_id
        WHERE orders.number = $1
        """
    )
    static let withKey = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, accounts.suspended_at,
            orders.master_version, orders.wrapped_key
        FROM orders JOIN accounts ON accounts.id = orders.account_id WHERE orders.id = $1
        """
    )
    static let live = SQL(
        "SELECT id FROM orders WHERE account_id = $1 AND state IN ('ready', 'active') AND (ends_at IS NULL OR ends_at > $2)"
    )
    static let update = SQL("UPDATE orders SET state = $2, ended_at = $3 WHERE id = $1")
    /// A rental ends after its time of play, from its first use on.
    static let activate = SQL(
        """
        UPDATE orders SET state = 'active', activated_at = $2, ends_at = CASE
            WHEN play_seconds IS NOT NULL AND (ends_at IS NULL OR ends_at > $2 + play_seconds * 1000)
            THEN $2 + play_seconds * 1000 ELSE ends_at END
        WHERE id = $1 AND state = 'ready'
        """
    )
    // Each kind of list has a separate statement: with "$1 = '' OR …" no index is of use.
    static let list = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, accounts.name
        FROM orders JOIN accounts ON accounts.id = orders.account_id
        WHERE ($1 = '' OR orders.title_id = $1) AND (orders.created_at, orders.id) > ($2, $3)
        ORDER BY orders.created_at, orders.id LIMIT $4
        """
    )
    static let listOfAccount = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, accounts.name
        FROM accounts JOIN orders ON orders.account_id = accounts.id
        WHERE ($1 = '' OR orders.title_id = $1) AND (orders.created_at, orders.id) > ($2, $3) AND accounts.name = $5
        ORDER BY orders.created_at, orders.id LIMIT $4
        """
    )
    static let listOfNumber = SQL(
        """
        SELECT orders.id, orders.number, orders.account_id, orders.title_id, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, accounts.name
        FROM orders JOIN accounts ON accounts.id = orders.account_id
        WHERE ($1 = '' OR orders.title_id = $1) AND (orders.created_at, orders.id) > ($2, $3) AND orders.number = $5
            AND ($6 = '' OR accounts.name = $6)
        LIMIT $4
        """
    )
    /// Orders of one account and title, the most relevant first: live, then ended, each the newest first.
    static let explaining = SQL(
        """
        SELECT id, number, account_id, title_id, kind, state, starts_at, ends_at, created_at, activated_at, ended_at FROM orders
        WHERE account_id = $1 AND title_id = $2
        ORDER BY CASE WHEN state = 'returned' THEN 1 WHEN state NOT IN ('ready', 'active') THEN 3 WHEN starts_at > $3 THEN 2
            WHEN ends_at <= $3 THEN 1 ELSE 0 END, created_at DESC, id LIMIT $4
        """
    )
    static let countOfTitle = SQL("SELECT count(*) FROM orders WHERE account_id = $1 AND title_id = $2")
    static let keysUnderOtherMaster = SQL(
        "SELECT id, master_version, wrapped_key FROM orders WHERE master_version <> $1 ORDER BY id LIMIT $2"
    )
    static let rewrap = SQL("UPDATE orders SET master_version = $2, wrapped_key = $3 WHERE id = $1")

    package static let statements =
        [
            insert, byID, byNumber, withKey, live, update, activate, list, listOfAccount, listOfNumber, explaining, countOfTitle,
            keysUnderOtherMaster, rewrap,
        ] + statementsOfPersonalData

    /// Whether the order was inserted; false if its id or number is taken. `isbn` is the request's name of the title; nil if it
    /// was the title's id.
    static func insert(
        _ order: Order,
        isbn: ISBN?,
        playSeconds: Int? = nil,
        key: MasterKeyring.Wrapped,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [
            .text(order.id), SQLValue(order.number), .text(order.accountID), .text(order.titleID),
            .text(order.kind.rawValue), .text(order.state.rawValue), .instant(order.startsAt), .instant(order.endsAt),
            .instant(order.createdAt), .integer(key.masterVersion), .blob(key.bytes),
            SQLValue(isbn?.description), playSeconds.map { .integer(Int64($0)) } ?? .null,
        ]
        return try transaction.run(insert, values) == 1
    }

    package static func order(id: String, in transaction: any Transaction) throws -> Order? {
        try transaction.row(byID, [.text(id)]).map(order)
    }

    /// The order of a number, the name of its account, and the ISBNs that a repeated request may use: the one it was placed with,
    /// and its title's.
    static func order(number: String, in transaction: any Transaction) throws -> (
        order: Order, account: String, isbns: [String]
    )? {
        try transaction.row(byNumber, [.text(number)]).map { row in
            (try order(row), try row.text(11), try [12, 13].compactMap { try row.textIfPresent($0) })
        }
    }

    /// The data of an order that streaming needs; nil without such an order.
    static func grant(id: String, in transaction: any Transaction) throws -> (
        order: Order, isSuspended: Bool, key: MasterKeyring.Wrapped
    )? {
        guard let row = try transaction.row(withKey, [.text(id)]) else { return nil }
        let key = MasterKeyring.Wrapped(masterVersion: try row.integer(12), bytes: try row.blob(13))
        return (try order(row), try row.instantIfPresent(11) != nil, key)
    }

    /// The orders of an account that can be listened to, now or later.
    static func live(ofAccount account: String, at now: Instant, in transaction: any Transaction) throws -> [String] {
        try transaction.rows(live, [.text(account), .instant(now)]).map { try $0.text(0) }
    }

    static func update(_ order: Order, in transaction: any Transaction) throws {
        _ = try transaction.run(update, [.text(order.id), .text(order.state.rawValue), .instant(order.endedAt)])
    }

    static func activate(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(activate, [.text(id), .instant(now)])
    }

    static func list(_ filter: OrderFilter, in transaction: any Transaction) throws -> [(order: Order, account: String)] {
        let values: [SQLValue] = [
            .text(filter.titleID ?? ""), .integer(filter.after?.0.milliseconds ?? Int64.min), .text(filter.after?.1 ?? ""),
            .integer(Int64(filter.limit)),
        ]
        let (number, account) = (filter.number ?? "", filter.account ?? "")
        let rows =
            if !number.isEmpty {
                try transaction.rows(listOfNumber, values + [.text(number), .text(account)])
            } else if !account.isEmpty {
                try transaction.rows(listOfAccount, values + [.text(account)])
            } else {
                try transaction.rows(list, values)
            }
        return try rows.map { (try order($0), try $0.text(11)) }
    }

    /// An account's most relevant orders of a title for an explanation, and their total number.
    package static func explaining(
        _ title: String,
        to account: String,
        at now: Instant,
        limit: Int,
        in transaction: any Transaction
    ) throws -> (orders: [Order], count: Int) {
        let (account, title) = (SQLValue.text(account), SQLValue.text(title))
        let rows = try transaction.rows(explaining, [account, title, .instant(now), .integer(Int64(limit))])
        if rows.count < limit { return (try rows.map(order), rows.count) }
        let count = try transaction.row(countOfTitle, [account, title]).map { Int(try $0.integer(0)) }
        return (try rows.map(order), count ?? 0)
    }

    package static func order(_ row: Row) throws -> Order {
        guard let kind = Order.Kind(rawValue: try row.text(4)), let state = Order.State(rawValue: try row.text(5)) else {
            throw ServerError(.home, "an order has a kind or state that this version does not know")
        }
        return Order(
            id: try row.text(0),
            number: try row.textIfPresent(1),
            accountID: try row.text(2),
            titleID: try row.text(3),
            kind: kind,
            state: state,
            startsAt: try row.instantIfPresent(6),
            endsAt: try row.instantIfPresent(7),
            createdAt: try row.instant(8),
            activatedAt: try row.instantIfPresent(9),
            endedAt: try row.instantIfPresent(10)
        )
    }
}
