// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore

/// Accounts and keys as other capabilities find them, in their own transactions.
extension Accounts {
    /// The account of an id; nil if unknown or erased.
    package static func find(id: String, in transaction: any Transaction) throws -> Account? {
        try AccountStore.account(id: id, in: transaction)
    }

    /// The account of a name; nil if unknown or erased.
    package static func find(named name: String, in transaction: any Transaction) throws -> Account? {
        try AccountStore.account(named: name, in: transaction)
    }

    /// The account of a new account's name, which is stored unless the name is known.
    ///
    /// - Parameters:
    ///   - fresh: an account with a new id.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Returns: the stored account; not `fresh` if the name was known.
    /// - Throws: the database's error.
    package static func findOrCreate(_ fresh: Account, at now: Instant, in transaction: any Transaction) throws -> Account {
        try AccountStore.findOrInsert(fresh, at: now, in: transaction)
    }

    /// Whether a back-office key is known, and not revoked.
    package static func isServiceKeyValid(_ id: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(AccountStore.validServiceKey, [.text(id)]) != nil
    }

    /// Refuses the id of a back-office key that is not known, or is revoked.
    ///
    /// - Throws: ``ServerError`` `request.not-found`.
    package static func requireServiceKey(_ id: String, in transaction: any Transaction) throws {
        guard try isServiceKeyValid(id, in: transaction) else {
            throw ServerError(.notFound, "there is no back-office key \(id)")
        }
    }
}
