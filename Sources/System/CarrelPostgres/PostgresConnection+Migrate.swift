// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore

extension PostgresConnection {
    /// Applies what the plan says is missing, each migration in one transaction, while no other program does.
    func migrate(_ plan: MigrationPlan, clock: any WallClock) throws(StoreError) {
        // Others may take long, and so may a migration.
        let limit = answerLimit
        answerLimit = nil
        defer { answerLimit = limit }
        // The lock belongs to the session: it goes when this program dies. The number is "Carrel" in ASCII.
        try execute(
            "SET lock_timeout = 0; SET statement_timeout = 0; SELECT pg_advisory_lock(74174416676204); SET lock_timeout = '10s'"
        )
        do throws(StoreError) {
            try execute("DO $$ BEGIN IF to_regtype('blob') IS NULL THEN CREATE DOMAIN blob AS bytea; END IF; END $$")
            try findBlob()
            try run(MigrationPlan.createTable)
            for migration in try plan.pending(applied: rows(MigrationPlan.select)) {
                try execute("BEGIN")
                try plan.apply(migration, in: self, now: clock.now)
                try execute("COMMIT")
            }
        } catch {
            endTransaction()
            throw error
        }
        try execute("SELECT pg_advisory_unlock(74174416676204); SET statement_timeout = '60s'")
    }
}
