// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// Personal data of app-store purchases: their export and their end.
extension ReceiptStore {
    static let exportedPurchases = SQL(
        """
        SELECT environment, original_id, created_at FROM store_purchases WHERE account_id = $1
        ORDER BY created_at, environment, original_id
        """
    )
    static let exportedTransactions = SQL(
        """
        SELECT environment, transaction_id, original_id, bundle_id, product_id, kind, purchased_at, expires_at, revoked_at, signed_at
        FROM store_transactions
        WHERE (environment, original_id) IN (SELECT environment, original_id FROM store_purchases WHERE account_id = $1)
        ORDER BY purchased_at, transaction_id
        """
    )
    static let deleteTransactions = SQL(
        """
        DELETE FROM store_transactions
        WHERE (environment, original_id) IN (SELECT environment, original_id FROM store_purchases WHERE account_id = $1)
        """
    )
    static let deletePurchases = SQL("DELETE FROM store_purchases WHERE account_id = $1")

    static let statementsOfPersonalData = [exportedPurchases, exportedTransactions, deleteTransactions, deletePurchases]

    static func exportedPurchases(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(exportedPurchases, [.text(account)]).map {
            [
                "environment": .string(try $0.text(0)), "originalId": .string(try $0.text(1)),
                "createdAt": .init(try $0.instant(2)),
            ]
        }
    }

    static func exportedTransactions(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(exportedTransactions, [.text(account)]).map {
            [
                "environment": .string(try $0.text(0)), "transactionId": .string(try $0.text(1)),
                "originalId": .string(try $0.text(2)), "bundle": .string(try $0.text(3)), "product": .string(try $0.text(4)),
                "kind": .string(try $0.text(5)), "purchasedAt": .init(try $0.instant(6)),
                "expiresAt": .init(try $0.instantIfPresent(7)), "revokedAt": .init(try $0.instantIfPresent(8)),
                "signedAt": .init(try $0.instant(9)),
            ]
        }
    }

    /// Deletes the app-store transactions of an account.
    static func deleteAll(of account: String, in transaction: any Transaction) throws {
        for statement in [deleteTransactions, deletePurchases] { _ = try transaction.run(statement, [.text(account)]) }
    }
}
