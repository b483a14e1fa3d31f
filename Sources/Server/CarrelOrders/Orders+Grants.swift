// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
package import CarrelCrypto
import CarrelHome
package import CarrelStore

/// Orders of audiobooks that a higher layer places in its own transaction.
extension Orders {
    /// An order with its content key.
    package struct Grant: Sendable {
        package let order: Order
        /// Whether the order's account is suspended.
        package let isSuspended: Bool
        package let key: Secret

        /// Whether the title can be played.
        package func isLive(at now: Instant) -> Bool { !isSuspended && order.availability(at: now) == .live }
    }

    /// Places an order of an audiobook and issues its key, in a transaction. The same number finds the same order.
    ///
    /// - Parameters:
    ///   - title: the audiobook's id; the caller has verified that it exists.
    ///   - account: the account that receives it.
    ///   - number: the order's number.
    ///   - end: the end of a loan; nil for a sale.
    ///   - playSeconds: the time for which a rental is played, from its first use; nil for no such limit.
    ///   - isUsed: whether this is a use.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Returns: the order with its key; nil if the number belongs to the order of another account or title.
    /// - Throws: the database's error, the master key's.
    package func placed(
        title: String,
        for account: Account,
        number: String,
        until end: Instant?,
        playSeconds: Int? = nil,
        isUsed: Bool = true,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Grant? {
        var known = try OrderStore.order(number: number, in: transaction)?.order
        if known == nil {
            let order = Order(
                id: Random.uuid(),
                number: number,
                accountID: account.id,
                titleID: title,
                kind: end == nil ? .sale : .loan,
                state: .ready,
                startsAt: nil,
                endsAt: end,
                createdAt: now
            )
            let wrapped = try master.current.wrap(Secret.random(count: 16))
            if try OrderStore.insert(order, isbn: nil, playSeconds: playSeconds, key: wrapped, in: transaction) {
                try AuditStore.append(actor.entry("order.create", on: account.id, at: now, reason: title), in: transaction)
                known = order
            } else {
                // another node placed it meanwhile
                known = try OrderStore.order(number: number, in: transaction)?.order
            }
        }
        guard let known, known.accountID == account.id, known.titleID == title else { return nil }
        if isUsed { try OrderStore.activate(known.id, at: now, in: transaction) }
        return try grant(known.id, in: transaction)
    }

    /// Records the first use of an order, in a transaction: the time of play of a rental runs from then.
    ///
    /// - Parameters:
    ///   - id: the order.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Throws: the database's error.
    package func activate(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        try OrderStore.activate(id, at: now, in: transaction)
    }

    /// An order with its content key, in a transaction; nil without such an order.
    ///
    /// - Parameters:
    ///   - id: the order.
    ///   - transaction: the transaction.
    /// - Returns: the order.
    /// - Throws: the database's error, the master key's.
    package func grant(_ id: String, in transaction: any Transaction) throws -> Grant? {
        guard let found = try OrderStore.grant(id: id, in: transaction) else { return nil }
        return Grant(order: found.order, isSuspended: found.isSuspended, key: try master.unwrap(found.key))
    }
}
