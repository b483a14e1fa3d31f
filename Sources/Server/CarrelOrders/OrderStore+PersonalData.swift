// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
package import CarrelStore
package import CarrelWebAPI

/// Personal data of orders: their export and their end.
extension OrderStore {
    static let exported = SQL(
        """
        SELECT orders.id, orders.number, orders.title_id, titles.title, orders.kind, orders.state, orders.starts_at,
            orders.ends_at, orders.created_at, orders.activated_at, orders.ended_at, orders.isbn
        FROM orders JOIN titles ON titles.id = orders.title_id
        WHERE orders.account_id = $1 AND (orders.created_at, orders.id) > ($2, $3)
        ORDER BY orders.created_at, orders.id LIMIT $4
        """
    )
    static let revokeLive = SQL(
        """
        UPDATE orders SET state = 'revoked', ended_at = COALESCE(ended_at, $2)
        WHERE account_id = $1 AND state IN ('ready', 'active') AND (ends_at IS NULL OR ends_at > $2)
        """
    )

    static let statementsOfPersonalData = [exported, revokeLive]

    package static func exported(of account: String, after: [SQLValue]?, in transaction: any Transaction) throws
        -> PersonalData.Page
    {
        let after = after ?? [.integer(.min), .text("")]
        return try PersonalData.Page(exported, [.text(account)] + after, in: transaction) { row in
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

    /// Revokes the orders of an account that can be listened to, now or later.
    static func revokeLive(ofAccount account: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(revokeLive, [.text(account), .instant(now)])
    }
}
