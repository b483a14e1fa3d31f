import CarrelBytes
import CarrelJSON
package import CarrelStore

/// The SQL of exports and of erasing: what is where about one account.
package enum PersonalDataStore {
    static let account = SQL(
        """
        SELECT id, name, created_at, suspended_at, device_limit, role, password IS NOT NULL FROM accounts
        WHERE id = $1 AND erased_at IS NULL
        """
    )
    static let sessions = SQL(
        """
        SELECT purpose, family, device_id, created_at, expires_at, seen_at, renewed_at FROM sessions WHERE account_id = $1
        ORDER BY created_at, family
        """
    )
    static let subscriptions = SQL(
        """
        SELECT id, plan, starts_at, ends_at, created_at, revoked_at, number, asked_start, asked_end FROM subscriptions WHERE account_id = $1
        ORDER BY created_at, id
        """
    )
    static let purchases = SQL(
        """
        SELECT id, product_id, kind, ends_at, created_at, number, asked_end FROM purchases WHERE account_id = $1
        ORDER BY created_at, id
        """
    )
    static let storePurchases = SQL(
        """
        SELECT environment, original_id, created_at FROM store_purchases WHERE account_id = $1
        ORDER BY created_at, environment, original_id
        """
    )
    static let storeTransactions = SQL(
        """
        SELECT environment, transaction_id, original_id, bundle_id, product_id, kind, purchased_at, expires_at, revoked_at, signed_at
        FROM store_transactions
        WHERE (environment, original_id) IN (SELECT environment, original_id FROM store_purchases WHERE account_id = $1)
        ORDER BY purchased_at, transaction_id
        """
    )
    static let orders = SQL(
        """
        SELECT orders.id, orders.number, orders.title_id, titles.title, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, orders.isbn
        FROM orders JOIN titles ON titles.id = orders.title_id
        WHERE orders.account_id = $1 AND (orders.created_at, orders.id) > ($2, $3)
        ORDER BY orders.created_at, orders.id LIMIT $4
        """
    )
    static let intervals = SQL(
        """
        SELECT start_utc, end_utc, start_position, end_position, received_at, end_position_ms, device_id, device_name, speed
        FROM intervals
        WHERE order_id = $1 AND (start_utc, end_utc, start_position, end_position) > ($2, $3, $4, $5)
        ORDER BY start_utc, end_utc, start_position, end_position LIMIT $6
        """
    )
    static let bookmarks = SQL(
        """
        SELECT bookmarks.id, bookmarks.title_id, titles.title, bookmarks.position_ms, bookmarks.note, bookmarks.created_at
        FROM bookmarks JOIN titles ON titles.id = bookmarks.title_id
        WHERE bookmarks.account_id = $1 AND (bookmarks.title_id, bookmarks.id) > ($2, $3)
        ORDER BY bookmarks.title_id, bookmarks.id LIMIT $4
        """
    )
    static let audit = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE (subject = $1 OR actor = $1) AND action <> 'audit.page' AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4
        """
    )
    static let auditOfThing = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE subject = $1 AND action <> 'edition.credentials' AND actor <> $2 AND (at, id) > ($3, $4) ORDER BY at, id LIMIT $5
        """
    )

    static let deleteIntervals = SQL(
        "DELETE FROM intervals WHERE order_id IN (SELECT id FROM orders WHERE account_id = $1)"
    )
    static let deleteBookmarks = SQL("DELETE FROM bookmarks WHERE account_id = $1")
    static let deleteStoreTransactions = SQL(
        """
        DELETE FROM store_transactions
        WHERE (environment, original_id) IN (SELECT environment, original_id FROM store_purchases WHERE account_id = $1)
        """
    )
    static let deleteStorePurchases = SQL("DELETE FROM store_purchases WHERE account_id = $1")
    static let deleteIdentities = SQL("DELETE FROM identities WHERE account_id = $1")
    static let deleteDevices = SQL("DELETE FROM devices WHERE account_id = $1")
    static let revokeOrders = SQL(
        """
        UPDATE orders SET state = 'revoked', ended_at = COALESCE(ended_at, $2)
        WHERE account_id = $1 AND state IN ('ready', 'active') AND (ends_at IS NULL OR ends_at > $2)
        """
    )
    static let endSubscriptions = SQL(
        """
        UPDATE subscriptions SET ends_at = CASE WHEN starts_at > $2 THEN starts_at ELSE $2 END
        WHERE account_id = $1 AND (ends_at IS NULL OR ends_at > $2)
        """
    )
    static let endPurchases = SQL(
        "UPDATE purchases SET ends_at = $2 WHERE account_id = $1 AND (ends_at IS NULL OR ends_at > $2)"
    )
    static let forgetAccount = SQL(
        """
        UPDATE accounts SET name = $2, password = NULL, device_limit = NULL, role = NULL,
            suspended_at = COALESCE(suspended_at, $3), erased_at = $3
        WHERE id = $1
        """
    )

    package static let statements = [
        account, sessions, subscriptions, purchases, orders, intervals, bookmarks, audit, auditOfThing,
        deleteIntervals,
        storePurchases, storeTransactions, deleteStoreTransactions, deleteStorePurchases, deleteBookmarks, deleteIdentities,
        deleteDevices, revokeOrders, endSubscriptions, endPurchases, forgetAccount,
    ]

    /// How many rows are read at a time of what can be many.
    static let pageSize = 500

    /// A page of rows as they are exported, and where the next one starts; nil at the end.
    typealias Page = (items: [JSON], next: [SQLValue]?)

    static func account(_ id: String, in transaction: any Transaction) throws -> JSON? {
        try transaction.row(account, [.text(id)]).map {
            [
                "id": .string(try $0.text(0)), "name": .string(try $0.text(1)), "createdAt": .init(try $0.instant(2)),
                "suspendedAt": .init(try $0.instantIfPresent(3)),
                "deviceLimit": try $0.integerIfPresent(4).map { .integer($0) } ?? .null,
                "role": .init(try $0.textIfPresent(5)), "hasPassword": .bool(try $0.integer(6) != 0),
            ]
        }
    }

    static func sessions(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(sessions, [.text(account)]).map {
            [
                "purpose": .string(try $0.text(0)), "id": .string(try $0.text(1)), "device": .init(try $0.textIfPresent(2)),
                "createdAt": .init(try $0.instant(3)), "expiresAt": .init(try $0.instant(4)), "seenAt": .init(try $0.instant(5)),
                "renewedAt": .init(try $0.instantIfPresent(6)),
            ]
        }
    }

    static func subscriptions(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(subscriptions, [.text(account)]).map {
            [
                "id": .string(try $0.text(0)), "plan": .string(try $0.text(1)), "start": .init(try $0.instant(2)),
                "end": .init(try $0.instantIfPresent(3)), "createdAt": .init(try $0.instant(4)),
                "revokedAt": .init(try $0.instantIfPresent(5)), "number": .init(try $0.textIfPresent(6)),
                "askedStart": .init(try $0.instantIfPresent(7)), "askedEnd": .init(try $0.instantIfPresent(8)),
            ]
        }
    }

    static func purchases(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(purchases, [.text(account)]).map {
            [
                "id": .string(try $0.text(0)), "product": .string(try $0.text(1)), "kind": .string(try $0.text(2)),
                "end": .init(try $0.instantIfPresent(3)), "createdAt": .init(try $0.instant(4)),
                "number": .init(try $0.textIfPresent(5)), "askedEnd": .init(try $0.instantIfPresent(6)),
            ]
        }
    }

    static func storePurchases(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(storePurchases, [.text(account)]).map {
            [
                "environment": .string(try $0.text(0)), "originalId": .string(try $0.text(1)),
                "createdAt": .init(try $0.instant(2)),
            ]
        }
    }

    static func storeTransactions(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(storeTransactions, [.text(account)]).map {
            [
                "environment": .string(try $0.text(0)), "transactionId": .string(try $0.text(1)),
                "originalId": .string(try $0.text(2)), "bundle": .string(try $0.text(3)), "product": .string(try $0.text(4)),
                "kind": .string(try $0.text(5)), "purchasedAt": .init(try $0.instant(6)),
                "expiresAt": .init(try $0.instantIfPresent(7)), "revokedAt": .init(try $0.instantIfPresent(8)),
                "signedAt": .init(try $0.instant(9)),
            ]
        }
    }

    static func orders(of account: String, after: [SQLValue]?, in transaction: any Transaction) throws -> Page {
        let after = after ?? [.integer(.min), .text("")]
        return try page(orders, [.text(account)] + after, in: transaction) { row in
            let item: JSON = [
                "id": .string(try row.text(0)), "number": .init(try row.textIfPresent(1)),
                "title": ["id": .string(try row.text(2)), "title": .string(try row.text(3))],
                "kind": .string(try row.text(4)), "state": .string(try row.text(5)),
                "start": .init(try row.instantIfPresent(6)), "end": .init(try row.instantIfPresent(7)),
                "createdAt": .init(try row.instant(8)), "activatedAt": .init(try row.instantIfPresent(9)),
                "endedAt": .init(try row.instantIfPresent(10)), "isbn": .init(try row.textIfPresent(11)),
            ]
            return (item, [.integer(try row.integer(8)), .text(try row.text(0))])
        }
    }

    static func intervals(of order: String, after: [SQLValue]?, in transaction: any Transaction) throws -> Page {
        let after = after ?? Array(repeating: .integer(.min), count: 4)
        return try page(intervals, [.text(order)] + after, in: transaction) { row in
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

    static func bookmarks(of account: String, after: [SQLValue]?, in transaction: any Transaction) throws -> Page {
        let after = after ?? [.text(""), .text("")]
        return try page(bookmarks, [.text(account)] + after, in: transaction) { row in
            let item: JSON = [
                "id": .string(try row.text(0)),
                "title": ["id": .string(try row.text(1)), "title": .string(try row.text(2))],
                "seconds": .seconds(milliseconds: try row.integer(3)), "note": .string(try row.text(4)),
                "createdAt": .init(try row.instant(5)),
            ]
            return (item, [.text(try row.text(1)), .text(try row.text(0))])
        }
    }

    /// What the account did, and what was done to it: first what has rows of its own, then what stands in pages.
    static func audit(of account: String, after: [SQLValue]?, in transaction: any Transaction) throws -> Page {
        if let after, after.count == 3, case .integer(let at) = after[1], case .text(let id) = after[2] {
            let mark = (Instant(milliseconds: at), id)
            let (entries, next) = try AuditStore.entries(about: account, inPagesAfter: mark, in: transaction)
            return (entries.map(json), next.map { [.null, .instant($0.0), .text($0.1)] })
        }
        let start: [SQLValue] = [.integer(.min), .text("")]
        let (items, next) = try page(audit, [.text(account)] + (after ?? start), in: transaction, entry)
        if let next { return (items, next) }
        return (items, [.null, .instant(try AuditStore.beginning(of: account, in: transaction)), .text("")])
    }

    /// What others did to something that is the account's: a device, an order.
    static func audit(
        ofThing id: String,
        of account: String,
        after: [SQLValue]?,
        in transaction: any Transaction
    ) throws -> Page {
        let values: [SQLValue] = [.text(id), .text(account)] + (after ?? [.integer(.min), .text("")])
        return try page(auditOfThing, values, in: transaction, entry)
    }

    private static func entry(_ row: Row) throws -> (JSON, [SQLValue]) {
        let entry = try AuditStore.entry(row)
        return (json(of: entry), [.instant(entry.at), .text(entry.id)])
    }

    private static func json(of entry: Audit.Entry) -> JSON {
        [
            "at": .init(entry.at), "actor": .string(entry.actor), "action": .string(entry.action),
            "subject": .string(entry.subject), "outcome": .string(entry.outcome.rawValue),
            "reason": .string(entry.unfolded.reason), "count": .integer(entry.unfolded.count),
            "requestId": .string(entry.requestID),
        ]
    }

    private static func page(
        _ statement: SQL,
        _ values: [SQLValue],
        in transaction: any Transaction,
        _ item: (Row) throws -> (JSON, [SQLValue])
    ) throws -> Page {
        var (items, last): ([JSON], [SQLValue]?) = ([], nil)
        for row in try transaction.rows(statement, values + [.integer(Int64(pageSize))]) {
            let (value, mark) = try item(row)
            items.append(value)
            last = mark
        }
        return (items, items.count == pageSize ? last : nil)
    }
}
