// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelEntitlements
import CarrelHome
import CarrelReceipts
package import CarrelStore
import CarrelSubscription

/// The SQL of purchases in app stores: their accounts, the store's last state, and the resulting subscriptions and purchases.
package enum ReceiptStore {
    static let claim = SQL(
        """
        INSERT INTO store_purchases (environment, original_id, account_id, created_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (environment, original_id) DO NOTHING
        """
    )
    static let owner = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at FROM store_purchases
            JOIN accounts ON accounts.id = store_purchases.account_id
        WHERE store_purchases.environment = $1 AND store_purchases.original_id = $2
        """
    )
    static let release = SQL(
        "DELETE FROM store_purchases WHERE environment = $1 AND original_id = $2 AND account_id = $3"
    )
    /// Keeps the transaction signed last; earlier transactions change nothing.
    static let keep = SQL(
        """
        INSERT INTO store_transactions (environment, transaction_id, original_id, bundle_id, product_id, kind, purchased_at,
            expires_at, revoked_at, upgraded, signed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (environment, transaction_id) DO UPDATE SET product_id = excluded.product_id, kind = excluded.kind,
            purchased_at = excluded.purchased_at, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at,
            upgraded = excluded.upgraded, signed_at = excluded.signed_at
        WHERE excluded.signed_at > store_transactions.signed_at
            AND excluded.original_id = store_transactions.original_id
        """
    )
    static let transaction = SQL(
        """
        SELECT environment, transaction_id, original_id, bundle_id, product_id, kind, purchased_at, expires_at, revoked_at, upgraded,
            signed_at
        FROM store_transactions WHERE environment = $1 AND transaction_id = $2
        """
    )
    static let transactionsOfOriginal = SQL(
        """
        SELECT environment, transaction_id, original_id, bundle_id, product_id, kind, purchased_at, expires_at, revoked_at, upgraded,
            signed_at
        FROM store_transactions WHERE environment = $1 AND original_id = $2
        ORDER BY purchased_at, transaction_id
        """
    )
    static let transactionsOfAccount = SQL(
        """
        SELECT store_transactions.environment, store_transactions.transaction_id, store_transactions.original_id,
            store_transactions.bundle_id, store_transactions.product_id, store_transactions.kind,
            store_transactions.purchased_at, store_transactions.expires_at, store_transactions.revoked_at,
            store_transactions.upgraded, store_transactions.signed_at
        FROM store_purchases
            JOIN store_transactions ON store_transactions.environment = store_purchases.environment
                AND store_transactions.original_id = store_purchases.original_id
        WHERE store_purchases.account_id = $1
        ORDER BY store_transactions.purchased_at, store_transactions.transaction_id
        """
    )
    package static let statements =
        [
            claim, owner, release, keep, transaction, transactionsOfOriginal, transactionsOfAccount,
        ] + statementsOfPersonalData

    // MARK: Whose they are

    /// Assigns a purchase to an account, unless it already belongs to one.
    ///
    /// - Returns: whether it belongs to the account, and whether this call assigned it.
    static func claim(
        _ purchase: StoreTransaction,
        for account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> (isOwn: Bool, isNew: Bool) {
        let key: [SQLValue] = [.text(purchase.environment.rawValue), .text(purchase.originalID)]
        if try transaction.run(claim, key + [.text(account), .instant(now)]) == 1 { return (true, true) }
        return (try owner(of: purchase, in: transaction)?.id == account, false)
    }

    /// The account that has a purchase; nil if none has.
    static func owner(of purchase: StoreTransaction, in transaction: any Transaction) throws -> Account? {
        try transaction.row(owner, [.text(purchase.environment.rawValue), .text(purchase.originalID)]).map {
            Account(id: try $0.text(0), name: try $0.text(1), isSuspended: try $0.integerIfPresent(2) != nil)
        }
    }

    /// Whether the account had it.
    static func release(
        _ environment: StoreEnvironment,
        _ originalID: String,
        of account: String,
        in transaction: any Transaction
    ) throws -> Bool {
        try transaction.run(release, [.text(environment.rawValue), .text(originalID), .text(account)]) == 1
    }

    // MARK: What the store said

    /// The change that a transaction brings.
    enum News {
        /// No change: an old transaction, or a repeat.
        case none
        /// A transaction that we had not heard of.
        case first
        /// Other dates or another state than we knew of.
        case changed
    }

    /// Keeps what the store said, unless it said something later.
    static func keep(_ said: StoreTransaction, in transaction: any Transaction) throws -> News {
        let before = try known(said, in: transaction)
        let values: [SQLValue] = [
            .text(said.environment.rawValue), .text(said.transactionID), .text(said.originalID), .text(said.bundleID),
            .text(said.productID), .text(said.kind.rawValue), .instant(said.purchasedAt), .instant(said.expiresAt),
            .instant(said.revokedAt), .integer(said.isUpgraded ? 1 : 0), .instant(said.signedAt),
        ]
        guard try transaction.run(keep, values) == 1 else { return .none }
        guard let before else { return .first }
        return before.saysTheSame(as: said) ? .none : .changed
    }

    /// The stored state of the same transaction.
    static func known(_ said: StoreTransaction, in transaction: any Transaction) throws -> StoreTransaction? {
        try transaction.row(Self.transaction, [.text(said.environment.rawValue), .text(said.transactionID)]).map(read)
    }

    static func transactions(
        _ environment: StoreEnvironment,
        original: String,
        in transaction: any Transaction
    ) throws -> [StoreTransaction] {
        try transaction.rows(transactionsOfOriginal, [.text(environment.rawValue), .text(original)]).map(read)
    }

    static func transactions(of account: String, in transaction: any Transaction) throws -> [StoreTransaction] {
        try transaction.rows(transactionsOfAccount, [.text(account)]).map(read)
    }

    private static func read(_ row: Row) throws -> StoreTransaction {
        guard let environment = StoreEnvironment(rawValue: try row.text(0)) else {
            throw ServerError(.home, "a purchase is of an environment that this version does not know")
        }
        return StoreTransaction(
            environment: environment,
            bundleID: try row.text(3),
            productID: try row.text(4),
            kind: StoreTransaction.Kind(rawValue: try row.text(5)) ?? .other,
            transactionID: try row.text(1),
            originalID: try row.text(2),
            purchasedAt: try row.instant(6),
            expiresAt: try row.instantIfPresent(7),
            revokedAt: try row.instantIfPresent(8),
            isUpgraded: try row.integer(9) != 0,
            signedAt: try row.instant(10)
        )
    }

    // MARK: What follows

    /// The id of a transaction's subscription or purchase.
    static func id(of said: StoreTransaction) -> String { "app-store/\(said.environment.rawValue)/\(said.transactionID)" }

    /// Grants the account the transaction's plan or product.
    static func put(
        _ grant: StoreProducts.Grant,
        of said: StoreTransaction,
        to account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let id = id(of: said)
        switch grant.thing {
        case .plan(let plan):
            try SubscriptionStore.put(
                id,
                plan: plan,
                from: grant.startsAt,
                to: grant.endsAt,
                of: account,
                at: now,
                in: transaction
            )
        case .product(let product):
            try SubscriptionStore.put(id, product: product, to: grant.endsAt, of: account, at: now, in: transaction)
        }
    }

    /// Removes the grant of a transaction.
    static func drop(_ said: StoreTransaction, in transaction: any Transaction) throws {
        try SubscriptionStore.drop(id(of: said), in: transaction)
    }
}

extension StoreTransaction {
    /// Whether two words of the store differ in nothing but when they were signed.
    fileprivate func saysTheSame(as other: StoreTransaction) -> Bool {
        productID == other.productID && kind == other.kind && purchasedAt == other.purchasedAt && expiresAt == other.expiresAt
            && revokedAt == other.revokedAt && isUpgraded == other.isUpgraded
    }
}
