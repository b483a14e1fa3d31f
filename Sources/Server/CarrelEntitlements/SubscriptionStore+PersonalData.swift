// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// Personal data of subscriptions and purchases: their export and their end.
extension SubscriptionStore {
    static let exportedSubscriptions = SQL(
        """
        SELECT id, plan, starts_at, ends_at, created_at, revoked_at, number, asked_start, asked_end FROM subscriptions WHERE account_id = $1
        ORDER BY created_at, id
        """
    )
    static let exportedPurchases = SQL(
        """
        SELECT id, product_id, kind, ends_at, created_at, number, asked_end FROM purchases WHERE account_id = $1
        ORDER BY created_at, id
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

    static let statementsOfPersonalData = [exportedSubscriptions, exportedPurchases, endSubscriptions, endPurchases]

    static func exportedSubscriptions(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(exportedSubscriptions, [.text(account)]).map {
            [
                "id": .string(try $0.text(0)), "plan": .string(try $0.text(1)), "start": .init(try $0.instant(2)),
                "end": .init(try $0.instantIfPresent(3)), "createdAt": .init(try $0.instant(4)),
                "revokedAt": .init(try $0.instantIfPresent(5)), "number": .init(try $0.textIfPresent(6)),
                "askedStart": .init(try $0.instantIfPresent(7)), "askedEnd": .init(try $0.instantIfPresent(8)),
            ]
        }
    }

    static func exportedPurchases(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(exportedPurchases, [.text(account)]).map {
            [
                "id": .string(try $0.text(0)), "product": .string(try $0.text(1)), "kind": .string(try $0.text(2)),
                "end": .init(try $0.instantIfPresent(3)), "createdAt": .init(try $0.instant(4)),
                "number": .init(try $0.textIfPresent(5)), "askedEnd": .init(try $0.instantIfPresent(6)),
            ]
        }
    }

    /// Ends all that an account holds.
    static func endAll(of account: String, at now: Instant, in transaction: any Transaction) throws {
        for statement in [endSubscriptions, endPurchases] { _ = try transaction.run(statement, [.text(account), .instant(now)]) }
    }
}
