// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelStore

/// Ends the holdings of an erased person.
struct HoldingsErasure: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        if case .erased = change { try SubscriptionStore.endAll(of: account, at: now, in: transaction) }
        return []
    }
}
