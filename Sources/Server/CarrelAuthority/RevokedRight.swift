// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore

/// A kind of thing that is revoked.
package enum RevokedRight: String, Sendable {
    case player, license
    /// A content key, by its id.
    case key = "kid"
    /// The key of a revoked player, by its thumbprint: no list names it.
    case playerKey = "key"

    /// Adds a thing to what is revoked.
    ///
    /// - Parameters:
    ///   - id: the id of the thing.
    ///   - end: the end of the license, after which no list names it; nil if it has none.
    ///   - byStaff: whether staff made the entry: no other entry displaces it from a full list.
    ///   - account: the account whose suspension the entry lasts for; nil for good.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Throws: the database's error.
    package func revoke(
        _ id: String,
        until end: Instant?,
        byStaff: Bool = false,
        whileSuspended account: String? = nil,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let isNew = try PlayerStore.revokeRight(
            rawValue,
            id,
            until: end,
            byStaff: byStaff,
            whileSuspended: account,
            at: now,
            in: transaction
        )
        if isNew, self != .playerKey { try PlayerStore.bumpRevocations(in: transaction) }
    }

    /// Whether a thing is revoked for good.
    package func isRevoked(_ id: String, in transaction: any Transaction) throws -> Bool {
        try PlayerStore.isRevoked(right: rawValue, id, in: transaction)
    }

    /// Removes the entries that lasted for the suspension of an account.
    package static func resume(of account: String, in transaction: any Transaction) throws {
        try PlayerStore.resumeRights(of: account, in: transaction)
    }
}
