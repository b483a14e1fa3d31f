// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension SQLiteConnection {
    /// Applies what the plan says is missing: each migration in one transaction, so that an end at any moment leaves whole steps.
    ///
    /// The version is read again inside every transaction, because another process may be doing the same.
    func migrate(_ plan: MigrationPlan, clock: any WallClock) throws(StoreError) {
        var isDone = false
        while !isDone {
            try execute("BEGIN IMMEDIATE")
            do throws(StoreError) {
                try run(MigrationPlan.createTable)
                let pending = try plan.pending(applied: rows(MigrationPlan.select))
                if pending.first?.version == 1 { try execute(Self.markOverwritten) }
                if let next = pending.first { try plan.apply(next, in: self, now: clock.now) }
                try execute("COMMIT")
                isDone = pending.count <= 1
            } catch {
                forgetFailure()
                if isInTransaction { _ = try? execute("ROLLBACK") }
                throw error
            }
        }
    }
}
