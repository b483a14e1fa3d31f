// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelStore

/// Deletes the app-store purchases of an erased person.
struct StorePurchasesErasure: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        if case .erased = change { try ReceiptStore.deleteAll(of: account, in: transaction) }
        return []
    }
}
