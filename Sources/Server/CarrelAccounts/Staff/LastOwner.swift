// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelHome
import CarrelStore

/// Refuses to suspend the last owner.
struct LastOwner: AccountParticipant {
    func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        if case .suspended = change, try StaffStore.role(of: account, in: transaction) == .owner {
            try Self.requireOne(in: transaction)
        }
        return []
    }

    /// Refuses a change that leaves no owner who can sign in.
    ///
    /// - Throws: ``ServerError`` `request.conflict`.
    static func requireOne(in transaction: any Transaction) throws {
        guard try StaffStore.ownerCount(in: transaction) > 0 else {
            throw ServerError(.conflict, "this is the last owner: appoint another one first")
        }
    }
}
