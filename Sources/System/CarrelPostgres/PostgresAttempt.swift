// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import Glibc

/// Decides whether a transaction that failed is run again.
struct PostgresAttempt {
    /// Whether the commit was sent, so that a lost connection leaves its outcome unknown.
    var isCommitting = false
    private var conflicts = 0
    private var losses = 0
    private let lossLimit = 3

    /// Whether nothing was changed and another run may go better.
    mutating func mayRepeat(after connection: PostgresConnection) -> Bool {
        guard connection.failure != nil else { return false }
        if connection.failureState == "40001" || connection.failureState == "40P01" {
            isCommitting = false
            conflicts += 1
            return true
        }
        guard !connection.isAlive || connection.isStale, !isCommitting, !connection.isAbandoned else { return false }
        losses += 1
        return losses <= lossLimit
    }

    /// The error for the caller when there is no other run.
    func outcome(of error: any Error, _ connection: PostgresConnection) -> any Error {
        guard isCommitting, !connection.isAlive else { return error }
        return StoreError(.unavailable, "the connection was lost while committing: the write may or may not have been kept")
    }

    /// Waits a little, longer with every conflict, so that those in each other's way fall out of step.
    func pause() {
        guard conflicts > 0 else { return }
        usleep(.random(in: 0...1000 << UInt32(min(conflicts, 6))))
    }
}
